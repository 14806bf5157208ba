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
			`{"anyOf":[{"allOf":[{"type":"object","properties":{"kind":{"type":"string"}}},{"properties":{"kind":{"const":"a"}},"required":["kind"]}]},` +
				`{"type":"object","properties":{"kind":{"const":"b"}}},{"allOf":[{"type":"object"},{"properties":{"kind":{"enum":["c1","c2"]}},"required":["kind"]}]}]}`},
		{"reference written out", "A: {type: string, description: old}", `{$ref: '#/components/schemas/A', description: new}`, `{"type":"string","description":"new"}`},
		{"read-only left out", "", `{type: object, required: [id, name], properties: {id: {type: string, readOnly: true}, name: {type: string, writeOnly: true}}}`, `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`},
		{"pattern Go cannot compile", "", `{type: string, pattern: '^(?!x)'}`, `{"type":"string"}`},
		{"boolean schemas", "", `{type: object, properties: {a: true, b: false}}`, `{"type":"object","properties":{"a":{},"b":{"not":{}}}}`},
		{"order of properties kept", "", `{type: object, properties: {z: {}, a: {}}}`, `{"type":"object","properties":{"z":{},"a":{}}}`},
		{"one of several", "", `{oneOf: [{type: string}, {type: integer}]}`, `{"anyOf":[{"type":"string"},{"type":"integer"}]}`},
		{"one and any of several", "", `{anyOf: [{type: string}], oneOf: [{type: string}]}`, `{"anyOf":[{"type":"string"}],"oneOf":[{"type":"string"}]}`},
		{"recursion", "N: {type: object, properties: {next: {$ref: '#/components/schemas/N'}}}", `{$ref: '#/components/schemas/N'}`,
			`{"$ref":"#/$defs/N","$defs":{"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}}}}}`},
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
