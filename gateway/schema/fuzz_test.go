package schema_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/postern-mcp/postern/gateway/schema"
)

// longExponent finds the numbers that the oracle would expand.
var longExponent = regexp.MustCompile(`[eE][+-]?0*[0-9]{4}`)

func FuzzValidate(f *testing.F) {
	for schemaText, instance := range map[string]string{
		`{"type":"object","properties":{"a":{"type":["integer","null"],"minimum":1}},"required":["a"],"additionalProperties":false}`: `{"a":1.0}`,
		`{"enum":[1,"a",{"b":[null]}]}`:                           `{"b":[null]}`,
		`{"items":{"$ref":"#/$defs/a"},"$defs":{"a":{"not":{}}}}`: `[]`,
		`{"multipleOf":0.01,"maximum":1e3}`:                       `19.99`,
		`{"anyOf":[{"pattern":"^a"},{"uniqueItems":true}]}`:       `[1,1.0]`,
	} {
		f.Add([]byte(schemaText), []byte(instance))
	}
	f.Fuzz(func(t *testing.T, schemaText, instance []byte) {
		s, err := schema.Compile(schemaText)
		if err != nil {
			return
		}
		v := s.Validate(instance)
		if v != nil && (v.Expected == "" || v.Got == "") {
			t.Errorf("violation %+v says too little", v)
		}
		if again := s.Validate(instance); (v == nil) != (again == nil) || v != nil && *v != *again {
			t.Errorf("violation %+v, then %+v", v, again)
		}
		if !json.Valid(instance) {
			if v == nil {
				t.Error("malformed JSON passed")
			}
			return
		}
		if schema.Check(instance, 100) != nil || longExponent.Match(instance) || longExponent.Match(schemaText) {
			return
		}
		// A schema that the oracle refuses says nothing about ours: it checks
		// annotations and identifiers too.
		if want, err := oracle(string(schemaText)); err == nil && accepts(t, want, string(instance)) != (v == nil) {
			t.Errorf("violation %+v, the oracle disagrees", v)
		}
	})
}
