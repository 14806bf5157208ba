package gateway_test

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postern-mcp/postern/apiclient/encode"
	"github.com/postern-mcp/postern/gateway"
)

// upload has a body in several media types.
func upload(kind gateway.BodyKind, types ...string) gateway.ToolV1 {
	body := func(name string) gateway.ArgV1 { return gateway.ArgV1{Name: name, Key: name, In: gateway.InBody} }
	args := []gateway.ArgV1{body("name"), body("tags"), body("meta"), body("file"), {Name: "content_type", Key: "content_type", In: gateway.InContentType}}
	schema := `{"type":"object","properties":{"name":{},"tags":{},"meta":{},"file":{},"content_type":{}},"additionalProperties":false}`
	if kind == gateway.WholeBody {
		args, schema = []gateway.ArgV1{body("body")}, `{"type":"object","properties":{"body":{}},"additionalProperties":false}`
	}
	tool := row("upload", http.MethodPost, "/things", schema, args...)
	tool.Body = gateway.BodyV1{Kind: kind, ContentTypes: types, Parts: []gateway.PartV1{
		{Key: "file", Style: encode.Form, Explode: true, File: true},
	}}
	return tool
}

func TestBodiesAreWrittenInTheirMediaType(t *testing.T) {
	t.Parallel()
	upstream := newAPI(t, respond(200, "application/json", `{}`))
	const form, text, bin = "application/x-www-form-urlencoded", "text/csv", "application/octet-stream"
	for _, c := range []struct {
		name, arguments   string
		kind              gateway.BodyKind
		types             []string
		contentType, body string
		pointer           string
	}{
		{name: "the default is the first", arguments: `{"name":"a b","tags":[1,2]}`, types: []string{"application/json", form}, contentType: "application/json", body: `{"name":"a b","tags":[1,2]}`},
		{name: "an argument chooses", arguments: `{"name":"a b&c","tags":[1,"x,y"],"meta":{"k":1.0},"content_type":"` + form + `"}`, types: []string{"application/json", form}, contentType: form, body: `name=a%20b%26c&tags=1&tags=x%2Cy&meta=%7B%22k%22%3A1.0%7D`},
		{name: "a file in a form is its bytes", arguments: `{"file":"/v8="}`, types: []string{form}, contentType: form, body: `file=%FE%FF`},
		{name: "a whole form", kind: gateway.WholeBody, arguments: `{"body":{"a":"1","b":[true,null]}}`, types: []string{form}, contentType: form, body: `a=1&b=true`},
		{name: "a form has no null", arguments: `{"name":null,"tags":[null,1],"file":null,"meta":{"b":null}}`, types: []string{form}, contentType: form, body: `tags=1&meta=%7B%22b%22%3Anull%7D`},
		{name: "text", kind: gateway.WholeBody, arguments: `{"body":"a,b\n1,2\n"}`, types: []string{text}, contentType: text, body: "a,b\n1,2\n"},
		{name: "binary", kind: gateway.WholeBody, arguments: `{"body":"AAEC/w=="}`, types: []string{bin}, contentType: bin, body: "\x00\x01\x02\xff"},
		{name: "an object, whatever the media type is called", kind: gateway.WholeBody, arguments: `{"body":{"a":1.0}}`, types: []string{bin}, contentType: bin, body: `{"a":1.0}`},
		{name: "a number as text", kind: gateway.WholeBody, arguments: `{"body":1.50}`, types: []string{"text/plain"}, contentType: "text/plain", body: "1.50"},
		{name: "binary without padding", kind: gateway.WholeBody, arguments: `{"body":"AAEC/w"}`, types: []string{bin}, contentType: bin, body: "\x00\x01\x02\xff"},
		{name: "a whole JSON body as it was spelled", kind: gateway.WholeBody, arguments: `{"body":[1.0, 1e2]}`, types: []string{"application/merge-patch+json"}, contentType: "application/merge-patch+json", body: `[1.0, 1e2]`},
		{name: "no base64", kind: gateway.WholeBody, arguments: `{"body":"%%%"}`, types: []string{bin}, pointer: "/body"},
		{name: "no base64 in a form", arguments: `{"file":"%%%"}`, types: []string{form}, pointer: "/file"},
		{name: "nothing to send", arguments: `{}`, types: []string{form}},
	} {
		kind := c.kind
		if kind == gateway.NoBody {
			kind = gateway.ObjectBody
		}
		g := newGateway(t, upstream.URL, gateway.CatalogV1{Tools: []gateway.ToolV1{upload(kind, c.types...)}})
		r := call(t.Context(), t, g, caller(t), "upload", c.arguments)
		if c.pointer != "" {
			if r.Err == nil || r.Err.Pointer != c.pointer {
				t.Errorf("%s: %+v", c.name, r.Err)
			}
			continue
		}
		if r.Err != nil {
			t.Errorf("%s: %v", c.name, r.Err)
			continue
		}
		got := <-upstream.requests
		if got.body != c.body || c.body != "" && got.contentType != c.contentType {
			t.Errorf("%s: %q %q, want %q %q", c.name, got.contentType, got.body, c.contentType, c.body)
		}
	}
}

func TestMultipart(t *testing.T) {
	t.Parallel()
	upstream := newAPI(t, respond(200, "application/json", `{}`))
	g := newGateway(t, upstream.URL, gateway.CatalogV1{Tools: []gateway.ToolV1{upload(gateway.ObjectBody, "multipart/form-data")}})
	if r := call(t.Context(), t, g, caller(t), "upload", `{"name":"a\r\nb: \"c\"","tags":["x","y"],"meta":{"k":1.0},"file":"/v8="}`); r.Err != nil {
		t.Fatal(r.Err)
	}
	got := <-upstream.requests
	_, params, err := mime.ParseMediaType(got.contentType)
	if err != nil {
		t.Fatal(err)
	}
	type part struct{ Name, File, Type, Body string }
	var parts []part
	for r := multipart.NewReader(strings.NewReader(got.body), params["boundary"]); ; {
		p, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part{p.FormName(), p.FileName(), p.Header.Get("Content-Type"), string(body)})
	}
	want := []part{
		{"name", "", "", "a\r\nb: \"c\""}, {"tags", "", "", "x"}, {"tags", "", "", "y"},
		{"meta", "", "application/json", `{"k":1.0}`}, {"file", "file", "application/octet-stream", "\xfe\xff"},
	}
	if diff := cmp.Diff(want, parts); diff != "" {
		t.Error(diff)
	}
}
