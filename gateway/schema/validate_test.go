package schema_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postern-mcp/postern/gateway/schema"
)

func compile(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// v is the violation a case expects, ok none.
func v(pointer, expected, got string) *schema.Violation {
	return &schema.Violation{Pointer: pointer, Expected: expected, Got: got}
}

var ok *schema.Violation

func TestValidate(t *testing.T) {
	t.Parallel()
	union := `{"oneOf":[
		{"type":"object","properties":{"kind":{"const":"cron"},"at":{"type":"string"}},"required":["kind","at"],"additionalProperties":false},
		{"type":"object","properties":{"kind":{"const":"queue"},"size":{"type":"integer"}},"required":["kind","size"],"additionalProperties":false}]}`
	tree := `{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/node"}},"n":{"type":"integer"}},"additionalProperties":false}}}`
	for _, c := range []struct {
		schema, instance string
		want             *schema.Violation
	}{
		{`true`, `null`, ok},
		{`{}`, ` [1] `, ok},
		{`false`, `1`, v("", "no value", "integer 1")},

		{`{"type":"string"}`, `"a"`, ok},
		{`{"type":"string"}`, `null`, v("", "string", "null")},
		{`{"type":"string"}`, `17`, v("", "string", "integer 17")},
		{`{"type":["string","null"]}`, `1.5`, v("", "string or null", "number 1.5")},
		{`{"type":["string","null"]}`, `null`, ok},
		{`{"type":"boolean"}`, `"true"`, v("", "boolean", `string "true"`)},
		{`{"type":"object"}`, `[]`, v("", "object", "array")},
		{`{"type":"array"}`, `{}`, v("", "array", "object")},
		{`{"type":"null"}`, `false`, v("", "null", "boolean false")},
		{`{"type":"integer"}`, `"` + strings.Repeat("é", 300) + `"`, v("", "integer", "string of 300 characters")},
		{`{"type":"integer"}`, `"a\u0000\n\u202e"`, v("", "integer", `string "a\x00\n\u202e"`)},
		{`{"type":"integer"}`, `1.0`, ok},
		{`{"type":"integer"}`, `1e2`, ok},
		{`{"type":"integer"}`, `-0.0`, ok},
		{`{"type":"integer"}`, `10.50e1`, ok},
		{`{"type":"integer"}`, `1e1000000`, ok},
		{`{"type":"integer"}`, `0e-99999999999999999999`, ok},
		{`{"type":"integer"}`, `1.05e1`, v("", "integer", "number 1.05e1")},
		{`{"type":"integer"}`, `1e-1`, v("", "integer", "number 1e-1")},
		{`{"type":"integer"}`, `-1E-99999999999999999999`, v("", "integer", "number -1E-99999999999999999999")},
		{`{"type":"number"}`, `1`, ok},

		{`{"enum":["act","ask"]}`, `"ask"`, ok},
		{`{"enum":["act","ask"]}`, `"\u0061sk"`, ok},
		{`{"enum":["act","ask"]}`, `"bogus"`, v("", `one of "act", "ask"`, `"bogus"`)},
		{`{"type":"string","enum":["act","ask"]}`, `3`, v("", `one of "act", "ask"`, "integer 3")},
		{`{"type":["string","null"],"enum":["act",null]}`, `"x"`, v("", `one of "act", null`, `"x"`)},
		{`{"enum":[1]}`, `1.0`, ok},
		{`{"enum":[9007199254740993]}`, `9007199254740992`, v("", "9007199254740993", "integer 9007199254740992")},
		{`{"enum":[[1,{"a":1,"b":2}]]}`, `[1.0, {"b":2e0,"a":1}]`, ok},
		{`{"enum":[[]]}`, `{}`, v("", "[]", "object")},
		{`{"enum":[false]}`, `0`, v("", "false", "integer 0")},
		{`{"enum":[]}`, `0`, v("", "no value", "integer 0")},
		{`{"enum":[1,2],"const":2}`, `1`, v("", "2", "integer 1")},
		{`{"const":"` + strings.Repeat("é", 200) + `"}`, `1`, v("", `"`+strings.Repeat("é", 127)+"…", "integer 1")},
		{`{"const":[ 1,
			"a b" ]}`, `1`, v("", `[1,"a b"]`, "integer 1")},
		{`{"const":{"a":["1"]}}`, `{"a":[1]}`, v("", `{"a":["1"]}`, "object")},
		{`{"const":1e999999999999999999}`, `10e999999999999999998`, ok},
		{`{"const":1e1000000000000000000}`, `10e999999999999999999`, ok},
		{`{"const":1e-999999999999999999}`, `0.1e-999999999999999998`, ok},
		{`{"const":1e999999999999999997}`, `0.000001e1000000000000000003`, ok},
		{`{"const":1e-999999999999999997}`, `1000000e-1000000000000000003`, ok},
		{`{"const":-1e-1000000000000000000}`, `-1000e-1000000000000000003`, ok},
		{`{"const":0.1e1000000000000000000000}`, `1e999999999999999999999`, ok},
		{`{"const":1e1000000000000000000000}`, `1e1000000000000000000001`, v("", "1e1000000000000000000000", "integer 1e1000000000000000000001")},

		{`{"minimum":1}`, `1.0`, ok},
		{`{"minimum":1}`, `"0"`, ok},
		{`{"minimum":1}`, `0.9999999999999999999999`, v("", "at least 1", "number 0.9999999999999999999999")},
		{`{"minimum":1}`, `-1e99999999999999999999`, v("", "at least 1", "integer -1e99999999999999999999")},
		{`{"maximum":100}`, `1e2`, ok},
		{`{"maximum":100}`, `100.01`, v("", "at most 100", "number 100.01")},
		{`{"maximum":100}`, `1e1000000`, v("", "at most 100", "integer 1e1000000")},
		{`{"maximum":9007199254740992}`, `9007199254740993`, v("", "at most 9007199254740992", "integer 9007199254740993")},
		{`{"maximum":1e99999999999999999999}`, `1e99999999999999999998`, ok},
		{`{"maximum":1e-99999999999999999999}`, `1e-99999999999999999998`, v("", "at most 1e-99999999999999999999", "number 1e-99999999999999999998")},
		{`{"exclusiveMinimum":0}`, `1e-99999999999999999999`, ok},
		{`{"exclusiveMinimum":0}`, `-0`, v("", "more than 0", "integer -0")},
		{`{"exclusiveMaximum":-1.5}`, `-1.50`, v("", "less than -1.5", "number -1.50")},
		{`{"exclusiveMaximum":-1.5}`, `-1.51`, ok},
		{`{"multipleOf":0.01}`, `19.99`, ok},
		{`{"multipleOf":0.01}`, `0.0075`, v("", "a multiple of 0.01", "number 0.0075")},
		{`{"multipleOf":3}`, `3e1000000`, ok},
		{`{"multipleOf":3}`, `1e1000000`, v("", "a multiple of 3", "integer 1e1000000")},
		{`{"multipleOf":8}`, `1e99999999999999999999`, ok},
		{`{"multipleOf":8}`, `100`, v("", "a multiple of 8", "integer 100")},
		{`{"multipleOf":2}`, `9007199254740993`, v("", "a multiple of 2", "integer 9007199254740993")},
		{`{"multipleOf":1e-9}`, `0`, ok},

		{`{"minLength":2}`, `"😀"`, v("", "at least 2 characters", "string of 1 character")},
		{`{"minLength":1}`, `"\ud83d\ude00"`, ok},
		{`{"minLength":1}`, `[]`, ok},
		{`{"maxLength":1}`, `"\ud83d\ude00"`, ok},
		{`{"maxLength":1}`, `"e\u0301"`, v("", "at most 1 character", "string of 2 characters")},
		{`{"maxLength":2.0}`, `"abc"`, v("", "at most 2 characters", "string of 3 characters")},
		{`{"maxLength":1e30}`, `"abc"`, ok},
		{`{"pattern":"^a+$"}`, `"a\u0061"`, ok},
		{`{"pattern":"b"}`, `"abc"`, ok},
		{`{"pattern":"^…$"}`, `"x/y"`, v("", "a string that matches ^…$", `"x/y"`)},

		{`{"items":{"type":"integer"}}`, `[1,2,"3"]`, v("/2", "integer", `string "3"`)},
		{`{"prefixItems":[{"type":"string"}],"items":{"type":"integer"}}`, `["a",1]`, ok},
		{`{"prefixItems":[{"type":"string"}],"items":false}`, `["a",1]`, v("/1", "no value", "integer 1")},
		{`{"prefixItems":[true,{"type":"string"}]}`, `[1]`, ok},
		{`{"minItems":1}`, `[]`, v("", "at least 1 element", "array of 0 elements")},
		{`{"maxItems":1}`, `[[],[1,2]]`, v("", "at most 1 element", "array of 2 elements")},
		{`{"uniqueItems":true}`, `[1,"1",[1],{"a":1},true,null]`, ok},
		{`{"uniqueItems":true}`, `[{"a":1,"b":[]},2,{"b":[],"a":1.0}]`, v("/2", "an element unlike those before it", "object")},
		{`{"uniqueItems":true}`, `["a","\u0061"]`, v("/1", "an element unlike those before it", `"a"`)},
		{`{"uniqueItems":false}`, `[1,1]`, ok},

		{`{"properties":{"limit":{"type":"integer"}}}`, `{"limit":"ten","x":1}`, v("/limit", "integer", `string "ten"`)},
		{`{"properties":{"a/b":{"properties":{"m~n":{"type":"null"}}}}}`, `{"\u0061\/b":{"m~n":0}}`, v("/a~1b/m~0n", "null", "integer 0")},
		{`{"required":["a"]}`, `{"b":null}`, v("/a", "a value (required)", "nothing")},
		{`{"required":["a"]}`, `{"\u0061":null}`, ok},
		{`{"required":["a"]}`, `[]`, ok},
		{`{"items":{"required":["a/b"]}}`, `[{}]`, v("/0/a~1b", "a value (required)", "nothing")},
		{`{"properties":{"project":{},"name":{}},"additionalProperties":false}`, `{"nmae":1}`, v("/nmae", "one of the arguments project, name", `"nmae"`)},
		{`{"additionalProperties":false}`, `{"x":1}`, v("/x", "no arguments", `"x"`)},
		{`{"items":{"properties":{"a":{}},"additionalProperties":false}}`, `[{"b":1}]`, v("/0/b", "one of the members a", `"b"`)},
		{`{"properties":{"a":{}},"patternProperties":{"^x-":{}},"additionalProperties":false}`, `{"x-1":1,"y":1}`, v("/y", "one of the arguments a or one that matches ^x-", `"y"`)},
		{`{"patternProperties":{"^x-":{}},"additionalProperties":false}`, `{"y":1}`, v("/y", "arguments, each one that matches ^x-", `"y"`)},
		{`{"additionalProperties":{"type":"string"},"properties":{"a":{}}}`, `{"a":1,"b":2}`, v("/b", "string", "integer 2")},
		{`{"patternProperties":{"^a":{"type":"integer"},"b$":{"maximum":3}}}`, `{"ab":4}`, v("/ab", "at most 3", "integer 4")},
		{`{"propertyNames":{"maxLength":2}}`, `{"ab":1,"abc":1}`, v("/abc", "at most 2 characters", "string of 3 characters")},
		{`{"propertyNames":false}`, `{}`, ok},
		{`{"minProperties":1}`, `{}`, v("", "at least 1 member", "object of 0 members")},
		{`{"maxProperties":1}`, `{"a":1,"b":{"c":1}}`, v("", "at most 1 member", "object of 2 members")},
		{`{"properties":{"a":{},"b":{},"c":{},"d":{},"e":{},"f":{},"g":{},"h":{},"i":{},"j":{"type":"null"}},"required":["z","j"],"additionalProperties":false}`, `{"j":null}`, v("/z", "a value (required)", "nothing")},

		{`{"properties":{"a":{},"b":{},"c":{},"d":{},"e":{},"f":{},"g":{},"h":{},"i":{}},"additionalProperties":false}`, `{"i":1,"j":1}`, v("/j", "one of the arguments a, b, c, d, e, f, g, h, i", `"j"`)},

		// Unknown members, then missing ones, then values in instance order.
		{`{"properties":{"a":{"type":"null"},"b":{"type":"null"}},"required":["b"],"additionalProperties":false}`, `{"a":1,"c":1}`, v("/c", "one of the arguments a, b", `"c"`)},
		{`{"properties":{"a":{"type":"null"},"b":{"type":"null"}},"required":["b"],"additionalProperties":false}`, `{"a":1}`, v("/b", "a value (required)", "nothing")},
		{`{"properties":{"a":{"type":"null"},"b":{"type":"null"}}}`, `{"b":1,"a":1}`, v("/b", "null", "integer 1")},

		{`{"allOf":[{"type":"integer"},{"minimum":3}]}`, `2`, v("", "at least 3", "integer 2")},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `null`, ok},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `1`, v("", "string or null", "integer 1")},
		{`{"anyOf":[{"type":"string","maxLength":2},{"type":"null"}]}`, `"abc"`, v("", "at most 2 characters", "string of 3 characters")},
		{`{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}`, `["a",1]`, v("/1", "string", "integer 1")},
		{`{"anyOf":[{"enum":["a","b"]},{"anyOf":[{"const":"c"},{"type":"null"}]}]}`, `"x"`, v("", `one of "a", "b" or "c"`, `"x"`)},
		{union, `{"kind":"queue","size":1}`, ok},
		{union, `{"kind":"queue","at":"x"}`, v("/at", "one of the arguments kind, size", `"at"`)},
		{union, `{"kind":"cron"}`, v("/at", "a value (required)", "nothing")},
		{union, `{"kind":"queue","size":"1"}`, v("/size", "integer", `string "1"`)},
		{union, `{"kind":"quue"}`, v("/kind", `"cron" or "queue"`, `"quue"`)},
		{union, `[]`, v("", "object", "array")},
		{`{"oneOf":[{"minimum":1},{"maximum":3}]}`, `2`, v("", "a value that fits exactly one of 2 alternatives", "integer 2")},
		{`{"not":{"enum":["a"]}}`, `"a"`, v("", `anything but "a"`, `"a"`)},
		{`{"not":{"type":"string"}}`, `"a"`, v("", "anything but string", `"a"`)},
		{`{"not":{"minimum":3}}`, `4`, v("", "anything but what the schema excludes", "integer 4")},
		{`{"not":{"minimum":3}}`, `2`, ok},

		{tree, `{"kids":[{"n":1},{"kids":[{"n":1.5}]}]}`, v("/kids/1/kids/0/n", "integer", "number 1.5")},
		{tree, `{"kids":[{"kids":[{}]}]}`, ok},
		{`{"properties":{"a":{"$ref":"#"}},"additionalProperties":false}`, `{"a":{"a":{"b":1}}}`, v("/a/a/b", "one of the members a", `"b"`)},
		{`{"$ref":"#/$defs/a~1b%20c","maxLength":1,"$defs":{"a/b c":{"type":"string"}}}`, `1`, v("", "string", "integer 1")},
		{`{"$ref":"#/$defs/x/properties/y","$defs":{"x":{"properties":{"y":{"type":"null"}}}}}`, `1`, v("", "null", "integer 1")},

		{`{}`, ``, v("", "JSON", "a syntax error at byte 0")},
		{`{}`, `{"a":01}`, v("/a", "JSON", "a syntax error at byte 5")},
		{`{}`, "[\"\xff\"]", v("/0", "UTF-8", "invalid bytes")},
	} {
		t.Run(c.schema+" "+c.instance, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(c.want, compile(t, c.schema).Validate([]byte(c.instance))); d != "" {
				t.Errorf("schema %s\ninstance %s\n-want +got\n%s", c.schema, c.instance, d)
			}
		})
	}
}

// Long lists are cut, and more names may be required than fit one word.
func TestManyNames(t *testing.T) {
	t.Parallel()
	var quoted []string
	for i := range 1000 {
		quoted = append(quoted, strconv.Quote("name"+strconv.Itoa(i)))
	}
	all := "[" + strings.Join(quoted, ",") + "]"
	instance := "{" + strings.Join(quoted[:999], ":1,") + ":1}"
	if got := compile(t, `{"required":`+all+`}`).Validate([]byte(instance)); got == nil || got.Pointer != "/name999" {
		t.Error(got)
	}
	got := compile(t, `{"enum":`+all+`}`).Validate([]byte("1"))
	if got == nil || len(got.Expected) > 2100 || !strings.HasSuffix(got.Expected, `"name192" and 807 more`) {
		t.Error(got)
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]*schema.Violation{
		`/limit: expected integer, got string "ten"`: v("/limit", "integer", `string "ten"`),
		`expected object, got array`:                 v("", "object", "array"),
		`/a\n\x1b: expected null, got object`:        v("/a\n\x1b", "null", "object"),
	} {
		if got := v.Message(); got != want {
			t.Errorf("message %s, want %s", got, want)
		}
	}
}

func TestValidateConcurrently(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"properties":{"a":{"$ref":"#"},"b":{"enum":[1,"x"]}},"additionalProperties":false}`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				if v := s.Validate([]byte(`{"a":{"\u0062":1.0}}`)); v != nil {
					t.Error(v)
				}
				if v := s.Validate([]byte(`{"a":{"b":2}}`)); v == nil || v.Pointer != "/a/b" {
					t.Error(v)
				}
			}
		})
	}
	wg.Wait()
}

func TestHostileCost(t *testing.T) {
	t.Parallel()
	const megabyte = 1 << 20
	digits := strings.Repeat("7", megabyte)
	deep := func(open, end string, n int) string { return strings.Repeat(open, n) + "1" + strings.Repeat(end, n) }
	numeric := `{"type":"integer","minimum":0,"maximum":1e2000000,"enum":[1],"multipleOf":7}`
	for name, c := range map[string]struct {
		schema, instance string
		valid            bool
	}{
		"digits":           {numeric, digits, false},
		"multiple":         {`{"multipleOf":7}`, digits, true},
		"large divisor":    {`{"multipleOf":` + digits[:300] + `}`, digits, false},
		"fraction":         {numeric, "0." + digits, false},
		"exponent":         {numeric, "1e" + digits, false},
		"negative":         {numeric, "-1e-" + digits, false},
		"zeros":            {`{"const":1}`, "1." + strings.Repeat("0", megabyte), true},
		"exponent zeros":   {`{"const":1}`, "1e" + strings.Repeat("0", megabyte), true},
		"pattern":          {`{"pattern":"^(a|aa)+$"}`, `"` + strings.Repeat("a", megabyte) + `b"`, false},
		"length":           {`{"maxLength":255,"pattern":"^(a|aa)+$"}`, `"` + strings.Repeat("a", megabyte) + `"`, false},
		"deep":             {`{}`, deep("[", "]", 100_000), false},
		"unique":           {`{"uniqueItems":true}`, "[" + strings.Repeat(`{"a":1},`, megabyte/8) + "1]", false},
		"unique nested":    {`{"uniqueItems":true,"items":{"$ref":"#"}}`, deep("[", "]", 1000), true},
		"many members":     {`{"required":["z"],"patternProperties":{"^b":{}},"additionalProperties":{"type":"null"}}`, "{" + strings.Repeat(`"a":1,`, megabyte/8) + `"z":1}`, false},
		"many failures":    {`{"anyOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}],"not":{"const":1}}`, deep("[", "]", 1000), false},
		"branching":        {`{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}],"$defs":{"a":{"properties":{"x":{"$ref":"#"}},"required":["y"]},"b":{"properties":{"x":{"$ref":"#"}},"required":["x"]}}}`, deep(`{"x":`, "}", 500), true},
		"branching failed": {`{"type":"object","oneOf":[{"properties":{"x":{"$ref":"#"}}},{"properties":{"x":{"$ref":"#"}}}]}`, deep(`{"x":`, "}", 500), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, start := compile(t, c.schema), time.Now()
			v := s.Validate([]byte(c.instance))
			if took := time.Since(start); took > 20*time.Second { // tens of milliseconds; quadratic would be minutes, and -race on a busy machine is slow
				t.Errorf("took %v", took)
			}
			if (v == nil) != c.valid {
				t.Errorf("violation %v", v)
			}
			if v != nil && len(v.Message()) > 4096 {
				t.Errorf("message of %d bytes", len(v.Message()))
			}
		})
	}
}
