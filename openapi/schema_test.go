package openapi

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// published converts a schema given as YAML within a document of components.
func published(t *testing.T, components, schema string) string {
	t.Helper()
	d, err := Parse([]byte("openapi: 3.1.0\ncomponents: {schemas: {"+components+"}}\n"), "doc")
	if err != nil {
		t.Fatal(err)
	}
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(schema), &n); err != nil {
		t.Fatal(err)
	}
	s := &schemas{doc: d}
	return string(appendJSON(nil, s.settle(s.convert(n.Content[0]))))
}

func TestSchemasAreConverted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, components, in, want string }{
		{"plain", "", `{type: integer, minimum: 1, maximum: 10, x-foo: 1, example: 3}`, `{"type":"integer","minimum":1,"maximum":10}`},
		{"numbers as spelled", "", `{type: number, minimum: 1.0, maximum: 9007199254740993}`, `{"type":"number","minimum":1.0,"maximum":9007199254740993}`},
		{"3.0 nullable", "", `{type: string, nullable: true}`, `{"type":["string","null"]}`},
		{"3.0 nullable enum", "", `{type: string, enum: [a], nullable: true}`, `{"type":["string","null"],"enum":["a",null]}`},
		{"3.0 exclusive bound", "", `{type: integer, minimum: 3, exclusiveMinimum: true}`, `{"type":"integer","exclusiveMinimum":3}`},
		{"nullable reference", "A: {type: string}", `{allOf: [{$ref: '#/components/schemas/A'}], nullable: true}`, `{"anyOf":[{"type":"string"},{"type":"null"}]}`},
		{"described reference", "A: {type: string, description: old}", `{allOf: [{$ref: '#/components/schemas/A'}], description: new}`, `{"type":"string","description":"new"}`},
		{"read-only in one branch, required in another", "A: {type: object, properties: {id: {type: string, readOnly: true}, n: {type: string}}}",
			`{allOf: [{$ref: '#/components/schemas/A'}, {required: [id, n]}]}`,
			`{"type":"object","properties":{"n":{"type":"string"}},"required":["id","n"]}`},
		{"discriminator", "A: {type: object, properties: {kind: {type: string}}}, B: {type: object, properties: {kind: {const: b}}}, C: {type: object}",
			`{oneOf: [{$ref: '#/components/schemas/A'}, {$ref: '#/components/schemas/B'}, {$ref: '#/components/schemas/C'}], discriminator: {propertyName: kind, mapping: {a: '#/components/schemas/A', b: B, c1: C, c2: C}}}`,
			`{"anyOf":[{"type":"object","properties":{"kind":{"type":"string"}},"description":"Chosen by kind: \"a\"."},` +
				`{"type":"object","properties":{"kind":{"const":"b"}}},{"type":"object","description":"Chosen by kind: \"c1\" or \"c2\"."}]}`},
		{"a base that lists its subtypes", "P: {type: object, properties: {kind: {type: string}}, oneOf: [{$ref: '#/components/schemas/D'}, {$ref: '#/components/schemas/E'}]}, D: {allOf: [{$ref: '#/components/schemas/P'}, {type: object, minProperties: 1, properties: {bark: {}}}]}, E: {type: object, maxProperties: 3}",
			`{$ref: '#/components/schemas/P'}`,
			`{"type":"object","properties":{"kind":{"type":"string"}},"anyOf":[{"allOf":[{"type":"object","properties":{"bark":{}},"minProperties":1}]},{"type":"object","maxProperties":3}]}`},
		{"a subtype whose base lists it", "P: {type: object, properties: {kind: {type: string}}, oneOf: [{$ref: '#/components/schemas/D'}]}, D: {allOf: [{$ref: '#/components/schemas/P'}, {type: object, minProperties: 1, properties: {bark: {}}}]}",
			`{$ref: '#/components/schemas/D'}`,
			`{"allOf":[{"type":"object","properties":{"kind":{"type":"string"}}},{"type":"object","properties":{"bark":{}},"minProperties":1}]}`},
		{"two names for each other", "A: {$ref: '#/components/schemas/B'}, B: {$ref: '#/components/schemas/A'}", `{properties: {x: {$ref: '#/components/schemas/A'}}}`, `{"properties":{"x":{}}}`},
		{"a list of itself", "A: {type: array, items: {$ref: '#/components/schemas/A'}, allOf: [{$ref: '#/components/schemas/A'}]}", `{$ref: '#/components/schemas/A'}`,
			`{"$ref":"#/$defs/A","$defs":{"A":{"type":"array","items":{"$ref":"#/$defs/A"}}}}`},
		{"multipleOf that is none", "", `{type: number, multipleOf: 0, minimum: 0}`, `{"type":"number","minimum":0}`},
		{"not what is only half known", "", `{type: string, not: {pattern: '^(?!x)y'}}`, `{"type":"string"}`},
		{"not one of", "", `{not: {oneOf: [{type: string}]}}`, `{}`},
		{"not", "", `{not: {type: string, minLength: 1}}`, `{"not":{"type":"string","minLength":1}}`},
		{"pattern that is left out beside what is closed", "", `{type: object, patternProperties: {'^(?!x-)': {}}, additionalProperties: false}`, `{"type":"object","patternProperties":{}}`},
		{"additionalProperties that says nothing", "", `{type: object, additionalProperties: }`, `{"type":"object"}`},
		{"numbers that are meant as text", "", `{type: string, enum: [1, 2.0, yes]}`, `{"type":"string","enum":["1","2.0","yes"]}`},
		{"text that is meant as numbers", "", `{type: integer, enum: ['1', '2', x]}`, `{"type":"integer","enum":[1,2]}`},
		{"values of a list's elements", "", `{type: array, items: {type: string}, enum: [a, b]}`, `{"type":"array","items":{"type":"string","enum":["a","b"]}}`},
		{"values of no type", "", `{type: object, enum: [a]}`, `{"type":"object"}`},
		{"nullable constant", "", `{type: string, const: x, nullable: true}`, `{"type":["string","null"],"enum":["x",null]}`},
		{"nullable alternatives", "", `{type: object, nullable: true, description: d, oneOf: [{required: [a]}]}`, `{"description":"d","anyOf":[{"type":"object","anyOf":[{"required":["a"]}]},{"type":"null"}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, published(t, c.components, c.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTextIsCutAtASentence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{" a\n  b ", 10, "a b"},
		{"One two. Three four.", 12, "One two."},
		{"Onetwothree four five", 16, "Onetwothree…"},
		{"ééééééé", 7, "ééééééé"},
	} {
		if got := shortenText(c.in, c.limit); got != c.want {
			t.Errorf("%q at %d: %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}
