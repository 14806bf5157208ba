package gateway_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	apierrors "github.com/postern-mcp/postern/errors"
	"github.com/postern-mcp/postern/gateway"
	"github.com/postern-mcp/postern/gateway/catalog"
)

// FuzzArguments: whatever the arguments of whatever stock tool, the call ends in
// a result, and the request that is made, if any, is the tool's own.
func FuzzArguments(f *testing.F) {
	for tool, seed := range []string{
		`{"name":"n","queue":"q","args":{"a":[1.0,1e400,null]},"project":"p"}`,
		`{"name":"../fires","project":".."}`,
		``,
		`{"project":"%2e%2e%2fother"}`,
		`{"queue":"a/../../b","payload":null,"project":"p?x#y"}`,
		`{"execution_id":"a\\..\\b","project":"p"}`,
		`null`,
		`{"request_id":"a&b=c\r\nX: y","level":"info","limit":1E2,"project":"\u002e"}`,
		`{"name":"folder/name","project":"\ud800"}`,
		`{"name":"` + strings.Repeat("%25", 40) + `2e","project":"p"}`,
		`{"trigger_id":"..;x","outcome":"executed","external_ref":"` + "\xff" + `"}`,
		`{"trigger_id":"ａ．．","trigger_\u0069d":"b"}`,
	} {
		f.Add(uint8(tool), []byte(seed))
	}
	upstream := newAPI(f, respond(200, "application/json", `{}`))
	g := newGateway(f, upstream.URL, catalog.Gateway)
	who := caller(f)
	f.Fuzz(func(t *testing.T, index uint8, arguments []byte) {
		tool := g.Tools()[int(index)%len(g.Tools())]
		r := g.Call(context.Background(), who, tool, arguments)
		if text := r.AppendText(nil); !utf8.Valid(text) {
			t.Fatalf("the result is not UTF-8: %q", text)
		}
		got := upstream.one(t)
		if got == (received{}) {
			if r.Err == nil {
				t.Fatal("a result without a request")
			}
			return
		}
		if r.Err != nil && r.Err.Code == apierrors.ProjectRequired {
			tool, _ = g.Tool("list_projects") // asked for candidates
		} else if r.Err != nil {
			t.Fatalf("sent %+v and failed: %s", got, r.Err.Envelope())
		}
		if got.method != tool.Operation.Method || !belongs(tool, strings.TrimPrefix(got.path, "/v1")) {
			t.Fatalf("%s %q is not %s %q", got.method, got.path, tool.Operation.Method, tool.Operation.Path)
		}
		if _, err := url.ParseQuery(got.query); err != nil || !utf8.ValidString(got.body) || got.mode != "" {
			t.Fatalf("sent %+v", got)
		}
	})
}

// belongs compares path with the tool's template on its own account: segment by
// segment, where a parameter stands for anything that no server takes for a dot
// segment.
func belongs(tool *gateway.Tool, path string) bool {
	template, segments := strings.Split(tool.Operation.Path, "/"), strings.Split(path, "/")
	if len(template) != len(segments) {
		return false
	}
	for i, want := range template {
		if !strings.HasPrefix(want, "{") {
			if want != segments[i] {
				return false
			}
			continue
		}
		value := segments[i]
		for range 20 {
			for _, part := range strings.FieldsFunc(value, func(r rune) bool { return r == '/' || r == '\\' }) {
				if part == "." || part == ".." {
					return false
				}
			}
			decoded, err := url.PathUnescape(value)
			if err != nil || decoded == value {
				break
			}
			value = decoded
		}
		if value == "" {
			return false
		}
	}
	return true
}

func BenchmarkCall(b *testing.B) {
	record := `{"id":"7f9c24e8","at":"2026-01-02T03:04:05Z","outcome":"delivered","execution_id":null,"attempts":1,"error":"a \"quoted\" thing"}`
	for name, size := range map[string]int{"1KB": 1 << 10, "16KB": 16 << 10} {
		body := "[" + strings.Repeat(record+",", size/len(record)) + record + "]"
		for kind, body := range map[string]string{"compact": body, "indented": strings.ReplaceAll(body, `,"`, ",\n  \"")} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				upstream := newAPI(b, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					_, _ = w.Write([]byte(body))
				})
				g := newGateway(b, upstream.URL, catalog.Gateway)
				tool, _ := g.Tool("read_queue_trigger_fires")
				who := caller(b)
				b.ReportAllocs()
				for b.Loop() {
					if r := g.Call(b.Context(), who, tool, []byte(`{"name":"folder/name","project":"mcp-lab"}`)); r.Err != nil {
						b.Fatal(r.Err)
					}
				}
			})
		}
	}
}
