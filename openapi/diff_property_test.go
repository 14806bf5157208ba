package openapi

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// drawSchema makes a schema of what published ones hold. Objects say what they do
// with unlisted properties: leaving that out is taken for no promise.
func drawSchema(t *rapid.T, depth int) map[string]any {
	s := map[string]any{}
	maybe := func(key string, values ...any) {
		if rapid.IntRange(0, 3).Draw(t, key) == 0 {
			s[key] = rapid.SampledFrom(values).Draw(t, key)
		}
	}
	maybe("description", "x", "y")
	kinds := []string{"string", "integer", "number", "boolean", "any"}
	if depth > 0 {
		kinds = append(kinds, "array", "object", "anyOf", "oneOf", "allOf", "not", "$ref", "object")
	}
	kind := rapid.SampledFrom(kinds).Draw(t, "kind")
	list := func() []any {
		var out []any
		for range rapid.IntRange(1, 3).Draw(t, "branches") {
			out = append(out, drawSchema(t, depth-1))
		}
		return out
	}
	switch kind {
	case "anyOf", "oneOf", "allOf":
		s[kind] = list()
		return s
	case "not":
		s[kind] = drawSchema(t, depth-1)
		return s
	case "$ref":
		s[kind] = rapid.SampledFrom([]string{"#/$defs/A", "#/$defs/B"}).Draw(t, "ref")
		return s
	case "array":
		s["items"] = drawSchema(t, depth-1)
		maybe("minItems", 0, 1)
		maybe("maxItems", 1, 2)
		maybe("uniqueItems", true)
	case "object":
		props := map[string]any{}
		for _, name := range []string{"p", "q"} {
			if rapid.Bool().Draw(t, name) {
				props[name] = drawSchema(t, depth-1)
			}
		}
		s["properties"] = props
		s["additionalProperties"] = rapid.SampledFrom([]any{true, false, map[string]any{"type": "string"}}).Draw(t, "additional")
		maybe("required", []any{"p"}, []any{"q", "p"})
		maybe("minProperties", 1)
		maybe("maxProperties", 1)
	}
	if kind != "any" {
		s["type"] = kind
		maybe("type", []any{kind, "null"})
		if kind == "boolean" || kind == "object" {
			maybe("type", []any{kind, "string"}, []any{kind, "integer"})
		}
	}
	maybe("enum", []any{"a", 1}, []any{"a", "bb", nil}, []any{1, 2, true})
	maybe("const", "a", 2)
	maybe("minimum", 1, 2)
	maybe("maximum", 2, 3)
	maybe("exclusiveMinimum", 0, 1)
	maybe("multipleOf", 1, 2)
	maybe("minLength", 0, 1, 2)
	maybe("maxLength", 1, 2)
	maybe("pattern", "^a", "b")
	return s
}

func drawTool(t *rapid.T) map[string]any {
	s := drawSchema(t, 3)
	s["$defs"] = map[string]any{"A": drawSchema(t, 1), "B": drawSchema(t, 0)}
	return s
}

// mutate changes one thing somewhere in a schema, so that versions are related.
func mutate(t *rapid.T, v any) any {
	m, ok := v.(map[string]any)
	if !ok || rapid.IntRange(0, 4).Draw(t, "here") == 0 {
		return drawSchema(t, 1)
	}
	out := map[string]any{}
	for key, value := range m {
		out[key] = value
	}
	keys := union(m, map[string]any{"minLength": nil, "type": nil, "maximum": nil, "properties": nil, "required": nil})
	var names []string
	for _, key := range append([]string{"$defs"}, keywords...) {
		if has(keys, key) {
			names = append(names, key)
		}
	}
	key := rapid.SampledFrom(names).Draw(t, "key")
	switch value := m[key].(type) {
	case map[string]any:
		if key == "properties" || key == "$defs" {
			inner := union(value, nil)
			name := "p"
			if key == "$defs" {
				name = "A"
			}
			inner[name] = mutate(t, value[name])
			out[key] = inner
		} else {
			out[key] = mutate(t, value)
		}
	case []any:
		if key == "anyOf" || key == "oneOf" || key == "allOf" {
			i := rapid.IntRange(0, len(value)-1).Draw(t, "branch")
			list := append([]any{drawSchema(t, 1)}, value...)
			list[i+1] = mutate(t, value[i])
			out[key] = list[rapid.IntRange(0, 1).Draw(t, "more"):]
		} else {
			delete(out, key)
		}
	default:
		if fresh := drawSchema(t, 1); has(fresh, key) {
			out[key] = fresh[key]
		} else {
			delete(out, key)
		}
	}
	return out
}

func contractWith(t *rapid.T, schema any) []byte {
	data, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(toolOf(string(data)))
}

func TestDiffOfAContractWithItselfIsEmpty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := contractWith(t, drawTool(t))
		d, err := DiffContracts(c, c)
		if err != nil || len(d.Changes) > 0 {
			t.Fatalf("%v %v", d, err)
		}
	})
}

// TestDiffIsSound: what does not count as breaking accepts whatever was accepted,
// in the judgement of a JSON Schema validator.
func TestDiffIsSound(t *testing.T) {
	values := []any{nil, true, "", "a", "b", "bb", "abc", 0, 1, 2, 3, 1.5, []any{}, []any{"a"}, []any{1, 1}, []any{nil, "bb"}, []any{[]any{}}}
	for _, p := range []any{nil, "a", 1, 2.5, []any{}, map[string]any{}} {
		values = append(values, map[string]any{"p": p}, map[string]any{"p": p, "q": "a"}, map[string]any{"q": p}, map[string]any{"r": p}, []any{map[string]any{"p": p}})
	}
	values = append(values, map[string]any{})
	harmless := 0
	rapid.Check(t, func(t *rapid.T) {
		before := drawTool(t)
		after, ok := mutate(t, before).(map[string]any)
		if !ok {
			return
		}
		if !has(after, "$defs") {
			after["$defs"] = before["$defs"]
		}
		d, err := DiffContracts(contractWith(t, before), contractWith(t, after))
		if err != nil {
			t.Fatal(err)
		}
		if d.Breaking() {
			return
		}
		harmless++
		old, new := compiled(t, before), compiled(t, after)
		for _, v := range values {
			was, is := old.Validate(v) == nil, new.Validate(v) == nil
			if was && !is || len(d.Changes) == 0 && was != is {
				t.Fatalf("%v: accepted %t, then %t\n%s\n%s\n%v", v, was, is, contractWith(t, before), contractWith(t, after), d.Changes)
			}
		}
	})
	if harmless == 0 {
		t.Error("no harmless change was drawn")
	}
}

func compiled(t *rapid.T, s any) *jsonschema.Schema {
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///s", doc); err != nil {
		t.Fatal(err)
	}
	out, err := c.Compile("mem:///s")
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return out
}

// TestDiffAdditiveArgumentsBreakTheOtherWay: what makes one version accept more
// makes the other accept less. Combined schemas are left out: they may change in
// what they say while they accept the same.
func TestDiffAdditiveArgumentsBreakTheOtherWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := drawTool(t)
		old, new := contractWith(t, before), contractWith(t, mutate(t, before))
		forth, err := DiffContracts(old, new)
		if err != nil {
			t.Fatal(err)
		}
		back, err := DiffContracts(new, old)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(old) + string(new); strings.Contains(text, "Of\":[") || strings.Contains(text, `"$ref"`) {
			return
		}
		if forth.count(Additive) > 0 && !forth.Breaking() && !back.Breaking() {
			t.Fatalf("forth %v, back %v", forth.Changes, back.Changes)
		}
	})
}
