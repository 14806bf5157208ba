package openapi

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const shop = minimal + `paths:
  /things:
    get: {operationId: listThings, summary: List things, tags: [things], responses: {"200": {description: Things.}}}
    post:
      operationId: searchThings
      tags: [search]
      requestBody: {$ref: 'bodies.yaml#/Search'}
      responses: {"200": {description: Things.}}
  /internal: {get: {operationId: internal, tags: [ops]}}
`

// Not parallel: oapi-codegen keeps global state.
func TestNewWritesAModuleThatBuildsTestsAndRegenerates(t *testing.T) {
	dir := folderOf(t, map[string]string{
		"shop.yaml": shop, "bodies.yaml": "Search:\n  content: {application/json: {schema: {type: object, properties: {text: {type: string}}}}}\n",
	})
	spec, out := filepath.Join(dir, "shop.yaml"), filepath.Join(dir, "gateway")
	runtime, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	p := Project{Spec: spec, Out: out, Module: "example.com/shop", Runtime: runtime, Filter: Filter{ExcludeOps: []string{"internal"}}}
	report, err := p.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.Tools != 2 || len(report.LeftOut) != 0 {
		t.Errorf("%+v", report)
	}
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = out
		cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=")
		b, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, b)
		}
		return string(b)
	}
	run("go", "vet", "./...")
	run("go", "test", "./...")
	if got := run("make", "generate"); !strings.Contains(got, ", 0 changed") {
		t.Errorf("make generate changed something:\n%s", got)
	}
	run("make", "check")
	overlay, err := os.ReadFile(filepath.Join(out, "openapi", "overlay.yaml"))
	if err != nil || !strings.Contains(string(overlay), "search_things (POST /things): a POST that may only read") {
		t.Errorf("%v\n%s", err, overlay)
	}
	readme, err := os.ReadFile(filepath.Join(out, "README.md"))
	if err != nil || !strings.Contains(string(readme), "[`search_things`](docs/tools/search_things.md)") {
		t.Errorf("%v\n%s", err, readme)
	}
	if _, err := p.Create(t.Context()); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a second time: %v", err)
	}
}

// TestNewBearsAwkwardProjects has all at once: a document that refers to itself by its
// name, an overlay that refers to a file, a title that is no comment, a tag and a
// folder that shell and make would misread, a base that lists its subtypes.
func TestNewBearsAwkwardProjects(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b#c$d")
	out := filepath.Join(dir, "gateway")
	writeFiles(t, dir, map[string]string{
		"api.yaml": `openapi: 3.1.0
info: {title: "Test\n//go:generate false\ndata", version: '1'}
paths:
  /a: {get: {operationId: a, tags: [C# $API's], parameters: [{$ref: 'api.yaml#/components/parameters/P'}]}}
  /b: {post: {operationId: b, tags: [C# $API's], requestBody: {content: {application/json: {schema: {$ref: 'api.yaml#/components/schemas/Pet'}}}}}}
components:
  parameters: {P: {name: p, in: query, schema: {type: integer}}}
  schemas:
    Pet: {type: object, properties: {kind: {type: string}}, oneOf: [{$ref: '#/components/schemas/Dog'}], discriminator: {propertyName: kind, mapping: {dog: '#/components/schemas/Dog'}}}
    Dog: {allOf: [{$ref: '#/components/schemas/Pet'}, {type: object, properties: {bark: {type: boolean}}}]}
`,
		"overlay.yaml":    "overlay: 1.0.0\ninfo: {title: o, version: '1'}\nactions:\n  - target: $.paths['/a'].get.parameters\n    update: {$ref: 'extra/more.yaml#/Q'}\n",
		"extra/more.yaml": "Q: {name: q, in: query, schema: {type: boolean}}\n",
	})
	runtime, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "run time")
	if err := os.Symlink(runtime, link); err != nil {
		t.Fatal(err)
	}
	p := Project{
		Spec: filepath.Join(dir, "api.yaml"), Overlay: filepath.Join(dir, "overlay.yaml"), Out: out, Module: "example.com/shop", Runtime: link,
		Filter: Filter{IncludeTags: []string{"C# $API's"}},
	}
	report, err := p.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.Tools != 2 || len(report.LeftOut) != 0 || report.Dangling != nil {
		t.Errorf("%+v", report)
	}
	contract, err := os.ReadFile(filepath.Join(out, "contracts", "1.0.0", "mcp-tools.json"))
	for _, want := range []string{`"p"`, `"q"`, `"kind"`} {
		if err != nil || !strings.Contains(string(contract), want) {
			t.Errorf("%v, no %s in %s", err, want, contract)
		}
	}
	for _, args := range [][]string{{"go", "generate", "./..."}, {"go", "test", "./..."}, {"make", "generate"}, {"make", "check"}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = out
		cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=")
		if b, err := cmd.CombinedOutput(); err != nil || args[1] == "generate" && args[0] == "make" && !strings.Contains(string(b), ", 0 changed") {
			t.Fatalf("%v: %v\n%s", args, err, b)
		}
	}
}

func TestNewRefusesADocumentWithoutTools(t *testing.T) {
	t.Parallel()
	spec := filepath.Join(t.TempDir(), "hooks.yaml")
	if err := os.WriteFile(spec, []byte(minimal+"paths: {pets: {get: {operationId: a}}}\nwebhooks: {x: {post: {}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Project{Spec: spec, Out: filepath.Join(t.TempDir(), "out"), Module: "example.com/x", Runtime: ".."}.Create(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no operation can become a tool; the first of 1: pets: the path does not begin with a slash") {
		t.Error(err)
	}
}

func TestNewRefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, p := range map[string]Project{
		"module: malformed":    {Out: filepath.Join(dir, "new"), Module: "not a path", Runtime: ".."},
		"the runtime's own":    {Out: filepath.Join(dir, "new"), Module: runtimeModule, Runtime: ".."},
		"is not empty":         {Out: dir, Module: "example.com/x", Runtime: ".."},
		"is not a checkout of": {Out: filepath.Join(dir, "new"), Module: "example.com/x", Runtime: dir},
		"name a checkout of":   {Out: filepath.Join(dir, "new"), Module: "example.com/x", Runtime: filepath.Join(dir, "none")},
	} {
		if _, err := p.Create(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
		t.Error("something was written")
	}
}

// What one credential, one method or one name cannot do is not half done.
func TestWhatCannotBeServedIsSaid(t *testing.T) {
	t.Parallel()
	a := understood(t, minimal+`paths:
  /a: {get: {operationId: ゲット}, trace: {operationId: t}, query: {operationId: q}, additionalOperations: {COPY: {}}}
  "/q?x={y}": {get: {operationId: bad, parameters: [{name: y, in: path, required: true}]}}
  /readme: {get: {operationId: README, security: [{a: [], b: []}, {b: [s]}], parameters: [{name: Host, in: header}, {name: Cookie, in: header}]}}
  /files:
    post:
      operationId: up
      requestBody: {content: {multipart/form-data: {schema: {type: object, properties: {fs: {type: array, items: {type: string, format: binary}}}}}}}
components: {securitySchemes: {a: {type: apiKey, in: header, name: X-A}, b: {type: http, scheme: bearer}}}
`)
	names := map[string]*tool{}
	for _, tool := range a.tools {
		names[tool.name] = tool
	}
	if len(names) != 3 || names["get_a"] == nil || names["readme_tool"] == nil || len(a.left) != 4 {
		t.Fatalf("tools %v, left out %v", names, a.left)
	}
	if readme := names["readme_tool"]; readme.auth.kind != "Bearer" || len(readme.args) != 0 {
		t.Errorf("%+v %d arguments", readme.auth, len(readme.args))
	}
	want := `{"type":"object","properties":{"fs":{"type":["array","null"],"items":{"type":"string","contentEncoding":"base64"}}},"additionalProperties":false}`
	if got := string(appendJSON(nil, names["up"].inputSchema)); got != want || !names["up"].body.parts[0].file {
		t.Errorf("%s", got)
	}
}

func TestFilesOutsideTheDocumentsFolderAreNotRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret.yaml")
	if err := os.Mkdir(filepath.Join(dir, "api"), 0o700); err != nil {
		t.Fatal(err)
	}
	doc := filepath.Join(dir, "api", "doc.yaml")
	for path, data := range map[string]string{
		secret: "s: {type: string, description: hush}\n",
		doc:    op("operationId: a, parameters: [{name: q, in: query, schema: {$ref: '../secret.yaml#/s'}}]"),
	} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Load(doc, "")
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.api()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(appendJSON(nil, a.tools[0].inputSchema)); strings.Contains(got, "hush") {
		t.Error(got)
	}
}

func TestTheReportNamesWhatItCosts(t *testing.T) {
	t.Parallel()
	d, err := Parse([]byte(minimal+"paths:\n  /a: {get: {operationId: a, deprecated: true, summary: Old, servers: [{url: https://other.example.com}]}, delete: {operationId: b, security: [{key: []}], parameters: [{name: x, in: query, style: odd}]}}\ncomponents: {securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}}\n"), "doc")
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Report()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	r.Print(&b)
	for _, want := range []string{"operations     2", "tools          1", "DELETE /a: line", `has the style "odd"`, "no credential  1 (a)", "own servers    1 (a): their requests go to the one URL", "destructive    none"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	if about := understood(t, minimal+"paths:\n  /a: {get: {operationId: a, deprecated: true, summary: Old}}\n").tools[0].about; about != "Deprecated. Old" {
		t.Error(about)
	}
	if r.Tokens != r.Costs[0].Tokens || r.Tokens == 0 {
		t.Errorf("%+v", r)
	}
}
