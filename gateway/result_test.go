package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postern-mcp/postern/apiclient/transport"
	apierrors "github.com/postern-mcp/postern/errors"
	"github.com/postern-mcp/postern/gateway"
	"github.com/postern-mcp/postern/gateway/catalog"
)

var secrets = [][]string{{"trigger", "signature"}, {"pin"}}

func redacting() gateway.CatalogV1 {
	tool := row("plain", http.MethodGet, "/t", "")
	writer := row("writer", http.MethodPost, "/t", "")
	hiding := row("hiding", http.MethodGet, "/t", "")
	hiding.Redact = secrets
	hiding.Codes = []apierrors.StatusCode{{Status: 401, Code: apierrors.Unauthorized}}
	hiding.Hints = []apierrors.StatusHint{{Status: 404, Hint: "look elsewhere"}}
	return gateway.CatalogV1{Tools: []gateway.ToolV1{tool, writer, hiding}}
}

func TestResults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, tool     string
		status         int
		media, body    string
		text           string
		data, dataType string
		code           apierrors.Code
		message        string
	}{
		{name: "JSON", media: "application/json", body: "{ \"b\" : 1.0 ,\r\n\t\"a\":[ null, 9007199254740993,1e400 ,\"\\u00e9 \\/\" ] }\n", text: `{"b":1.0,"a":[null,9007199254740993,1e400,"\u00e9 \/"]}`},
		{name: "compact JSON", media: "application/json", body: `[{"a":"<&>` + "\u2028" + `"}]`, text: `[{"a":"<&>` + "\u2028" + `"}]`},
		{name: "JSON with a charset", media: "application/json; charset=UTF-8", body: `"é"`, text: `"é"`},
		{name: "JSON with a broken parameter", media: "application/json; charset", body: `{ }`, text: `{}`},
		{name: "JSON behind a byte order mark", media: "application/json", body: "\ufeff{ }", text: `{}`},
		{name: "problem JSON with a good status", media: "application/vnd.x+json", body: ` 1 `, text: `1`},
		{name: "JSON labelled as text", media: "text/plain", body: ` {"a": 1}`, text: `{"a":1}`},
		{name: "JSON without a label", media: "", body: `[ ]`, text: `[]`},
		{name: "empty array", media: "application/json", body: `[]`, text: `[]`},
		{name: "null", media: "application/json", body: `null`, text: `null`},
		{name: "created without a body", status: 201, text: `{"status":201}`},
		{name: "no content", status: 204, text: `{"status":204}`},
		{name: "white space only", status: 202, media: "application/json", body: " \n", text: `{"status":202}`},
		{name: "text", media: "text/plain; charset=utf-8", body: " two\n\nlines \n", text: " two\n\nlines \n"},
		{name: "HTML", media: "text/html", body: "<html>", text: "<html>"},
		{name: "YAML", media: "application/yaml", body: "a: 1", text: "a: 1"},
		{name: "XML", media: "image/svg+xml", body: "<svg/>", text: "<svg/>"},
		{name: "lines of JSON", media: "application/x-ndjson", body: "{}\n{}\n", text: "{}\n{}\n"},
		{name: "text without a label", body: "hello", text: "hello"},
		{name: "image", media: "image/png", body: "\x89PNG", data: "\x89PNG", dataType: "image/png"},
		{name: "other", media: "Application/PDF; x=y", body: "%PDF\xff", data: "%PDF\xff", dataType: "application/pdf"},
		{name: "bytes without a label", body: "\x00\xff", data: "\x00\xff", dataType: "application/octet-stream"},
		{name: "the token is masked", media: "application/json", body: `{"echo":"` + marked + `","esc":"viat_pat_MARKED\/secret+value="}`, text: `{"echo":"[redacted]","esc":"[redacted]"}`},

		{name: "not the JSON it says", media: "application/json", body: `{"a":`, code: apierrors.InvalidResponse, message: "not valid JSON"},
		{name: "JSON in another encoding", media: "application/json; charset=latin1", body: "\"\xe9\"", text: "\"é\""},
		{name: "text in another charset", media: "text/plain; charset=ISO-8859-15", body: "5 \xa4", text: "5 €"},
		{name: "text in the web's latin1", media: "text/csv; charset=\"iso-8859-1\"", body: "\x93x\x94", text: "“x”"},
		{name: "UTF-8 that is called otherwise", media: "text/plain; charset=iso-8859-1", body: "é", text: "é"},
		{name: "text in a charset that is not known", media: "text/plain; charset=shift_jis", body: "\x82\xa0", code: apierrors.InvalidResponse, message: "not converted: shift_jis"},
		{name: "UTF-8 that is none", media: "text/plain; charset=utf-8", body: "\xff", code: apierrors.InvalidResponse, message: "not valid UTF-8"},
		{name: "the token in an alphabet of another kind", media: "text/plain; charset=\"IBM Code Page 037\"", body: "\xa5\x89\x81\xa3", code: apierrors.InvalidResponse, message: "not converted"},
		{name: "the token letter by letter", media: "application/json; charset=utf-16", body: "v\x00i\x00a\x00t\x00", code: apierrors.InvalidResponse, message: "not valid JSON"},
		{name: "a part that was not asked for", status: 206, media: "application/json", body: `{}`, code: apierrors.InvalidResponse, message: "only a part"},
		{name: "what came instead of JSON", media: "application/json", body: "<html>\n<h1>" + marked + "</h1>", code: apierrors.InvalidResponse, message: `it begins with "<html>\n<h1>[redacted]</h1>"`},
		{name: "not the text it says", media: "text/plain", body: "\xff", code: apierrors.InvalidResponse, message: "not valid UTF-8"},
		{name: "a writer is told to look", tool: "writer", media: "application/json", body: "<html>", code: apierrors.InvalidResponse, message: "not valid JSON"},

		{name: "redacted", tool: "hiding", media: "application/json",
			body: `{"trigger": {"signature":"S1","id":1, "sign\u0061ture":"S2" ,"a":[{"signature":"kept"}]}, "list":[{"trigger":[{"signature":["S3",{"x":"S4"}]},{"z":{}}]}] ,"\u0070in":"S5","signature":"kept"}`,
			text: `{"trigger":{"id":1,"a":[{"signature":"kept"}]},"list":[{"trigger":[{},{"z":{}}]}],"signature":"kept"}`},
		{name: "redacted, nothing left", tool: "hiding", media: "application/json", body: `{"pin":"S1", "pin":"S2"}`, text: `{}`},
		{name: "redacted, labelled as text", tool: "hiding", media: "text/plain", body: `{"pin":"S1","a":1}`, text: `{"a":1}`},
		{name: "what cannot be redacted", tool: "hiding", media: "text/plain", body: `pin: S1`, code: apierrors.InvalidResponse, message: "is not JSON"},
		{name: "nothing to redact in nothing", tool: "hiding", status: 204, text: `{"status":204}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.status == 0 {
				tt.status = 200
			}
			if tt.tool == "" {
				tt.tool = "plain"
			}
			upstream := newAPI(t, respond(tt.status, tt.media, tt.body))
			r := call(t.Context(), t, newGateway(t, upstream.URL, redacting()), caller(t), tt.tool, "")
			if tt.code != "" {
				e := fails(t, r, tt.code)
				if !strings.Contains(e.Message, tt.message) || e.Status != tt.status || e.Attempts != 1 || e.Delivery != apierrors.Answered || (e.Hint != "") != (tt.tool == "writer") {
					t.Errorf("got %s", e.Envelope())
				}
				return
			}
			if r.Err != nil {
				t.Fatalf("got %s", r.Err.Envelope())
			}
			if string(r.Text) != tt.text || string(r.Data) != tt.data || r.MIMEType != tt.dataType {
				t.Errorf("got %q, %q of type %q\nwant %q, %q of type %q", r.Text, r.Data, r.MIMEType, tt.text, tt.data, tt.dataType)
			}
		})
	}
}

func TestErrorAnswers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2000)
	tests := []struct {
		name, tool  string
		status      int
		media, body string
		code        apierrors.Code
		want        []string // in the envelope; nothing of the secrets ever is
	}{
		{"problem", "plain", 404, "application/problem+json", `{"title":"t","detail":"no such thing","code":"thing_not_found"}`, apierrors.HTTP4xx,
			[]string{`"status":404`, `"message":"no such thing"`, `"upstream":{"title":"t","detail":"no such thing","code":"thing_not_found"}`}},
		{"mapped", "hiding", 401, "application/json", `{"message":"m"}`, apierrors.Unauthorized, []string{`"status":401`, `"message":"m"`}},
		{"hint", "hiding", 404, "", "", apierrors.HTTP4xx, []string{`"hint":"look elsewhere"`}},
		{"redirect", "plain", 302, "", "", apierrors.HTTP3xx, []string{`"status":302`}},
		{"unusual", "plain", 599, "", "", apierrors.HTTP5xx, []string{`"status":599`, `"retryable":true`}},
		{"redacted", "hiding", 409, "application/json", `{"error":{"trigger":{"signature":"SECRET","id":1}, "message":"m"},"p\u0069n":"SECRET"}`, apierrors.HTTP4xx,
			[]string{`"upstream":{"error":{"trigger":{"id":1},"message":"m"}}`, `"message":"m"`}},
		{"redacted message", "hiding", 400, "application/json", `{"pin":{"message":"SECRET"},"message":"m"}`, apierrors.HTTP4xx, []string{`"message":"m"`}},
		{"text is not redactable", "hiding", 400, "text/plain", `the pin is SECRET`, apierrors.HTTP4xx, []string{`"message":"400 bad request"`}},
		{"nor is broken JSON", "hiding", 500, "application/json", `{"pin":"SECRET"`, apierrors.HTTP5xx, []string{`"message":"500 internal server error"`}},
		{"nor JSON behind something", "hiding", 500, "application/json", `)]}' {"pin":"SECRET"}`, apierrors.HTTP5xx, nil},
		{"nor what was cut off", "hiding", 500, "application/json", `{"pin":"SECRET","x":"` + long + `"}`, apierrors.HTTP5xx, []string{`"message":"500 internal server error"`}},
		{"byte order mark", "hiding", 400, "application/json", "\ufeff" + `{"pin":"SECRET","message":"m"}`, apierrors.HTTP4xx, []string{`"upstream":{"message":"m"}`}},
		{"token echoed", "plain", 401, "application/json", `{"message":"the token ` + marked + ` is unknown","t":["viat_pat_\u004dARKED\/secret+value="]}`, apierrors.HTTP4xx,
			[]string{`"message":"the token [redacted] is unknown"`, `"upstream":{"message":"the token [redacted] is unknown","t":["[redacted]"]}`}},
		{"token echoed as text", "plain", 401, "text/plain", `bad token ` + marked, apierrors.HTTP4xx, []string{`"message":"bad token [redacted]"`}},
		{"token echoed as in a URL", "plain", 400, "text/plain", `bad token ` + url.QueryEscape(marked), apierrors.HTTP4xx, []string{`[redacted]`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			upstream := newAPI(t, respond(tt.status, tt.media, tt.body))
			g := newGateway(t, upstream.URL, redacting(), func(_ *gateway.Options, c *transport.Config) { c.MaxResponseBytes = 1000 })
			e := fails(t, call(t.Context(), t, g, caller(t), tt.tool, ""), tt.code)
			envelope := string(e.Envelope())
			for _, want := range tt.want {
				if !strings.Contains(envelope, want) {
					t.Errorf("got %s\nwant %s in it", envelope, want)
				}
			}
			if strings.Contains(envelope, "SECRET") {
				t.Errorf("a secret leaked: %s", envelope)
			}
		})
	}
}

// TestFailures: whatever goes wrong becomes an envelope that tells a writer
// whether it was sent.
func TestFailures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		invoke   func(context.Context, gateway.Client, *gateway.Args) (*http.Response, error)
		code     apierrors.Code
		delivery apierrors.Delivery
		log      string
	}{
		{"plain error", func(context.Context, gateway.Client, *gateway.Args) (*http.Response, error) {
			return nil, errors.New("cannot build with " + marked)
		}, apierrors.Internal, apierrors.NotSent, `cause="cannot build with [redacted]"`},
		{"error that holds the URL", func(context.Context, gateway.Client, *gateway.Args) (*http.Response, error) {
			return nil, &url.Error{Op: "parse", URL: "http://x/ARGUMENT%zz", Err: url.EscapeError("%zz")}
		}, apierrors.Internal, apierrors.NotSent, `cause="invalid URL escape`},
		{"envelope inside another error", func(context.Context, gateway.Client, *gateway.Args) (*http.Response, error) {
			return nil, fmt.Errorf("build: %w", apierrors.New(apierrors.InvalidArguments, "no"))
		}, apierrors.InvalidArguments, apierrors.NotSent, "code=invalid_arguments"},
		{"no request", func(context.Context, gateway.Client, *gateway.Args) (*http.Response, error) {
			return nil, nil
		}, apierrors.Internal, apierrors.NotSent, "code=internal"},
		{"panic", func(context.Context, gateway.Client, *gateway.Args) (*http.Response, error) {
			panic("at the disco with " + marked)
		}, apierrors.Internal, apierrors.Unknown, `panic="at the disco with [redacted]"`},
		{"unknown argument", func(_ context.Context, _ gateway.Client, a *gateway.Args) (*http.Response, error) {
			a.String("nope")
			return nil, nil
		}, apierrors.Internal, apierrors.Unknown, "has no argument nope"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tool := row("t", http.MethodPost, "/t", "")
			tool.Invoke = tt.invoke
			var log bytes.Buffer
			g := newGateway(t, "http://127.0.0.1:1", gateway.CatalogV1{Tools: []gateway.ToolV1{tool}}, logTo(&log))
			e := fails(t, call(t.Context(), t, g, caller(t), "t", ""), tt.code)
			if e.Delivery != tt.delivery || (e.Hint != "") != (tt.delivery == apierrors.Unknown) {
				t.Errorf("got %s, want the delivery %s", e.Envelope(), tt.delivery)
			}
			if !strings.Contains(log.String(), tt.log) || !strings.Contains(log.String(), e.RequestID) ||
				strings.Contains(log.String(), "MARKED") || strings.Contains(log.String(), "ARGUMENT") {
				t.Errorf("logged %s, want %s", &log, tt.log)
			}
		})
	}
}

func TestBrokenSchemaIsAnEnvelope(t *testing.T) {
	t.Parallel()
	tool := row("t", http.MethodGet, "/t", `{"type":7}`)
	g := newGateway(t, "http://127.0.0.1:1", gateway.CatalogV1{Tools: []gateway.ToolV1{tool}})
	for range 2 { // the second time the schema is not compiled again
		e := fails(t, call(t.Context(), t, g, caller(t), "t", "{}"), apierrors.Internal)
		if e.Delivery != apierrors.NotSent {
			t.Errorf("got %s", e.Envelope())
		}
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	g := newGateway(t, "http://127.0.0.1:1", redacting())
	e := fails(t, call(t.Context(), t, g, caller(t), "writer", ""), apierrors.NetworkError)
	if e.Delivery != apierrors.NotSent || e.Attempts != 1 {
		t.Errorf("got %s", e.Envelope())
	}
	e = fails(t, call(t.Context(), t, g, gateway.Caller{}, "writer", ""), apierrors.Unauthorized)
	if e.Delivery != apierrors.NotSent || e.Status != 0 {
		t.Errorf("got %s", e.Envelope())
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	upstream := newAPI(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	g = newGateway(t, upstream.URL, redacting())
	e = fails(t, call(ctx, t, g, caller(t), "writer", ""), apierrors.Canceled)
	if e.Delivery != apierrors.Unknown || !strings.Contains(e.Hint, "not known whether") {
		t.Errorf("got %s", e.Envelope())
	}
}

// TestLog: one line per call, and in it nothing that came from either side.
func TestLog(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, tool, arguments string
		answer                http.HandlerFunc
		want                  []string
	}{
		{"success", "make_thing", `{"id":"ARGUMENT","shop":"ARGUMENT","must":"ARGUMENT","payload":"ARGUMENT"}`, respond(200, "application/json", `"BODY"`),
			[]string{"level=INFO", "tool=make_thing", "status=200", "attempts=1", "bytes=6", "duration_ms=", "request_id=rq_"}},
		{"refused", "make_thing", `{"id":"ARGUMENT","shop":"ARGUMENT","must":"ARGUMENT","payload":"ARGUMENT"}`, respond(400, "application/json", `{"message":"BODY"}`),
			[]string{"level=INFO", "status=400", "code=http_4xx"}},
		{"invalid", "make_thing", `{"ARGUMENT":"ARGUMENT"}`, respond(200, "", ""), []string{"code=invalid_arguments", "tool=make_thing"}},
		{"unsendable", "make_thing", `{"id":"..ARGUMENT/..","shop":"ARGUMENT","must":"ARGUMENT","payload":0}`, respond(200, "", ""), []string{"code=invalid_arguments"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			upstream := newAPI(t, tt.answer)
			var log bytes.Buffer
			g := newGateway(t, upstream.URL, gateway.CatalogV1{Tools: []gateway.ToolV1{things()}}, logTo(&log))
			call(t.Context(), t, g, caller(t), tt.tool, tt.arguments)
			line := log.String()
			for _, want := range tt.want {
				if !strings.Contains(line, want) {
					t.Errorf("logged %s, want %s in it", line, want)
				}
			}
			for _, leak := range []string{"ARGUMENT", "BODY", "MARKED"} {
				if strings.Contains(line, leak) {
					t.Errorf("%s is in the log: %s", leak, line)
				}
			}
			if strings.Count(line, "\n") != 1 {
				t.Errorf("logged %d lines", strings.Count(line, "\n"))
			}
		})
	}
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	g := newGateway(t, "http://127.0.0.1:1", redacting(), logTo(&log))
	tool, _ := g.Tool("plain")
	e := fails(t, g.Refuse(t.Context(), tool, apierrors.New(apierrors.RateLimited, "slow down")), apierrors.RateLimited)
	if !strings.Contains(log.String(), "code=rate_limited") || e.RequestID == "" || !strings.Contains(log.String(), e.RequestID) {
		t.Errorf("logged %s of %s", &log, e.Envelope())
	}
}

// TestArgumentsDoNotEchoTheToken: a caller that sends its token as an argument
// does not get it back in a message.
func TestArgumentsDoNotEchoTheToken(t *testing.T) {
	t.Parallel()
	g := newGateway(t, "http://127.0.0.1:1", gateway.CatalogV1{Tools: []gateway.ToolV1{things()}})
	token, err := transport.NewToken("viat_pat_MARKED")
	if err != nil {
		t.Fatal(err)
	}
	for _, arguments := range []string{
		`{"viat_pat_MARKED":1,"id":"","shop":"s","must":"m","payload":0}`,
		`{"id":"","shop":"s","must":"m","payload":0,"page":"viat_pat_MARKED"}`,
	} {
		fails(t, call(t.Context(), t, g, gateway.Caller{Token: token}, "make_thing", arguments), apierrors.InvalidArguments)
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	g := newGateway(t, "http://127.0.0.1:1", redacting(), func(o *gateway.Options, _ *transport.Config) { o.ReadOnly = true })
	if _, ok := g.Tool("writer"); ok || len(g.Tools()) != 2 {
		t.Error("a read-only gateway has a tool that writes")
	}
	if got, want := listed(g), `{"name":"hiding","inputSchema":{"type":"object","additionalProperties":false}},{"name":"plain","inputSchema":{"type":"object","additionalProperties":false}}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if text := listed(g); g.ListSize() != len(text) {
		t.Errorf("the size is %d, of a list of %d bytes", g.ListSize(), len(text))
	}
	defer func() {
		if recover() == nil {
			t.Error("a catalogue out of order was accepted")
		}
	}()
	gateway.New(gateway.Options{Catalog: &gateway.CatalogV1{Tools: []gateway.ToolV1{{Name: "b"}, {Name: "a"}}}})
}

func listed(g *gateway.Gateway) string {
	var out strings.Builder
	w := bufio.NewWriter(&out)
	g.WriteList(w)
	_ = w.Flush()
	return out.String()
}

// TestStockContract: the gateway publishes what the generator wrote for review.
func TestStockContract(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile(filepath.Join("..", "contracts", catalog.Gateway.ContractVersion, "mcp-tools.json"))
	if err != nil {
		t.Fatal(err)
	}
	if got := gateway.New(gateway.Options{Catalog: &catalog.Gateway}).ContractJSON(); !bytes.Equal(got, want) {
		t.Error("ContractJSON differs from the committed contract; run make generate")
	}
}
