package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/postern-mcp/postern/apiclient/transport"
	apierrors "github.com/postern-mcp/postern/errors"
	"github.com/postern-mcp/postern/gateway"
)

// A change that the API made must not look like one that can be repeated.
func TestAnAcceptedChangeWithAUselessAnswerIsNotRetryable(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			w.WriteHeader(http.StatusAccepted)
			_, _ = w.Write([]byte(`{"a":`))
		},
		"too slow": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
		"too large": respond(http.StatusAccepted, "application/json", `"`+strings.Repeat("x", 2000)+`"`),
		"no JSON":   respond(http.StatusAccepted, "application/json", `{"a":`),
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet} {
			t.Run(name+" "+method, func(t *testing.T) {
				t.Parallel()
				api := newAPI(t, answer)
				g := newGateway(t, api.URL, gateway.CatalogV1{Tools: []gateway.ToolV1{row("x", method, "/x", "")}}, func(_ *gateway.Options, c *transport.Config) {
					c.MaxResponseBytes, c.Timeout, c.MaxAttempts = 1000, 300*time.Millisecond, 1
				})
				e := call(t.Context(), t, g, caller(t), "x", `{}`).Err
				if e == nil || e.Delivery != apierrors.Answered {
					t.Fatalf("%+v", e)
				}
				told := !e.Retryable && strings.Contains(e.Hint, "accepted the request")
				if told != (method == http.MethodPost) {
					t.Errorf("retryable %v, status %d, hint %q", e.Retryable, e.Status, e.Hint)
				}
			})
		}
	}
}

func TestRedactionLooksIntoQuotedJSON(t *testing.T) {
	t.Parallel()
	tool := row("x", http.MethodGet, "/x", "")
	tool.Redact = [][]string{{"trigger", "signature"}}
	for body, want := range map[string]string{
		`{"trigger":"{\"signature\":\"s3cret\",\"id\":1.0}","b":2}`:               `{"trigger":"{\"id\":1.0}","b":2}`,
		`{"detail":"{\"trigger\":{\"signature\":\"s3cret\",\"id\":1}}"}`:          `{"detail":"{\"trigger\":{\"id\":1}}"}`,
		`{"detail":"[\"{\\\"trigger\\\":{\\\"signature\\\":\\\"s3cret\\\"}}\"]"}`: `{"detail":"[\"{\\\"trigger\\\":{}}\"]"}`,
		`{"detail":"{ \"signature\" : 1 }"}`:                                      `{"detail":"{ \"signature\" : 1 }"}`,
		`{"detail":"{not JSON","trigger":{"signature":"s3cret"}}`:                 `{"detail":"{not JSON","trigger":{}}`,
	} {
		api := newAPI(t, respond(200, "application/json", body))
		g := newGateway(t, api.URL, gateway.CatalogV1{Tools: []gateway.ToolV1{tool}})
		if r := call(t.Context(), t, g, caller(t), "x", `{}`); r.Err != nil || string(r.Text) != want {
			t.Errorf("%s: %s %v, want %s", body, r.Text, r.Err, want)
		}
	}
}

func TestHalfASurrogatePairIsRefusedOutsideTheBody(t *testing.T) {
	t.Parallel()
	api := newAPI(t, respond(200, "application/json", `{}`))
	tool := row("x", http.MethodGet, "/x/{id}", `{"type":"object","properties":{"id":{"type":"string"},"q":{"type":"string"}},"required":["id"]}`,
		gateway.ArgV1{Name: "id", Key: "id", In: gateway.InPath, Required: true}, gateway.ArgV1{Name: "q", Key: "q", In: gateway.InQuery})
	g := newGateway(t, api.URL, gateway.CatalogV1{Tools: []gateway.ToolV1{tool}})
	for arguments, pointer := range map[string]string{
		`{"id":"a\ud800"}`: "/id", `{"id":"a","q":"\udc00b"}`: "/q",
		`{"id":"\ud83d\ude00"}`: "", `{"id":"\ufffd"}`: "", `{"id":"\uFFFD"}`: "", "{\"id\":\"\ufffd\\u0041\"}": "",
		`{"id":"\\ufffd\ud800"}`: "/id", `{"id":"\\ud800"}`: "", `{"id":"a\ud83d\u0041"}`: "/id",
	} {
		r := call(t.Context(), t, g, caller(t), "x", arguments)
		got := ""
		if r.Err != nil {
			got = r.Err.Pointer
		}
		if got != pointer {
			t.Errorf("%s: %v", arguments, r.Err)
		}
	}
}
