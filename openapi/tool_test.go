package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"
)

// input is the published schema of a document's only tool.
func input(t *testing.T, doc string) string {
	t.Helper()
	a := understood(t, doc)
	if len(a.tools) != 1 {
		t.Fatalf("%d tools", len(a.tools))
	}
	return string(appendJSON(nil, a.tools[0].inputSchema))
}

func TestBodiesBecomeArguments(t *testing.T) {
	t.Parallel()
	body := func(schema string) string {
		return op("operationId: a, parameters: [{name: id, in: query, schema: {type: string}}], requestBody: {required: true, content: {application/json: {schema: " + schema + "}}}")
	}
	const id = `"id":{"type":["string","null"]}`
	for _, c := range []struct{ name, schema, want string }{
		{"listed properties are flattened", `{type: object, required: [a], properties: {a: {type: string}, b: {type: integer}}}`,
			`{"type":"object","properties":{"a":{"type":"string"},` + id + `,"b":{"type":["integer","null"]}},"required":["a"],"additionalProperties":false}`},
		{"a collision keeps the body whole", `{type: object, properties: {id: {type: string}}}`,
			`{"type":"object","properties":{"body":{"type":"object","properties":{"id":{"type":"string"}}},` + id + `},"required":["body"],"additionalProperties":false}`},
		{"no properties", `{type: object}`, `{"type":"object","properties":{"body":{"type":"object"},` + id + `},"required":["body"],"additionalProperties":false}`},
		{"additional properties", `{type: object, properties: {a: {}}, additionalProperties: true}`,
			`{"type":"object","properties":{"body":{"type":"object","properties":{"a":{}},"additionalProperties":true},` + id + `},"required":["body"],"additionalProperties":false}`},
		{"an array", `{type: array, items: {type: string}}`, `{"type":"object","properties":{"body":{"type":"array","items":{"type":"string"}},` + id + `},"required":["body"],"additionalProperties":false}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, input(t, body(c.schema))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOperationParametersReplaceThoseOfThePath(t *testing.T) {
	t.Parallel()
	got := input(t, minimal+`paths:
  /a/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}, {name: q, in: query, schema: {type: string}}]
    get:
      operationId: a
      parameters: [{name: q, in: query, required: true, schema: {type: integer}}, {name: Accept, in: header, schema: {type: string}}]
`)
	want := `{"type":"object","properties":{"id":{"type":"string"},"q":{"type":"integer"}},"required":["id","q"],"additionalProperties":false}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("veryLong", 10)
	a := understood(t, minimal+fmt.Sprintf(`paths:
  /a: {get: {operationId: listThings}, post: {operationId: HTTPServerID2}}
  /b: {get: {operationId: %s}, post: {x-mcp: {tool: Verbatim.Name}}}
  /c/d: {get: {}, post: {operationId: dup}, put: {operationId: dup}}
`, long))
	names := map[string]string{}
	for _, tool := range a.tools {
		names[tool.where()] = tool.name
	}
	want := map[string]string{
		"GET /a": "list_things", "POST /a": "http_server_id2",
		"POST /b": "Verbatim.Name", "GET /c/d": "get_c_d", "POST /c/d": "dup_" + hash8("post /c/d"), "PUT /c/d": "dup_" + hash8("put /c/d"),
	}
	want["GET /b"] = names["GET /b"]
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if n := names["GET /b"]; len(n) > maxToolName || !strings.HasSuffix(n, hash8(long)) || !strings.HasPrefix(n, "very_longvery_long") {
		t.Errorf("long name became %q", n)
	}
}

func TestDerivedNamesAreAlwaysAcceptable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.String().Draw(t, "operationId")
		name := shorten(snake(whole), whole, maxToolName)
		if len(name) > maxToolName || name != "" && !isToolName(name) {
			t.Fatalf("%q became %q", whole, name)
		}
		if id := camel(whole); !isIdentifier(id) {
			t.Fatalf("%q became the identifier %q", whole, id)
		}
	})
}

func TestHintsComeFromTheMethodUnlessOverridden(t *testing.T) {
	t.Parallel()
	a := understood(t, minimal+`paths:
  /a:
    get: {operationId: g}
    put: {operationId: u}
    post: {operationId: p}
    delete: {operationId: d}
    patch: {operationId: t, x-mcp: {annotations: {readOnly: true, destructive: false, idempotent: true, openWorld: false}}}
`)
	got := map[string]string{}
	for _, tool := range a.tools {
		got[tool.name] = string(appendJSON(nil, tool.annotations))
	}
	want := map[string]string{
		"g": `{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":true}`,
		"u": `{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":true}`,
		"p": `{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}`,
		"d": `{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":true}`,
		"t": `{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestServerPath(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/v1": "/v1", "/": "", "": "", "https://x.example.com": "", "https://x.example.com/api/v2/": "/api/v2",
	} {
		if got := serverPath(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// A comma in a YAML flow mapping ends a text and makes the rest of it a key.
func TestNoTextOfTheStockDocumentIsCutShort(t *testing.T) {
	t.Parallel()
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		for key, v := range members(n) {
			if v.Tag == "!!null" && strings.Contains(key, " ") {
				t.Errorf("line %d: quote the text that ends in %q", v.Line, key)
			}
		}
		for _, c := range n.Content {
			walk(c)
		}
	}
	walk(stock(t).root)
}

// The rules that every tool of the stock contract keeps, whatever is added.
func TestEveryStockToolKeepsTheRules(t *testing.T) {
	t.Parallel()
	a, err := stock(t).api()
	if err != nil {
		t.Fatal(err)
	}
	if len(a.left) > 0 {
		t.Errorf("left out: %v", a.left)
	}
	tokens := 0
	for _, tool := range a.tools {
		schema := appendJSON(nil, tool.inputSchema)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("mem:"+tool.name, doc); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Compile("mem:" + tool.name); err != nil {
			t.Errorf("%s: not a JSON Schema 2020-12: %v", tool.name, err)
		}
		var top map[string]json.RawMessage
		if err := json.Unmarshal(schema, &top); err != nil {
			t.Fatal(err)
		}
		if string(top["type"]) != `"object"` || top["anyOf"] != nil || top["oneOf"] != nil || top["allOf"] != nil {
			t.Errorf("%s: strict clients refuse %s", tool.name, schema)
		}
		if len(tool.about) < 80 || len(tool.about) > 600 {
			t.Errorf("%s: the description has %d characters; expected 80 to 600", tool.name, len(tool.about))
		}
		for _, arg := range tool.args {
			if d, ok := arg.schema.get("description"); !ok || d == "" {
				t.Errorf("%s: argument %s has no description", tool.name, arg.name)
			}
			if arg.required && arg.example == nil {
				t.Errorf("%s: required argument %s has no example", tool.name, arg.name)
			}
		}
		if tool.responses == nil {
			t.Errorf("%s: no responses", tool.name)
		}
		tokens += (len(appendJSON(nil, tool.definition())) + len(schema)) / 4
	}
	// Every conversation pays for the list: about four bytes make a token.
	const budget = 4500
	if tokens > budget {
		t.Errorf("the catalogue costs about %d tokens; the budget is %d", tokens, budget)
	}
	t.Logf("%d tools, about %d tokens", len(a.tools), tokens)
}

// What cannot be told from the argument's name alone, as real documents have it.
func TestBodiesThatAreNotWhatTheyAreCalled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ content, want string }{
		"a required property that is not listed": {
			`application/json: {schema: {type: object, properties: {a: {type: string}}, required: [a, b]}}`,
			`"body":{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"]}`},
		"a required property that only answers have": {
			`application/json: {schema: {allOf: [{type: object, properties: {a: {type: string}, id: {type: string, readOnly: true}}}, {type: object, required: [a, id]}]}}`,
			`"properties":{"a":{"type":"string"}},"required":["a"]`},
		"an object called bytes":     {`application/octet-stream: {schema: {type: object, properties: {a: {type: string}}}}`, `"a":{"type":["string","null"]}`},
		"bytes":                      {`application/octet-stream: {schema: {type: string, format: binary}}`, `"contentEncoding":"base64"`},
		"a number as text":           {`text/plain: {schema: {type: integer, minimum: 1}}`, `"body":{"type":"integer","minimum":1}`},
		"an object that is YAML":     {`application/yaml: {schema: {type: object}}`, `"body":{"type":"string"}`},
		"a text with a least length": {`text/plain: {schema: {type: string, minLength: 5}}`, `"body":{"type":"string","minLength":5}`},
	} {
		got := input(t, op("operationId: a, requestBody: {required: true, content: {"+c.content+"}}"))
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestPathsAndTheirParametersAgree(t *testing.T) {
	t.Parallel()
	a := understood(t, minimal+"paths:\n  /a/{ThingId}?x=1#part/{none}: {get: {operationId: a, parameters: [{name: thingId, in: path, required: true, schema: {type: integer}}]}}\n")
	if got := a.tools[0]; got.sent() != "/a/{ThingId}?x=1" || len(got.args) != 1 || got.args[0].name != "ThingId" || got.args[0].kind != "String" {
		t.Errorf("%s %+v", got.sent(), got.args)
	}
}
