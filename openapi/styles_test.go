package openapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryStyleArrivesAsTheDocumentSays generates a gateway with one tool for
// each style, explode and type, calls every tool of the built binary and holds the
// request line, header or cookie against the tables of OpenAPI 3.1.1, "Style
// Examples", and RFC 6570.
func TestEveryStyleArrivesAsTheDocumentSays(t *testing.T) {
	const text, list, object = `"a b/ü"`, `["x,1","y z"]`, `{"k":"v 1","n":2.0}`
	rows := []struct{ in, style, explode, typ, argument, want string }{
		{"path", "simple", "false", "string", text, "a%20b%2F%C3%BC"},
		{"path", "simple", "false", "integer", `1e2`, "1e2"},
		{"path", "simple", "false", "array", list, "x%2C1,y%20z"},
		{"path", "simple", "true", "array", list, "x%2C1,y%20z"},
		{"path", "simple", "false", "object", object, "k,v%201,n,2.0"},
		{"path", "simple", "true", "object", object, "k=v%201,n=2.0"},
		{"path", "label", "false", "string", text, ".a%20b%2F%C3%BC"},
		{"path", "label", "false", "array", list, ".x%2C1,y%20z"},
		{"path", "label", "true", "array", list, ".x%2C1.y%20z"},
		{"path", "label", "false", "object", object, ".k,v%201,n,2.0"},
		{"path", "label", "true", "object", object, ".k=v%201.n=2.0"},
		{"path", "matrix", "false", "string", text, ";p=a%20b%2F%C3%BC"},
		{"path", "matrix", "false", "array", list, ";p=x%2C1,y%20z"},
		{"path", "matrix", "true", "array", list, ";p=x%2C1;p=y%20z"},
		{"path", "matrix", "false", "object", object, ";p=k,v%201,n,2.0"},
		{"path", "matrix", "true", "object", object, ";k=v%201;n=2.0"},
		{"query", "form", "true", "string", text, "p=a%20b%2F%C3%BC"},
		{"query", "form", "true", "string", `""`, "p="},
		{"query", "form", "true", "boolean", `true`, "p=true"},
		{"query", "form", "true", "number", `1.50`, "p=1.50"},
		{"query", "form", "true", "array", list, "p=x%2C1&p=y%20z"},
		{"query", "form", "true", "array", `[""]`, "p="},
		{"query", "form", "false", "array", list, "p=x%2C1,y%20z"},
		{"query", "form", "true", "object", object, "k=v%201&n=2.0"},
		{"query", "form", "false", "object", object, "p=k,v%201,n,2.0"},
		{"query", "spaceDelimited", "false", "array", list, "p=x%2C1%20y%20z"},
		{"query", "pipeDelimited", "false", "array", list, "p=x%2C1%7Cy%20z"},
		{"query", "pipeDelimited", "true", "array", list, "p=x%2C1&p=y%20z"},
		{"query", "deepObject", "true", "object", object, "p%5Bk%5D=v%201&p%5Bn%5D=2.0"},
		{"query", "deepObject", "true", "object", `{"a":{"b":[1,2]}}`, "p%5Ba%5D%5Bb%5D%5B%5D=1&p%5Ba%5D%5Bb%5D%5B%5D=2"},
		{"header", "simple", "false", "string", `"a b"`, "a b"},
		{"header", "simple", "false", "array", list, "x,1,y z"},
		{"header", "simple", "false", "object", object, "k,v 1,n,2.0"},
		{"header", "simple", "true", "object", object, "k=v 1,n=2.0"},
		{"cookie", "form", "true", "string", text, "p=a%20b%2F%C3%BC"},
		{"cookie", "form", "false", "array", list, "p=x%2C1,y%20z"},
		{"cookie", "form", "false", "object", object, "p=k,v%201,n,2.0"},
	}
	var doc strings.Builder
	doc.WriteString(minimal + "paths:\n")
	for i, r := range rows {
		path := fmt.Sprintf("/op%d/x", i)
		if r.in == "path" {
			path = fmt.Sprintf("/op%d/{p}", i)
		}
		fmt.Fprintf(&doc, "  %s: {get: {operationId: op%d, parameters: [{name: p, in: %s, required: true, style: %s, explode: %s, schema: {type: %s}}]}}\n",
			path, i, r.in, r.style, r.explode, r.typ)
	}
	bin := builtGateway(t, doc.String())
	seen := make(chan string, len(rows))
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, rest, _ := strings.Cut(strings.TrimPrefix(r.RequestURI, "/api/v2/"), "/")
		seen <- strings.Join([]string{rest, r.Header.Get("P"), r.Header.Get("Cookie")}, " ")
	}))
	defer api.Close()
	for i, r := range rows {
		want := map[string]string{"path": r.want + "  ", "query": "x?" + r.want + "  ", "header": "x " + r.want + " ", "cookie": "x  " + r.want}[r.in]
		call := exec.Command(bin, "call", fmt.Sprintf("op%d", i), "--json", `{"p":`+r.argument+`}`)
		call.Env = append(os.Environ(), "SHOP_API_URL="+api.URL)
		out, err := call.CombinedOutput()
		got := ""
		select {
		case got = <-seen:
		default: // nothing was sent
		}
		if err != nil || got != want {
			t.Errorf("%s %s explode=%s %s: %q, want %q (%v %s)", r.in, r.style, r.explode, r.typ, got, want, err, out)
		}
	}
}

// builtGateway generates and builds the gateway of a document.
func builtGateway(t *testing.T, doc string) string {
	t.Helper()
	dir := t.TempDir()
	spec, out := filepath.Join(dir, "doc.yaml"), filepath.Join(dir, "gateway")
	if err := os.WriteFile(spec, []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	runtime, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Project{Spec: spec, Out: out, Module: "example.com/shop", Runtime: runtime}).Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "shop")
	cmd := exec.Command("go", "build", "-o", bin, "./cmd/shop")
	cmd.Dir = out
	cmd.Env = append(os.Environ(), "GOPROXY=off")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	return bin
}
