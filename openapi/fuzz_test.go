package openapi

import (
	"go/parser"
	"go/token"
	"testing"

	jsonschema "github.com/postern-mcp/postern/gateway/schema"
)

// FuzzDocument reads anything as a document. Whatever becomes of it, nothing panics,
// what is published compiles, and so does what is written.
func FuzzDocument(f *testing.F) {
	f.Add([]byte(shop))
	for _, members := range []string{
		"operationId: a, requestBody: {content: {multipart/form-data: {schema: {properties: {f: {type: string, format: binary}}}, encoding: {f: {style: deepObject}}}}}",
		"operationId: b, parameters: [{name: a, in: query, schema: {oneOf: [{type: string}, {$ref: '#/paths'}]}}], security: [{x: []}]",
		"operationId: c, x-mcp: {retry: {header: Idempotency-Key}, redact: [a.b], hints: {404: x}}, responses: {4XX: {description: y}}",
	} {
		f.Add([]byte(op(members)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse(data, "fuzz")
		if err != nil {
			return
		}
		if _, err := d.Report(); err != nil {
			return
		}
		a, err := d.api()
		if err != nil || len(a.tools) == 0 {
			return
		}
		for _, tool := range a.tools {
			if _, err := jsonschema.Compile(appendJSON(nil, tool.inputSchema)); err != nil {
				t.Errorf("%s: %v\n%s", tool.name, err, appendJSON(nil, tool.inputSchema))
			}
		}
		a.projection() // names what the rows refer to
		rows, err := a.catalog("example.com/x")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "tools.gen.go", rows, parser.SkipObjectResolution); err != nil {
			t.Error(err)
		}
	})
}
