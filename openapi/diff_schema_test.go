package openapi

import (
	"fmt"
	"strings"
	"testing"
)

// TestDiffArguments compares the schemas of one argument, and back again.
func TestDiffArguments(t *testing.T) {
	const a = "/inputSchema/properties/a"
	for _, c := range []struct{ name, old, new, forth, back string }{
		{"type", `{"type":"string"}`, `{"type":["string","null"]}`, "additive /type: type widened from string to string or null", "breaking /type: type narrowed from string or null to string"},
		{"type changed", `{"type":"string"}`, `{"type":"boolean"}`, "breaking /type: type changed from string to boolean", "breaking /type: type changed from boolean to string"},
		{"type unsaid", `{"type":"string"}`, `{}`, "additive /type: type widened from string to any", "breaking /type: type narrowed from any to string"},
		{"integer", `{"type":"integer"}`, `{"type":"number"}`, "additive /type: type widened from integer to number", "breaking /type: type narrowed from number to integer"},
		{"enum", `{"type":"string","enum":["x"]}`, `{"type":"string","enum":["y","x"]}`, `additive /enum: value "y" newly accepted`, `breaking /enum: value "y" no longer accepted`},
		{"enum at all", `{"type":"string","enum":["x"]}`, `{"type":"string"}`, `additive /enum: no longer only ["x"] accepted`, `breaking /enum: only ["x"] accepted now`},
		{"enum spelling", `{"type":"number","enum":[1,2]}`, `{"type":"number","enum":[2.0,1e0]}`, "", ""},
		{"const", `{"const":"x"}`, `{"enum":["x","y"]}`, `additive /enum: value "y" newly accepted`, `breaking /enum: value "y" no longer accepted`},
		{"const as enum", `{"const":"x"}`, `{"type":"string","enum":["x"]}`, "", ""},
		{"minimum", `{"type":"integer","minimum":2}`, `{"type":"integer","minimum":1}`, "additive /minimum: minimum 2 became minimum 1", "breaking /minimum: minimum 1 became minimum 2"},
		{"exclusive", `{"type":"number","exclusiveMaximum":2}`, `{"type":"number","maximum":2}`, "additive /maximum: exclusiveMaximum 2 became maximum 2", "breaking /exclusiveMaximum: maximum 2 became exclusiveMaximum 2"},
		{"exclusive beside", `{"type":"number","exclusiveMinimum":0,"minimum":1}`, `{"type":"number","minimum":1.0}`, "", ""},
		{"maximum", `{"type":"integer","maximum":9}`, `{"type":"integer"}`, "additive /maximum: maximum 9 removed", "breaking /maximum: maximum 9 added"},
		{"beyond float64", `{"type":"integer","maximum":9007199254740993}`, `{"type":"integer","maximum":9007199254740994}`, "additive /maximum: maximum 9007199254740993 became maximum 9007199254740994", "breaking /maximum: maximum 9007199254740994 became maximum 9007199254740993"},
		{"hostile number", `{"type":"number","maximum":1e1000000000}`, `{"type":"number","maximum":2e1000000000}`, "breaking /maximum: maximum 1e1000000000 became maximum 2e1000000000", "breaking /maximum: maximum 2e1000000000 became maximum 1e1000000000"},
		{"multipleOf", `{"type":"integer","multipleOf":6}`, `{"type":"integer","multipleOf":3}`, "additive /multipleOf: multipleOf changed from 6 to 3", "breaking /multipleOf: multipleOf changed from 3 to 6"},
		{"length", `{"type":"string","maxLength":5}`, `{"type":"string","maxLength":10}`, "additive /maxLength: maxLength 5 became maxLength 10", "breaking /maxLength: maxLength 10 became maxLength 5"},
		{"no length", `{"type":"string","minLength":0}`, `{"type":"string"}`, "", ""},
		{"items", `{"type":"array","minItems":1}`, `{"type":"array"}`, "additive /minItems: minItems 1 removed", "breaking /minItems: minItems 1 added"},
		{"unique", `{"type":"array","uniqueItems":true}`, `{"type":"array"}`, "additive /uniqueItems: uniqueItems changed from true to false", "breaking /uniqueItems: uniqueItems changed from false to true"},
		{"properties", `{"type":"object","maxProperties":1}`, `{"type":"object","maxProperties":2}`, "additive /maxProperties: maxProperties 1 became maxProperties 2", "breaking /maxProperties: maxProperties 2 became maxProperties 1"},
		{"of another type", `{"type":"string","minItems":1}`, `{"type":"string","minItems":2}`, "", ""},
		{"pattern", `{"type":"string","pattern":"^a"}`, `{"type":"string"}`, `additive /pattern: pattern "^a" removed`, `breaking /pattern: pattern "^a" added`},
		{"another pattern", `{"type":"string","pattern":"^a"}`, `{"type":"string","pattern":"a"}`, `breaking /pattern: pattern changed from "^a" to "a"`, `breaking /pattern: pattern changed from "a" to "^a"`},
		{"format", `{"type":"string","format":"date"}`, `{"type":"string"}`, `additive /format: format "date" removed`, `breaking /format: format "date" added`},
		{"wider format", `{"type":"string","format":"int32"}`, `{"type":"string","format":"int64"}`, `additive /format: format changed from "int32" to "int64"`, `breaking /format: format changed from "int64" to "int32"`},
		{"encoding", `{"type":"string"}`, `{"type":"string","contentEncoding":"base64"}`, `breaking /contentEncoding: contentEncoding "base64" added`, `breaking /contentEncoding: contentEncoding "base64" removed`},
		{"default", `{"type":"integer","default":1}`, `{"type":"integer","default":2}`, "breaking /default: default changed from 1 to 2", "breaking /default: default changed from 2 to 1"},
		{"no default", `{"type":"integer"}`, `{"type":"integer","default":2}`, "additive /default: default 2 added", "breaking /default: default 2 removed"},
		{"description", `{"description":"x"}`, `{"description":"y"}`, "cosmetic /description: description changed", "cosmetic /description: description changed"},
		{"nested array", `{"type":"array","items":{"type":"array","items":{"maxLength":1}}}`, `{"type":"array","items":{"type":"array","items":{"maxLength":2}}}`, "additive /items/items/maxLength: maxLength 1 became maxLength 2", "breaking /items/items/maxLength: maxLength 2 became maxLength 1"},
		{"tuple", `{"prefixItems":[{"type":"string"}]}`, `{"prefixItems":[{}]}`, "additive /prefixItems/0/type: type widened from string to any", "breaking /prefixItems/0/type: type narrowed from any to string"},
		{"nested property", `{"type":"object","properties":{"b/c":{"minLength":1}}}`, `{"type":"object","properties":{"b/c":{}}}`, "additive /properties/b~1c/minLength: minLength 1 removed", "breaking /properties/b~1c/minLength: minLength 1 added"},
		{"property of a free object", `{"type":"object"}`, `{"type":"object","properties":{"b":{"type":"string"}}}`, "breaking /properties/b/type: type narrowed from any to string\nadditive /properties/b: optional property added", "breaking /properties/b: property removed"},
		{"property", `{"type":"object","properties":{}}`, `{"type":"object","properties":{"b":{"type":"string"}}}`, "additive /properties/b: optional property added", "breaking /properties/b: property removed"},
		{"free property", `{"type":"object","additionalProperties":true}`, `{"type":"object","properties":{"b":{"type":"string"}},"additionalProperties":true}`, "breaking /properties/b/type: type narrowed from any to string\nadditive /properties/b: optional property added", "breaking /properties/b: property removed"},
		{"pattern property", `{"type":"object","patternProperties":{"^b":{}},"additionalProperties":false}`, `{"type":"object","patternProperties":{"^b":{}},"properties":{"b":{"type":"string"}},"additionalProperties":false}`, "breaking /properties/b/type: type narrowed from any to string\nadditive /properties/b: optional property added", "breaking /properties/b: property removed"},
		{"additional", `{"type":"object","additionalProperties":false}`, `{"type":"object"}`, "additive /additionalProperties: accepted now", "breaking /additionalProperties: nothing is accepted any more"},
		{"additional schema", `{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","additionalProperties":true}`, "additive /additionalProperties/type: type widened from string to any", "breaking /additionalProperties/type: type narrowed from any to string"},
		{"required", `{"type":"object","properties":{"b":{}},"required":["b"]}`, `{"type":"object","properties":{"b":{}}}`, `additive /required: property "b" no longer required`, `breaking /required: property "b" newly required`},
		{"choice", `{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `{"anyOf":[{"type":"integer"},{"type":"boolean"},{"type":"string"}]}`, `additive /anyOf/1: alternative {"type":"boolean"} added`, `breaking : alternative {"type":"boolean"} removed or narrowed`},
		{"within a choice", `{"anyOf":[{"type":"string","maxLength":1},{"type":"integer"}]}`, `{"anyOf":[{"type":"integer"},{"type":"string","maxLength":2}]}`, "additive /anyOf/1/maxLength: maxLength 1 became maxLength 2", "breaking /anyOf/0/maxLength: maxLength 2 became maxLength 1"},
		{"only a choice", `{"type":"string"}`, `{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `additive /anyOf/1: alternative {"type":"integer"} added`, `breaking : alternative {"type":"integer"} removed or narrowed`},
		{"disjoint oneOf", `{"oneOf":[{"type":"string"},{"type":"integer"}]}`, `{"oneOf":[{"type":"string"},{"type":"integer"},{"type":"array"}]}`, `additive /oneOf/2: alternative {"type":"array"} added`, `breaking : alternative {"type":"array"} removed or narrowed`},
		{"overlapping oneOf", `{"oneOf":[{"minLength":3},{"maxLength":1}]}`, `{"oneOf":[{"minLength":2},{"maxLength":1}]}`, "breaking /oneOf: oneOf changed; alternatives may overlap", "breaking /oneOf: oneOf changed; alternatives may overlap"},
		{"reordered oneOf", `{"oneOf":[{"minLength":3},{"maxLength":1}]}`, `{"oneOf":[{"maxLength":1},{"minLength":3}]}`, "", ""},
		{"allOf", `{"allOf":[{"minLength":3},{"pattern":"x"}]}`, `{"allOf":[{"minLength":3}]}`, `additive /allOf: condition {"pattern":"x"} dropped`, `breaking /allOf/1: condition {"pattern":"x"} added or tightened`},
		{"allOf of one", `{"allOf":[{"minLength":3}],"description":"x"}`, `{"minLength":3,"description":"x"}`, "", ""},
		{"not", `{"not":{"type":"string"}}`, `{}`, `additive /not: not {"type":"string"} removed`, `breaking /not: not {"type":"string"} added`},
		{"another not", `{"not":{"type":"string"}}`, `{"not":{"type":"null"}}`, "breaking /not: not changed", "breaking /not: not changed"},
		{"null by choice", `{"anyOf":[{"type":"object","properties":{"b":{}}},{"type":"null"}]}`, `{"type":["object","null"],"properties":{"b":{}}}`, "", ""},
		{"longer tuple", `{"prefixItems":[{}]}`, `{"prefixItems":[{},{}]}`, "breaking /prefixItems: number of prefixItems changed from 1 to 2", "breaking /prefixItems: number of prefixItems changed from 2 to 1"},
		{"patterns", `{"type":"object","patternProperties":{"^x/":{}}}`, `{"type":"object"}`, "breaking /patternProperties/^x~1: patternProperties {} removed", "breaking /patternProperties/^x~1: patternProperties {} added"},
		{"any instead of one", `{"oneOf":[{"minLength":3},{"maxLength":1}]}`, `{"anyOf":[{"minLength":3},{"maxLength":1}]}`, "additive : oneOf became anyOf", "breaking /oneOf: oneOf changed; alternatives may overlap"},
		{"condition tightened", `{"allOf":[{"minLength":3},{"pattern":"x"}]}`, `{"allOf":[{"minLength":4},{"pattern":"x"}]}`, "breaking /allOf/0/minLength: minLength 3 became minLength 4", "additive /allOf/0/minLength: minLength 4 became minLength 3"},
		{"null by choice and enum", `{"anyOf":[{"type":"null"},{"type":"string","enum":["x"],"title":"X"}],"title":"Y"}`, `{"type":["string","null"],"enum":["x",null],"title":"Y"}`, "", ""},
		{"enum of mixed values", `{"enum":[true,1.5,[],{}]}`, `{"type":["boolean","number","array"]}`, `breaking /type: value {} no longer accepted` + "\nadditive /enum: no longer only [true,1.5,[],{}] accepted", "breaking /enum: only [true,1.5,[],{}] accepted now"},
		{"reference into a list", `{"anyOf":[{"$ref":"#/properties/a/anyOf/1"},{"type":"integer"}]}`, `{"anyOf":[{"type":"integer"},{"type":"integer"}]}`, "", ""},
		{"no schema", `{"items":7}`, `{"items":true}`, "breaking /items/no schema: no schema 7 removed", "breaking /items/no schema: no schema 7 added"},
		{"unknown keyword", `{"contains":{}}`, `{}`, "breaking /contains: contains {} removed", "breaking /contains: contains {} added"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, way := range [][3]string{{c.old, c.new, c.forth}, {c.new, c.old, c.back}} {
				got := strings.ReplaceAll(strings.TrimSpace(lines(diffOf(t, contractOf(way[0]), contractOf(way[1])))), " "+a, " ")
				if got != way[2] {
					t.Errorf("%s -> %s:\n got %s\nwant %s", way[0], way[1], got, way[2])
				}
			}
		})
	}
}

func TestDiffFollowsReferences(t *testing.T) {
	inline := `{"type":"object","properties":{"a":{"type":"object","description":"A","properties":{"b":{"type":"string","maxLength":9}}},"c":{"type":"string","maxLength":9}}}`
	defs := `{"type":"object","properties":{"a":{"$ref":"#/$defs/A","description":"A"},"c":{"$ref":"#/$defs/B"}},"$defs":{"A":{"type":"object","properties":{"b":{"$ref":"#/$defs/B"}}},"B":{"type":"string","maxLength":9}}}`
	if got := lines(diffOf(t, toolOf(inline), toolOf(defs))); got != "" {
		t.Errorf("written out or not: %s", got)
	}
	shorter := strings.Replace(defs, "9", "8", 1)
	want := "breaking /inputSchema/properties/a/properties/b/maxLength: maxLength 9 became maxLength 8\n" +
		"breaking /inputSchema/properties/c/maxLength: maxLength 9 became maxLength 8\n"
	for _, old := range []string{inline, defs} {
		if got := lines(diffOf(t, toolOf(old), toolOf(shorter))); got != want {
			t.Errorf("%s", got)
		}
	}
}

func TestDiffEndsOnRecursion(t *testing.T) {
	tree := `{"properties":{"a":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/N","description":"kid"}},"or":{"anyOf":[{"$ref":"#/$defs/N"},{"type":"null"}]},"v":{"type":"string"}}}}}`
	next := strings.Replace(tree, `"v":{"type":"string"}`, `"v":{"type":["string","null"]}`, 1)
	if got := diffOf(t, toolOf(tree), toolOf(next)); len(got) == 0 || got[0].Class != Additive {
		t.Errorf("%v", got)
	}
	if got := diffOf(t, toolOf(next), toolOf(tree)); len(got) == 0 || got[0].Class != Breaking {
		t.Errorf("%v", got)
	}
	for _, loop := range []string{`{"$ref":"#"}`, `{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/A"}}}`, `{"anyOf":[{"$ref":"#"},{"type":"null"}]}`, `{"allOf":[{"$ref":"#"}]}`, `{"$ref":"#/nowhere"}`, `{"not":{"$ref":"#"}}`} {
		if got := diffOf(t, toolOf(loop), toolOf(loop)); len(got) > 0 {
			t.Errorf("%s: %v", loop, got)
		}
		diffOf(t, toolOf(loop), toolOf(`{"type":"object"}`))
		diffOf(t, toolOf(`{"type":"object"}`), toolOf(loop))
	}
	// Each definition uses the next twice: 2^40 places if all were visited.
	wide := func(leaf string) string {
		var b strings.Builder
		for i := range 40 {
			fmt.Fprintf(&b, `"D%d":{"properties":{"l":{"$ref":"#/$defs/D%d"},"r":{"anyOf":[{"$ref":"#/$defs/D%d"},{"type":"string"}]}}},`, i, i+1, i+1)
		}
		return toolOf(`{"$ref":"#/$defs/D0","$defs":{` + b.String() + `"D40":` + leaf + `}}`)
	}
	if got := diffOf(t, wide(`{}`), wide(`{"type":"string"}`)); len(got) == 0 || got[0].Class != Breaking {
		t.Errorf("%v", got)
	}
}
