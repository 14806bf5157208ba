package schema_test

import (
	"strings"
	"testing"

	"github.com/postern-mcp/postern/gateway/schema"
)

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{`:                       "expected JSON",
		`1`:                       "root: a schema is an object or a boolean",
		`{"type":1,"type":2}`:     `"type" twice`,
		`{"properties":{"a":[]}}`: "/properties/a: a schema is an object or a boolean",
		`{"properties":[]}`:       "/properties: not an object",
		`{"properties":{"a":{"unevaluatedProperties":false}}}`: `/properties/a/unevaluatedProperties: unknown keyword "unevaluatedProperties"`,
		`{"nullable":true}`:                `unknown keyword "nullable"`,
		`{"items":[{}]}`:                   "/items: a schema is",
		`{"items":{"$id":"x"}}`:            "/items/$id: $id belongs to the root",
		`{"type":"text"}`:                  "/type: not the name of a type",
		`{"type":[]}`:                      "/type: names no type",
		`{"type":["string",1]}`:            "/type/1: not the name of a type",
		`{"enum":1}`:                       "/enum: not an array",
		`{"minimum":"1"}`:                  "/minimum: not a number",
		`{"multipleOf":0}`:                 "/multipleOf: not greater than 0",
		`{"multipleOf":"1"}`:               "/multipleOf: not a number",
		`{"multipleOf":1e-99999999999}`:    "/multipleOf: too long",
		`{"minLength":-1}`:                 "/minLength: not a non-negative integer",
		`{"minLength":1.5}`:                "/minLength: not a non-negative integer",
		`{"uniqueItems":1}`:                "/uniqueItems: not a boolean",
		`{"pattern":1}`:                    "/pattern: not a string",
		`{"pattern":"(?=a)"}`:              "/pattern: error parsing regexp",
		`{"patternProperties":{"(":{}}}`:   "/patternProperties/(: error parsing regexp",
		`{"required":"a"}`:                 "/required: not an array",
		`{"required":["a",1]}`:             "/required/1: not a string",
		`{"anyOf":[]}`:                     "/anyOf: not a non-empty array",
		`{"$ref":1}`:                       "/$ref: not a string",
		`{"$ref":"https://example.com/s"}`: "neither # nor below #/$defs/",
		`{"$ref":"#/properties/a"}`:        "neither # nor below #/$defs/",
		`{"$ref":"#/$defs/a"}`:             "leads nowhere",
		`{"$ref":"#/$defs/a/enum/0","$defs":{"a":{"enum":[{}]}}}`: "does not lead to a schema",
		`{"$ref":"#"}`: "/$ref: the $ref leads back to itself",
		`{"$defs":{"a":{"anyOf":[true,{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`:           "leads back to itself",
		strings.Repeat(`{"not":`, 1001) + "true" + strings.Repeat("}", 1001):                               "at most 1000 levels",
		`{"default":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `,"description":""}`: "at most 1000 levels",
	} {
		if _, err := schema.Compile([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("compile %.100s: error %v, want %q in it", text, err, want)
		}
	}
}

func TestCompileAccepts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.com/s","title":"","description":"","default":1,"examples":[],"format":"uuid","deprecated":true,"readOnly":true,"writeOnly":true,"$comment":"","contentEncoding":"base64","contentMediaType":"text/plain"}`,
		`{"properties":{"nullable":{"$defs":{"unused":true}},"$id":true}}`,
		`{"items":{"$ref":"#"},"propertyNames":{"$ref":"#"},"properties":{"a":{"$ref":"#"}}}`,
		`{"patternProperties":{}}`,
	} {
		compile(t, text)
	}
}

// The schema's text belongs to the caller again once it is compiled.
func TestCompileKeepsNothing(t *testing.T) {
	t.Parallel()
	text := []byte(`{"minimum":15,"enum":[10,20],"properties":{"a":{}}}`)
	s, err := schema.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		text[i] = '9'
	}
	if v := s.Validate([]byte("20")); v != nil {
		t.Error(v)
	}
	if v := s.Validate([]byte("10")); v == nil || v.Expected != "at least 15" {
		t.Error(v)
	}
}
