package openapi

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func stock(t *testing.T) *Document {
	t.Helper()
	d, err := Load("control-plane.yaml", "")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Not parallel: oapi-codegen keeps global state.
func TestTheDerivedFilesInTheRepositoryAreUpToDate(t *testing.T) {
	files, err := stock(t).Generate("..")
	if err != nil {
		t.Fatal(err)
	}
	changes, err := Stale("..", files)
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) > 0 {
		t.Errorf("run make generate: %v", changes)
	}
}

func TestGeneratingTwiceGivesTheSameBytes(t *testing.T) {
	dir := moduleDir(t)
	first, err := stock(t).Generate(dir)
	if err != nil {
		t.Fatal(err)
	}
	second, err := stock(t).Generate(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
}

func TestTheOrderOfPathsDoesNotReachTheContract(t *testing.T) {
	const a, b = "  /a: {get: {operationId: getA, responses: {}}}\n", "  /b: {get: {operationId: getB, responses: {}}}\n"
	one, err := understood(t, minimal+"paths:\n"+a+b).contractFile()
	if err != nil {
		t.Fatal(err)
	}
	other, err := understood(t, minimal+"paths:\n"+b+a).contractFile()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one, other) {
		t.Errorf("%s\n%s", one, other)
	}
}

func TestWriteMendsWhatIsMissingStaleOrOrphaned(t *testing.T) {
	dir := moduleDir(t)
	files, err := stock(t).Generate(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Write(dir, files); err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{
		"apiclient/client.gen.go": "stale", "apiclient/old.gen.go": "orphan", "apiclient/mine.go": "package apiclient",
		"docs/tools/old_tool.md": "orphan", "contracts/1.1.0/extra.json": "{}", "docs/mine.md": "mine",
	} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "docs/tools/read_logs.md")); err != nil {
		t.Fatal(err)
	}
	want := []Change{
		{"apiclient/client.gen.go", "stale"}, {"apiclient/old.gen.go", "orphaned"}, {"contracts/1.1.0/extra.json", "orphaned"},
		{"docs/tools/old_tool.md", "orphaned"}, {"docs/tools/read_logs.md", "missing"},
	}
	changes, err := Stale(dir, files)
	if diff := cmp.Diff(want, changes); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := Write(dir, files); err != nil {
		t.Fatal(err)
	}
	if changes, err := Stale(dir, files); err != nil || len(changes) > 0 {
		t.Errorf("after Write: %v %v", changes, err)
	}
	for _, kept := range []string{"apiclient/mine.go", "docs/mine.md"} {
		if _, err := os.Stat(filepath.Join(dir, kept)); err != nil {
			t.Errorf("Write touched a file that is not derived: %v", err)
		}
	}
}

func TestWriteCannotLeaveTheFolder(t *testing.T) {
	dir, outside := moduleDir(t), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "apiclient")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"../escaped", "apiclient/client.gen.go"} {
		if _, err := Write(dir, []File{{path, []byte("x")}}); err == nil {
			t.Errorf("%s was written", path)
		}
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
}

func TestTheReadmeTableIsReplacedBetweenItsMarkers(t *testing.T) {
	dir := moduleDir(t)
	before, after := "# Shop\n\n", "\n\nmore\n"
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte(before+readmeBegin+"\nold\n"+readmeEnd+after), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := stock(t).Generate(dir)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(files, func(f File) bool { return f.Path == "README.md" })
	got := string(files[i].Data)
	if !strings.HasPrefix(got, before+readmeBegin) || !strings.HasSuffix(got, readmeEnd+after) || strings.Contains(got, "old") || !strings.Contains(got, "`trigger.inspect`") {
		t.Errorf("%s", got)
	}
}

// hostile is a document whose every string tries to end the Go literal, the
// comment, the table or the identifier it comes to stand in.
const hostile = "openapi: 3.1.0\n" + `info: {title: "x", version: "1"}
servers: [{url: /v1}]
x-mcp: {server: {name: evil, title: "t` + "`" + `*/\n\"", instructions: "i\"\n}"}, env-prefix: EVIL}
paths:
  "/a/{type}/{r}/{encode}/{err}/%2e%2e/x":
    post:
      operationId: "x\"; import \"os"
      summary: "*/ func init() { panic(1) } /* | <script>"
      description: "line\nfunc init() {}\n"
      parameters:
        - {name: type, in: path, required: true, schema: {type: string}}
        - {name: r, in: path, required: true, schema: {type: string}}
        - {name: encode, in: path, required: true, schema: {type: array, items: {type: string}}}
        - {name: err, in: path, required: true, schema: {type: string}}
        - {name: ctx, in: query, schema: {type: string}, x-go-name: "A string; import \"os\"", x-go-type: os.File}
        - {name: Ctx, in: query, schema: {type: string, description: "` + "`" + `\"%s%!"}}
        - {name: params, in: header, schema: {type: string}}
      requestBody:
        content:
          application/json:
            schema:
              type: object
              properties:
                "a\"b\\": {type: string, description: "\"); panic(\""}
      responses: {"200": {description: "ok\"|"}}
      x-mcp: {hints: {404: "\" + panic + \""}, redact: ["a\".b"]}
`

func TestAHostileDocumentCannotWriteCode(t *testing.T) {
	dir := moduleDir(t)
	d, err := Parse([]byte(hostile), "hostile.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files, err := d.Generate(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Write(dir, files); err != nil {
		t.Fatal(err)
	}
	compile(t, dir)
	for _, f := range files {
		if strings.HasSuffix(f.Path, ".go") && (bytes.Contains(f.Data, []byte("\nfunc init()")) || bytes.Contains(f.Data, []byte(`"os"`))) {
			t.Errorf("%s holds code of the document's:\n%s", f.Path, f.Data)
		}
	}
}

// compile builds a generated module against this checkout.
func compile(t *testing.T, dir string) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	mod = bytes.Replace(mod, []byte("module github.com/postern-mcp/postern"), []byte("module example.com/shop"), 1)
	mod, _, _ = bytes.Cut(mod, []byte("\ntool "))
	mod = append(mod, "\nrequire github.com/postern-mcp/postern v0.0.0\nreplace github.com/postern-mcp/postern => "+root+"\n"...)
	for name, data := range map[string][]byte{"go.mod": mod, "go.sum": sum} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "vet", "-mod=mod", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("what was generated does not compile: %v\n%s", err, out)
	}
}

// Names that clash with what generated code holds, or with each other.
func TestOrdinaryNamesCompile(t *testing.T) {
	dir := moduleDir(t)
	var doc strings.Builder
	doc.WriteString(minimal + "paths:\n")
	for i, id := range []string{"init", "rest", "gateway", "transport", "true", "server", "doer", "fooBar", "foo_bar", "client", "type", "Params", "String"} {
		fmt.Fprintf(&doc, "  /a%d/{r}/{encode}/{type}/{typeParam}: {post: {operationId: %q, parameters: [{name: a_b, in: query, schema: {type: array}}, {name: aB, in: query, schema: {}}, {name: X-B, in: header, schema: {type: object}}, {name: c, in: cookie, required: true, schema: {type: string}}]}}\n", i, id)
	}
	d, err := Parse([]byte(doc.String()), "names.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files, err := d.Generate(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Write(dir, files); err != nil {
		t.Fatal(err)
	}
	compile(t, dir)
}

func TestReferencesThatDoubleAtEveryLevelStaySmall(t *testing.T) {
	t.Parallel()
	var doc strings.Builder
	doc.WriteString(minimal + "paths:\n  /a: {post: {operationId: a, requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/S0'}}}}}}\ncomponents:\n  schemas:\n")
	const levels = 40
	for i := range levels {
		fmt.Fprintf(&doc, "    S%d: {type: object, properties: {a: {$ref: '#/components/schemas/S%d'}, b: {$ref: '#/components/schemas/S%d'}}}\n", i, i+1, i+1)
	}
	fmt.Fprintf(&doc, "    S%d: {type: string}\n", levels)
	if schema := input(t, doc.String()); len(schema) > 100*levels*2 {
		t.Errorf("%d bytes", len(schema))
	}
}
