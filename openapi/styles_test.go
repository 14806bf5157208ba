package openapi

import (
	"fmt"
	"io"
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
		{"header", "pipeDelimited", "false", "array", list, "x,1|y z"}, // Swagger 2.0: collectionFormat
		{"header", "spaceDelimited", "false", "array", list, "x,1 y z"},
		{"path", "pipeDelimited", "false", "array", list, "x%2C1%7Cy%20z"},
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

// TestFormFieldsArriveAsTheDocumentSays does the same for the fields of forms: what
// the encoding of OpenAPI 3.1 and 3.0 and the collectionFormat of Swagger 2.0 say.
func TestFormFieldsArriveAsTheDocumentSays(t *testing.T) {
	t.Parallel()
	const list, object = `["x,1","y z"]`, `{"k":"v 1","n":{"m":[1,2],"o":[{"q":1},{"q":2}]}}`
	const urlencoded, multipart = "application/x-www-form-urlencoded", "multipart/form-data"
	rows := []struct{ version, mediaType, field, typ, argument, want string }{
		{"2.0", urlencoded, "", "array", list, "p=x%2C1,y%20z"},
		{"2.0", urlencoded, "csv", "array", list, "p=x%2C1,y%20z"},
		{"2.0", urlencoded, "multi", "array", list, "p=x%2C1&p=y%20z"},
		{"2.0", urlencoded, "ssv", "array", list, "p=x%2C1%20y%20z"},
		{"2.0", urlencoded, "tsv", "array", list, "p=x%2C1%09y%20z"},
		{"2.0", urlencoded, "pipes", "array", list, "p=x%2C1%7Cy%20z"},
		{"2.0", multipart, "", "array", list, "p:x,1,y z"},
		{"2.0", multipart, "multi", "array", list, "p:x,1 p:y z"},
		{"2.0", multipart, "tsv", "array", list, "p:x,1\ty z"},
		{"2.0", multipart, "pipes", "array", list, "p:x,1|y z"},
		{"3.1.0", urlencoded, "{}", "array", list, "p=x%2C1&p=y%20z"},
		{"3.1.0", urlencoded, "{style: form, explode: false}", "array", list, "p=x%2C1,y%20z"},
		{"3.1.0", urlencoded, "{style: pipeDelimited}", "array", list, "p=x%2C1%7Cy%20z"},
		{"3.1.0", urlencoded, "{}", "object", `{"k":"v 1"}`, "p=%7B%22k%22%3A%22v%201%22%7D"},
		{"3.1.0", urlencoded, "{style: form}", "object", `{"k":"v 1","n":{"m":1}}`, "k=v%201&n=%7B%22m%22%3A1%7D"},
		{"3.1.0", urlencoded, "{style: deepObject}", "object", object, "p%5Bk%5D=v%201&p%5Bn%5D%5Bm%5D%5B%5D=1&p%5Bn%5D%5Bm%5D%5B%5D=2&p%5Bn%5D%5Bo%5D%5B0%5D%5Bq%5D=1&p%5Bn%5D%5Bo%5D%5B1%5D%5Bq%5D=2"},
		{"3.1.0", urlencoded, "{style: deepObject}", "array", `[{"q":1},{"q":2,"r":null}]`, "p%5B0%5D%5Bq%5D=1&p%5B1%5D%5Bq%5D=2"},
		{"3.1.0", multipart, "{}", "array", list, "p:x,1 p:y z"},
		{"3.1.0", multipart, "{style: form, explode: false}", "array", list, "p:x,1,y z"},
		{"3.1.0", multipart, "{style: deepObject}", "object", object, "p[k]:v 1 p[n][m][]:1 p[n][m][]:2 p[n][o][0][q]:1 p[n][o][1][q]:2"},
		{"3.1.0", multipart, "{style: form}", "object", `{"k":"v 1","n":{"m":1}}`, `k:v 1 n:{"m":1}`},
		{"3.1.0", urlencoded, "{contentType: application/json}", "array", list, "p=%5B%22x%2C1%22%2C%22y%20z%22%5D"},
		{"3.1.0", multipart, "{}", "string, format: binary", `"aGk="`, "p(application/octet-stream):hi"},
		{"3.1.0", multipart, "{contentType: image/png}", "array, items: {$ref: '#/components/schemas/File'}", `["aGk=","eW8="]`, "p(image/png):hi p(image/png):yo"},
		{"3.1.0", multipart, "{}", "[object, 'null'], anyOf: [{type: string, format: binary}, {type: 'null'}]", `"aGk="`, "p(application/octet-stream):hi"},
		{"3.1.0", multipart, "{}", "string, format: binary}}, additionalProperties: true, properties: {p: {type: string, format: binary", `"aGk="`, "p(application/octet-stream):hi"},
		{"3.1.0", multipart, "{contentType: application/json}", "array", list, `p(application/json):["x,1","y z"]`},
		{"3.0.3", multipart, "{style: form, explode: false}", "array", list, "p:x,1 p:y z"},
		{"3.0.3", "application/json: {schema: {properties: {p: {type: array}}}}, " + urlencoded, "{style: form, explode: false}", "array", list + `,"content_type":"` + urlencoded + `"`, "p=x%2C1,y%20z"},
		{"3.0.3", urlencoded, "{style: form, explode: false}", "array", list, "p=x%2C1,y%20z"},
	}
	docs := map[string]*strings.Builder{}
	for i, r := range rows {
		doc := docs[r.version]
		if doc == nil {
			doc = &strings.Builder{}
			docs[r.version] = doc
			key := "openapi"
			if r.version == "2.0" {
				key = "swagger"
			}
			fmt.Fprintf(doc, "%s: '%s'\ninfo: {title: Shop, version: '1'}\nx-mcp: {server: {name: shop}, env-prefix: SHOP}\ncomponents: {schemas: {File: {type: string, format: binary}}}\npaths:\n", key, r.version)
		}
		if r.version == "2.0" {
			fmt.Fprintf(doc, "  /op%d: {post: {operationId: op%d, consumes: [%s], parameters: [{name: p, in: formData, type: %s, items: {type: string}, collectionFormat: %q}]}}\n", i, i, r.mediaType, r.typ, r.field)
			continue
		}
		fmt.Fprintf(doc, "  /op%d: {post: {operationId: op%d, requestBody: {content: {%s: {schema: {properties: {p: {type: %s}}}, encoding: {p: %s}}}}}}\n", i, i, r.mediaType, r.typ, r.field)
	}
	seen := make(chan string, len(rows))
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- formOf(r) }))
	defer api.Close()
	for version, doc := range docs {
		bin := builtGateway(t, doc.String())
		for i, r := range rows {
			if r.version != version {
				continue
			}
			arguments := `{"p":` + r.argument + `}`
			if strings.Contains(r.typ, "additionalProperties") { // then the body is one argument
				arguments = `{"body":` + arguments + `}`
			}
			call := exec.Command(bin, "call", fmt.Sprintf("op%d", i), "--json", arguments)
			call.Env = append(os.Environ(), "SHOP_API_URL="+api.URL)
			out, err := call.CombinedOutput()
			got := ""
			select {
			case got = <-seen:
			default: // nothing was sent
			}
			if err != nil || got != r.want {
				t.Errorf("%s %s %s %s: %q, want %q (%v %s)", r.version, r.mediaType, r.field, r.typ, got, r.want, err, out)
			}
		}
	}
}

// formOf is a form as it arrived: a urlencoded one to the letter, a multipart one as
// name:value of each part.
func formOf(r *http.Request) string {
	parts, err := r.MultipartReader()
	if err != nil {
		body, _ := io.ReadAll(r.Body)
		return string(body)
	}
	var out []string
	for {
		part, err := parts.NextPart()
		if err != nil {
			return strings.Join(out, " ")
		}
		value, _ := io.ReadAll(part)
		name := part.FormName()
		if typ := part.Header.Get("Content-Type"); typ != "" {
			name += "(" + typ + ")"
		}
		out = append(out, name+":"+string(value))
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
