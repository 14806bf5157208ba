package openapi

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// op is a document of one operation, given as YAML flow members.
func op(members string) string {
	return minimal + "paths:\n  /things:\n    post: {" + members + "}\n"
}

func TestFaultsAreNamedWithTheirPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, doc, want string }{
		{"not YAML", "a: [", "neither YAML nor JSON"},
		{"not an object", "[1]", "not an object"},
		{"lower-case prefix", "openapi: 3.1.0\nx-mcp: {env-prefix: shop}", `env-prefix is "shop"; expected capital letters`},
		{"path as name", "openapi: 3.1.0\nx-mcp: {env-prefix: A, server: {name: ../x}}", `server.name is "../x"; expected at most 40`},
		{"secret variable", "openapi: 3.1.0\nx-mcp: {env-prefix: A, server: {name: a}, default-parameters: {p: {env: A_TOKEN, missing: project_required}}}", `env is "A_TOKEN", which sounds like a secret`},
		{"credential header", "openapi: 3.1.0\nx-mcp: {env-prefix: A, server: {name: a}, default-parameters: {p: {header: Authorization, missing: project_required}}}", `header is "Authorization"; expected the name of a header that carries no credential`},
		{"injecting header", "openapi: 3.1.0\nx-mcp: {env-prefix: A, server: {name: a}, default-parameters: {p: {header: \"a: b\", missing: project_required}}}", `header is "a: b"`},
		{"odd config key", "openapi: 3.1.0\nx-mcp: {env-prefix: A, server: {name: a}, default-parameters: {p: {config: a-b, missing: project_required}}}", `config is "a-b"`},
		{"unknown root key", "openapi: 3.1.0\nx-mcp: {env-prefix: A, servers: {}}", "field servers not found"},
		{"bad version", "openapi: 3.1.0\nx-mcp: {env-prefix: A, contract-version: ../../x}", `contract-version is "../../x"; expected three numbers`},
		{"foreign variable", "openapi: 3.1.0\nx-mcp: {env-prefix: A, server: {name: a}, default-parameters: {p: {env: AWS_REGION, missing: project_required}}}", `env is "AWS_REGION"; expected a name that starts with A_`},
		{"identity", "openapi: 3.1.0\nx-mcp: {env-prefix: A, server: {name: a}, identity: who}\npaths: {}", `identity names "who", which is no tool`},
		{"unknown operation key", op("operationId: a, x-mcp: {hint: x}"), "POST /things (line"},
		{"bad code", op("operationId: a, x-mcp: {error-codes: {404: gone}}"), `error-codes maps 404 to "gone"`},
		{"bad retry", op("operationId: a, x-mcp: {retry: always}"), `retry is "always"; expected never, safe or {header: NAME}`},
		{"credential as idempotency header", op("operationId: a, x-mcp: {retry: {header: Authorization}}"), `retry is {"header":"Authorization"}; expected`},
		{"bad tool name", op("operationId: a, x-mcp: {tool: 'a b'}"), `x-mcp.tool is "a b"`},
		{"same name", minimal + "paths:\n  /a: {get: {x-mcp: {tool: x}}}\n  /b: {get: {x-mcp: {tool: x}}}\n", `GET /a and GET /b are both named "x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := fault(t, c.doc); !strings.Contains(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestAnOperationThatCannotBeExpressedStopsNoOther(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, doc, want string }{
		{"file reference", op("parameters: [{$ref: 'other.yaml#/x'}]"), `$ref "other.yaml#/x" is outside the document`},
		{"URL reference", op("parameters: [{$ref: 'https://example.com/x.yaml'}]"), "is outside the document"},
		{"dangling reference", op("parameters: [{$ref: '#/components/nope'}]"), `$ref "#/components/nope" names nothing`},
		{"circular reference", op("parameters: [{$ref: '#/paths/~1things/post/parameters/0'}]"), "references go in a circle"},
		{"bad place", op("parameters: [{name: id, in: body}]"), `"id" is in "body"; expected path, query, header or cookie`},
		{"odd style", op("parameters: [{name: id, in: query, style: fancy}]"), `"id" has the style "fancy"`},
		{"odd header", op("parameters: [{name: 'a: b', in: header}]"), `"a: b" is no name of a header`},
	} {
		a := understood(t, c.doc+"  /others:\n    get: {operationId: others}\n")
		if len(a.tools) != 1 || len(a.left) != 1 || a.left[0].Operation != "POST /things" || !strings.Contains(a.left[0].Reason, c.want) {
			t.Errorf("%s: %d tools, left out %v; want %s", c.name, len(a.tools), a.left, c.want)
		}
	}
}

func TestATemplateAndItsParametersAreMadeToAgree(t *testing.T) {
	t.Parallel()
	got := input(t, minimal+"paths:\n  /a/{id}: {get: {operationId: a, parameters: [{name: other, in: path, required: true}]}}\n")
	if want := `{"type":"object","properties":{"id":{"type":"string"}},"required":["id"],"additionalProperties":false}`; got != want {
		t.Error(got)
	}
}

func TestYAMLMergeKeysAreExpanded(t *testing.T) {
	t.Parallel()
	got := input(t, minimal+`x-base: &base {type: integer, minimum: 1}
x-more: &more {maximum: 9, minimum: 5}
paths: {/a: {get: {operationId: a, parameters: [{name: n, in: query, required: true, schema: {<<: [*base, *more], type: number}}]}}}
`)
	if want := `{"type":"object","properties":{"n":{"type":"number","minimum":1,"maximum":9}},"required":["n"],"additionalProperties":false}`; got != want {
		t.Error(got)
	}
}

func TestSizeAndDepthAreBounded(t *testing.T) {
	t.Parallel()
	deep := "openapi: 3.1.0\nx: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	if _, err := Parse([]byte(deep), "deep"); err == nil {
		t.Error("5000 levels were accepted")
	}
	// Each line refers ten times to the one before: 10^9 nodes once expanded.
	bomb := "openapi: 3.1.0\na0: &a0 x\n"
	for i := range 9 {
		prev := "*a" + string(rune('0'+i))
		bomb += "a" + string(rune('1'+i)) + ": &a" + string(rune('1'+i)) + " [" + strings.TrimSuffix(strings.Repeat(prev+",", 10), ",") + "]\n"
	}
	if _, err := Parse([]byte(bomb), "bomb"); err == nil {
		t.Error("the alias bomb was accepted")
	}
	if _, err := Parse(make([]byte, maxDocumentBytes+1), "big"); err == nil {
		t.Error("a document over the limit was accepted")
	}
}

func TestAllOfMayLeadBack(t *testing.T) {
	t.Parallel()
	a := understood(t, minimal+`paths: {/a: {post: {operationId: a, requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/A'}}}}}}}
components:
  schemas:
    A: {type: object, required: [elsewhere], properties: {q: {type: string}}, allOf: [{$ref: '#/components/schemas/B'}]}
    B: {allOf: [{$ref: '#/components/schemas/A'}]}
`)
	if len(a.tools) != 1 || !a.tools[0].body.whole {
		t.Errorf("%+v", a.tools)
	}
}

func TestServerVariablesAreFilledInOnce(t *testing.T) {
	t.Parallel()
	const paths = "paths: {/a: {get: {operationId: a}}}\n"
	head := "openapi: 3.1.0\ninfo: {title: Shop, version: '1'}\n"
	a := understood(t, head+"servers: [{url: 'https://{host}/{stage}/v{major}', variables: {host: {default: a.example}, stage: {default: live}, major: {default: 2}}}]\n"+paths)
	if a.basePath != "/live/v2" {
		t.Error(a.basePath)
	}
	var variables strings.Builder
	for i := range 64 { // filled in level by level, these make 2^64 copies
		fmt.Fprintf(&variables, "v%02d: {default: '{v%02d}{v%02d}'}, ", i, i+1, i+1)
	}
	for _, server := range []string{
		"url: 'https://a.example/{v00}', variables: {" + variables.String() + "}",
		"url: 'https://a.example/" + strings.Repeat("{v}", 1000) + "', variables: {v: {default: " + strings.Repeat("x", 1<<20) + "}}",
	} {
		if a := understood(t, head+"servers: [{"+server+"}]\n"+paths); a.basePath != "" {
			t.Errorf("%.100s", a.basePath)
		}
	}
}

func TestOverlay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, data string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	doc := write("doc.yaml", minimal+"paths:\n  /things:\n    get: {operationId: list, summary: Old}\n    delete: {operationId: wipe}\n")
	good := write("good.yaml", `overlay: 1.0.0
info: {title: o, version: "1"}
actions:
  - target: $.paths['/things'].get
    update: {summary: New, x-mcp: {tool: things.list}}
  - target: $.paths['/things'].delete
    update: {x-mcp: {expose: false}}
`)
	d, err := Load(doc, good)
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.api()
	if err != nil {
		t.Fatal(err)
	}
	if len(a.tools) != 1 || a.tools[0].name != "things.list" || a.tools[0].title != "New" {
		t.Errorf("%+v", a.tools)
	}
	lists := write("lists.yaml", minimal+`x-p: &p [{name: q, in: query}, {name: r, in: query, schema: &s {type: string}}]
paths:
  /a: {get: {operationId: a, parameters: *p}}
  /b: {get: {operationId: b, parameters: *p}}
  /c: {get: {operationId: c, parameters: [{name: s, in: query, schema: *s}]}}
`)
	changes := write("changes.yaml", `overlay: 1.0.0
info: {title: o, version: "1"}
actions:
  - {target: "$.paths['/a'].get.parameters", update: {name: new, in: query}}
  - {target: "$.paths['/b'].get.parameters", update: [{name: one, in: query}, {name: two, in: query}]}
  - {target: "$.paths['/b'].get.parameters[?@.name == 'r'].schema", update: {maxLength: 5}}
`)
	if d, err = Load(lists, changes); err != nil {
		t.Fatal(err)
	}
	if a, err = d.api(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{`"q":{},"r":{"type":["string","null"]},"new":{}}`, `"q":{},"r":{"type":["string","null"],"maxLength":5},"one":{},"two":{}}`, `"s":{"type":["string","null"]}}`} {
		if got := string(appendJSON(nil, a.tools[i].inputSchema)); !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	stale := write("stale.yaml", "overlay: 1.0.0\ninfo: {title: o, version: \"1\"}\nactions: [{target: \"$.paths['/gone'].get\", update: {summary: x}}]\n")
	if _, err := Load(doc, stale); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("an action that matches nothing must fail: %v", err)
	}
}

func TestReferencesToIdentifiersAndAnchors(t *testing.T) {
	t.Parallel()
	dir := folderOf(t, map[string]string{
		"doc.yaml": minimal + `paths:
  /a:
    post:
      operationId: a
      parameters:
        - {name: absolute, in: query, required: true, schema: {$ref: 'https://shop.example.com/schemas/size'}}
        - {name: relative, in: query, required: true, schema: {$ref: schemas/colour}}
        - {name: anchor, in: query, required: true, schema: {$ref: '#weight'}}
        - {name: inner, in: query, required: true, schema: {$ref: 'schemas/colour#/$defs/shade'}}
        - {name: elsewhere, in: query, required: true, schema: {$ref: 'other.yaml#limit'}}
        - {name: nested, in: query, required: true, schema: {$ref: '#/components/schemas/Box'}}
components:
  schemas:
    Size: {$id: 'https://shop.example.com/schemas/size', type: integer, minimum: 1}
    Colour: {$id: schemas/colour, type: string, enum: [red], $defs: {shade: {type: number}}}
    Weight: {$anchor: weight, type: number, maximum: 9}
    Box: {$id: 'https://shop.example.com/box', items: {$ref: '#/$defs/item'}, contains: {$ref: '#/components/schemas/Size'}, maxItems: 2, type: array, $defs: {item: {$ref: size2}, s: {$id: size2, type: boolean}}}
`,
		"other.yaml": "limits: {$anchor: limit, type: integer, maximum: 7}\n",
	})
	d, err := Load(filepath.Join(dir, "doc.yaml"), "")
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.api()
	if err != nil || len(a.left) > 0 {
		t.Fatal(err, a.left)
	}
	got := string(appendJSON(nil, a.tools[0].inputSchema))
	for _, want := range []string{
		`"absolute":{"type":"integer","minimum":1}`, `"relative":{"type":"string","enum":["red"]}`, `"anchor":{"type":"number","maximum":9}`,
		`"inner":{"type":"number"}`, `"elsewhere":{"type":"integer","maximum":7}`, `"nested":{"type":"array","items":{"type":"boolean"},"minItems":1,"maxItems":2}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
}

func TestFilesThatAreNoDocumentsMatterOnlyWhereTheyAreUsed(t *testing.T) {
	t.Parallel()
	dir := folderOf(t, map[string]string{
		"doc.yaml": minimal + `paths:
  /a: {get: {operationId: a, parameters: [{name: q, in: query, examples: {e: {$ref: list.json}}}]}}
  /b: {get: {operationId: b, parameters: [{$ref: list.json}]}}
  /c: {get: {operationId: c, parameters: [{$ref: gone.yaml}]}}
`,
		"list.json": "[1]",
	})
	d, err := Load(filepath.Join(dir, "doc.yaml"), "")
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.api()
	if err != nil || len(a.tools) != 1 || len(a.left) != 2 || !strings.Contains(a.left[0].Reason, "list.json: document is not an object") || !strings.Contains(a.left[1].Reason, "no such file") {
		t.Errorf("%v %+v", err, a)
	}
}

func TestWhatStandsBesideAReferenceCounts(t *testing.T) {
	t.Parallel()
	a := understood(t, minimal+`paths:
  /a: {$ref: '#/components/pathItems/P', parameters: [{name: q, in: query}], get: {operationId: a, parameters: [{$ref: '#/components/parameters/R', description: Of this one.}]}}
components:
  pathItems: {P: {post: {operationId: b, responses: {'': {description: x}, x-foo: {description: y}, 2XX: {description: z}}}}}
  parameters: {R: {name: r, in: query, description: Of all.}}
`)
	if len(a.tools) != 2 || len(a.left) != 0 {
		t.Fatalf("%+v", a)
	}
	if got := string(appendJSON(nil, a.tools[0].inputSchema)); !strings.Contains(got, `"q":{},"r":{"description":"Of this one."}`) {
		t.Error(got)
	}
	if got := string(appendJSON(nil, a.tools[1].inputSchema)); !strings.Contains(got, `"q":{}`) || len(a.tools[1].responses) != 1 {
		t.Error(got, a.tools[1].responses)
	}
}

// A chain of references costs its length, not its square.
func TestLongChainsOfReferences(t *testing.T) {
	t.Parallel()
	var doc strings.Builder
	doc.WriteString(minimal + "paths: {/a: {post: {operationId: a, requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/S0'}}}}}}}\ncomponents:\n  schemas:\n")
	const n = 20_000
	for i := range n {
		fmt.Fprintf(&doc, "    S%d: {type: object, properties: {p: {$ref: '#/components/schemas/S%d'}, q: {$ref: '#/components/schemas/S0'}}}\n", i, (i+1)%n)
	}
	start := time.Now()
	a := understood(t, doc.String())
	if took := time.Since(start); took > 20*time.Second { // a second, were the machine idle
		t.Errorf("it took %v", took)
	}
	if len(a.left) != 1 || a.left[0].Reason != "its schemas nest deeper than 1000 levels" {
		t.Errorf("%+v", a)
	}
}

func TestANameInAnotherScriptIsDescribed(t *testing.T) {
	t.Parallel()
	got := input(t, minimal+"paths: {/a: {get: {operationId: a, parameters: [{name: größe, in: query, description: In cm., schema: {type: integer}}, {name: 色, in: query}]}}}\n")
	if want := `{"type":"object","properties":{"gr__e":{"type":["integer","null"],"description":"größe: In cm."},"query":{"description":"色"}},"additionalProperties":false}`; got != want {
		t.Error(got)
	}
}

func TestSeveralCredentialsAtOnceAreReported(t *testing.T) {
	t.Parallel()
	d, err := Parse([]byte(minimal+`paths:
  /a: {get: {operationId: a, security: [{key: [], app: []}]}}
  /b: {get: {operationId: b, security: [{key: [], app: []}, {token: []}]}}
components: {securitySchemes: {key: {type: apiKey, in: header, name: K}, app: {type: apiKey, in: header, name: A}, token: {type: http, scheme: bearer}}}
`), "doc")
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Report()
	if err != nil {
		t.Fatal(err)
	}
	if len(r.PartCredential) != 1 || r.PartCredential[0] != "a" || len(r.NoCredential) != 0 {
		t.Errorf("%+v", r)
	}
	var text strings.Builder
	if r.Print(&text); !strings.Contains(text.String(), "several credentials at once are asked for") {
		t.Error(text.String())
	}
}
