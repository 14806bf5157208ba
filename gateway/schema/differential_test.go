package schema_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/postern-mcp/postern/gateway/schema"
)

// oracle compiles text with the library that the verdicts are held against.
func oracle(text string) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("mem:///schema.json")
}

// accepts reports the oracle's verdict on instance.
func accepts(t interface{ Fatal(...any) }, s *jsonschema.Schema, instance string) bool {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(instance))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(value) == nil
}

func TestSameVerdictAsOracle(t *testing.T) {
	t.Parallel()
	for i := range 20 { // a run of rapid is 100 schemas
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, sameVerdict)
		})
	}
}

func sameVerdict(t *rapid.T) {
	text := drawRoot(t)
	s, err := schema.Compile([]byte(text))
	if loops(t, text) {
		if err == nil || !strings.Contains(err.Error(), "leads back to itself") {
			t.Fatalf("got %v, but a $ref leads back to itself in %s", err, text)
		}
		return
	}
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	want, err := oracle(text)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	for range 8 {
		instance := drawObject(t, upTo(t, 4), func() string { return drawValue(t, 2) })
		if upTo(t, 1) == 0 {
			instance = drawValue(t, 3)
		}
		v := s.Validate([]byte(instance))
		if accepts(t, want, instance) != (v == nil) {
			t.Fatalf("schema %s\ninstance %s\nviolation %+v", text, instance, v)
		}
		if v == nil {
			continue
		}
		if v.Expected == "" || v.Got == "" {
			t.Fatalf("violation %+v says too little\nschema %s\ninstance %s", v, text, instance)
		}
		if !resolves(instance, v) {
			t.Fatalf("pointer of %+v leads nowhere in %s", v, instance)
		}
	}
}

// refs are the references that drawSchema draws.
var refs = []string{"#", "#/$defs/d", "#/$defs/a~1b", "#/$defs/a~1b/properties/a", "#/%24defs/d"}

// loops reports whether a $ref of a drawn schema comes back to itself on the same
// value, which the oracle does not say.
func loops(t *rapid.T, text string) bool {
	var root map[string]any
	if err := json.Unmarshal([]byte(text), &root); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	defs := root["$defs"].(map[string]any)
	targets := map[string]any{"#": root, "#/$defs/d": defs["d"], "#/%24defs/d": defs["d"], "#/$defs/a~1b": defs["a/b"],
		"#/$defs/a~1b/properties/a": defs["a/b"].(map[string]any)["properties"].(map[string]any)["a"]}
	var follow func(at any, chain []string) bool
	follow = func(at any, chain []string) bool {
		object, ok := at.(map[string]any)
		if !ok {
			return false
		}
		if ref, ok := object["$ref"].(string); ok {
			if slices.Contains(chain, ref) || follow(targets[ref], append(chain, ref)) {
				return true
			}
		}
		same := []any{object["not"]}
		for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
			subs, _ := object[keyword].([]any)
			same = append(same, subs...)
		}
		return slices.ContainsFunc(same, func(sub any) bool { return follow(sub, chain) })
	}
	return slices.ContainsFunc(refs, func(ref string) bool { return follow(targets[ref], []string{ref}) })
}

// resolves reports whether v.Pointer leads to a value of instance, or, for a
// missing member, to an object that could hold it.
func resolves(instance string, v *schema.Violation) bool {
	var at any
	if json.Unmarshal([]byte(instance), &at) != nil {
		return false
	}
	if v.Pointer == "" {
		return true
	}
	tokens := strings.Split(v.Pointer, "/")[1:]
	for i, token := range tokens {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch in := at.(type) {
		case map[string]any:
			value, ok := in[token]
			if !ok {
				return v.Got == "nothing" && i == len(tokens)-1
			}
			at = value
		case []any:
			index, err := strconv.Atoi(token)
			if err != nil || index >= len(in) {
				return false
			}
			at = in[index]
		default:
			return false
		}
	}
	return true
}

var (
	numbers = []string{
		"0", "-0", "0.0", "0e5", "1", "1.0", "10e-1", "0.1e1", "1E0", "1e+0", "2", "3", "-1", "-1.0", "1.5", "15e-1", "0.5", "100", "1e2", "1e-2",
		"9007199254740992", "9007199254740993", "9007199254740993.0", "90071992547409920e-1", "1e20", "100000000000000000000",
		"0.30000000000000004", "0.3", "3e-1", "123456789012345678901234567890", "-12.340", "6", "7",
	}
	stringsDrawn = []string{
		`""`, `"a"`, `"\u0061"`, `"ab"`, `"abc"`, `"\ud83d\ude00"`, `"😀"`, `"\ud800"`, `"\udc00a"`, `"é"`, `"e\u0301"`, `"x-1"`, `"a\nb"`, `"\/"`, `"\b\f\r\t\"\\\uD83D\u0041"`, `"a~b/c"`, `"1"`,
	}
	names    = []string{`"a"`, `"b"`, `"\u0062"`, `"c"`, `"x-1"`, `""`, `"é"`, `"a~b/c"`}
	patterns = []string{`"^a"`, `"^x-"`, `"b$"`, `"^[a-c]*$"`, `"."`, `"^$"`}
	types    = []string{`"string"`, `"integer"`, `"number"`, `"boolean"`, `"object"`, `"array"`, `"null"`}
)

func pick(t *rapid.T, from []string) string { return rapid.SampledFrom(from).Draw(t, "pick") }

func upTo(t *rapid.T, n int) int { return rapid.IntRange(0, n).Draw(t, "n") }

// drawValue draws a JSON text; its objects name no member twice.
func drawValue(t *rapid.T, depth int) string {
	most := 7
	if depth == 0 {
		most = 4
	}
	switch upTo(t, most) {
	case 0:
		return pick(t, []string{"null", "true", "false"})
	case 1, 2:
		return pick(t, numbers)
	case 3, 4:
		return pick(t, stringsDrawn)
	case 5:
		parts := make([]string, upTo(t, 4))
		for i := range parts {
			parts[i] = drawValue(t, depth-1)
		}
		return "[" + strings.Join(parts, " ,") + "]"
	}
	return drawObject(t, upTo(t, 4), func() string { return drawValue(t, depth-1) })
}

func drawObject(t *rapid.T, n int, value func() string) string {
	seen := map[string]bool{}
	var parts []string
	for range n {
		name := pick(t, names)
		var plain string
		if json.Unmarshal([]byte(name), &plain) != nil || seen[plain] {
			continue
		}
		seen[plain] = true
		parts = append(parts, name+": "+value())
	}
	return "{" + strings.Join(parts, ",\n") + "}"
}

func drawRoot(t *rapid.T) string {
	body := strings.TrimSuffix(drawSchema(t, 3, true), "}")
	if body != "{" {
		body += ","
	}
	return body + `"$defs":{"d":` + drawSchema(t, 2, false) + `,"a/b":{"properties":{"a":` + drawSchema(t, 1, false) + `}}}}`
}

func drawSchema(t *rapid.T, depth int, object bool) string {
	if !object && upTo(t, 9) == 0 {
		return pick(t, []string{"true", "false"})
	}
	sub := func() string { return drawSchema(t, depth-1, false) }
	subs := func() string {
		parts := make([]string, 1+upTo(t, 2))
		for i := range parts {
			parts[i] = sub()
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	// Keywords meet only when they look at the same kind of value.
	pools := [][]string{
		{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "type", "enum"},
		{"minLength", "maxLength", "pattern", "enum", "const", "type"},
		{"type", "types", "enum", "const", "$ref", "title"},
	}
	if depth > 0 {
		members := []string{"required", "minProperties", "maxProperties", "properties", "properties", "properties", "patternProperties",
			"additionalProperties", "closed", "propertyNames"}
		pools = append(pools, members, members,
			[]string{"minItems", "maxItems", "uniqueItems", "items", "prefixItems"},
			[]string{"types", "$ref", "allOf", "anyOf", "oneOf", "not", "properties", "closed", "items"})
	}
	keywords := pools[upTo(t, len(pools)-1)]
	members := map[string]string{}
	var order []string
	for range upTo(t, 4) {
		keyword := pick(t, keywords)
		var value string
		switch keyword {
		case "type":
			value = pick(t, types)
		case "types":
			a, b := pick(t, types), pick(t, types)
			keyword, value = "type", "["+a+","+b+"]"
			if a == b {
				value = a
			}
		case "enum":
			parts := []string{drawValue(t, 1)}
			for range upTo(t, 3) {
				parts = append(parts, drawValue(t, 1))
			}
			value = "[" + strings.Join(parts, ",") + "]"
		case "const":
			value = drawValue(t, 2)
		case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
			value = pick(t, numbers)
		case "multipleOf":
			value = pick(t, []string{"1", "2", "0.01", "0.1", "3", "1.5", "1e2", "9007199254740993", "1e-20", "7", "123456789012345678901234567890"})
		case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
			value = pick(t, []string{"0", "1", "2", "3", "2.0", "10e-1"})
		case "pattern":
			value = pick(t, patterns)
		case "uniqueItems":
			value = pick(t, []string{"true", "true", "false"})
		case "required":
			value = "[" + pick(t, names) + "]"
		case "title":
			value = `"t"`
		case "$ref":
			value = strconv.Quote(pick(t, refs))
		case "items", "additionalProperties", "propertyNames", "not":
			value = sub()
		case "closed":
			keyword, value = "additionalProperties", "false"
		case "prefixItems", "allOf", "anyOf", "oneOf":
			value = subs()
		case "properties":
			value = drawObject(t, 3, sub)
		case "patternProperties":
			value = "{" + pick(t, patterns) + ":" + sub() + "}"
		}
		if members[keyword] == "" {
			order = append(order, keyword)
		}
		members[keyword] = value
	}
	var b bytes.Buffer
	for i, keyword := range order {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Quote(keyword) + ":" + members[keyword])
	}
	return "{" + b.String() + "}"
}
