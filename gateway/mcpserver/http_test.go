package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/postern-mcp/postern/gateway"
	"github.com/postern-mcp/postern/gateway/schema"
)

// post makes a request that every guard lets through, but for what change does to it.
func post(body string, change ...func(*http.Request)) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:9"
	r.Header.Set("Authorization", "Bearer "+marked)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	for _, f := range change {
		f(r)
	}
	return r
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func header(name string, values ...string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Del(name)
		for _, v := range values {
			r.Header.Add(name, v)
		}
	}
}

func host(h string) func(*http.Request)   { return func(r *http.Request) { r.Host = h } }
func method(m string) func(*http.Request) { return func(r *http.Request) { r.Method = m } }
func from(a string) func(*http.Request)   { return func(r *http.Request) { r.RemoteAddr = a } }

// modern is a tools/call at revision 2026-07-28, with the headers it asks for.
func modern(tool, arguments string) *http.Request {
	return post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		header("Mcp-Protocol-Version", "2026-07-28"), header("Mcp-Method", "tools/call"), header("Mcp-Name", tool))
}

func TestGuard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.Handler(HTTPOptions{
		AllowedHosts: []string{"MCP.example.com", "other.example.com:8443"}, AllowedOrigins: []string{"https://app.example.com", "https://port.example.com:444/"},
		MaxRequestBytes: 1000,
	})
	call := callOf(`1`, "echo", `{"q":"7"}`)
	tests := []struct {
		name   string
		change []func(*http.Request)
		status int
		want   string // in the body
	}{
		{"plain", nil, 200, `"text":"7"`},

		{"Host with port", []func(*http.Request){host("localhost:8080")}, 200, ""},
		{"Host in capitals", []func(*http.Request){host("LocalHost:8080")}, 200, ""},
		{"Host with a dot at the end", []func(*http.Request){host("localhost.:1")}, 200, ""},
		{"IPv4", []func(*http.Request){host("127.8.9.1:8080")}, 200, ""},
		{"IPv6", []func(*http.Request){host("[::1]")}, 200, ""},
		{"IPv6 with port", []func(*http.Request){host("[::1]:8080")}, 200, ""},
		{"mapped IPv4", []func(*http.Request){host("[::ffff:127.0.0.1]:1")}, 200, ""},
		{"allowed Host", []func(*http.Request){host("mcp.EXAMPLE.com:443")}, 200, ""},
		{"allowed Host with a dot", []func(*http.Request){host("mcp.example.com.")}, 200, ""},
		{"allowed Host that was named with a port", []func(*http.Request){host("other.example.com")}, 200, ""},
		{"another Host", []func(*http.Request){host("evil.example.com")}, 403, "--allow-host"},
		{"a Host that contains an allowed one", []func(*http.Request){host("mcp.example.com.evil.com")}, 403, ""},
		{"a Host that contains localhost", []func(*http.Request){host("localhost.evil.com:80")}, 403, ""},
		{"no Host", []func(*http.Request){host("")}, 403, ""},
		{"only a port", []func(*http.Request){host(":80")}, 403, ""},
		{"dot", []func(*http.Request){host(".")}, 403, ""},
		{"port that is none", []func(*http.Request){host("localhost:80@evil.com")}, 403, ""},
		{"unspecified address", []func(*http.Request){host("0.0.0.0:80")}, 403, ""},
		{"half a bracket", []func(*http.Request){host("[::1")}, 403, ""},
		{"what a proxy says is not asked", []func(*http.Request){host("evil.example.com"), header("X-Forwarded-Host", "localhost"), header("Forwarded", "host=localhost")}, 403, ""},

		{"loopback Origin", []func(*http.Request){header("Origin", "http://localhost:3000")}, 200, ""},
		{"loopback Origin, IPv6", []func(*http.Request){header("Origin", "HTTP://[::1]:3000")}, 200, ""},
		{"allowed Origin", []func(*http.Request){header("Origin", "https://APP.example.com")}, 200, ""},
		{"allowed Origin with port", []func(*http.Request){header("Origin", "https://port.example.com:444")}, 200, ""},
		{"allowed name, another scheme", []func(*http.Request){header("Origin", "http://app.example.com")}, 403, "--allow-origin"},
		{"allowed name, another port", []func(*http.Request){header("Origin", "https://app.example.com:444")}, 403, ""},
		{"another Origin", []func(*http.Request){header("Origin", "https://evil.example.com")}, 403, ""},
		{"null Origin", []func(*http.Request){header("Origin", "null")}, 403, ""},
		{"Origin of a file", []func(*http.Request){header("Origin", "file://localhost")}, 403, ""},
		{"Origin with a user", []func(*http.Request){header("Origin", "http://localhost:80@evil.com")}, 403, ""},
		{"second Origin", []func(*http.Request){header("Origin", "http://localhost", "https://evil.example.com")}, 403, ""},

		{"GET", []func(*http.Request){method(http.MethodGet)}, 405, "POST"},
		{"HEAD", []func(*http.Request){method(http.MethodHead)}, 405, ""},
		{"DELETE", []func(*http.Request){method(http.MethodDelete)}, 405, "POST"},
		{"OPTIONS", []func(*http.Request){method(http.MethodOptions)}, 405, "POST"},

		{"only text/event-stream", []func(*http.Request){header("Accept", "text/event-stream")}, 400, ""},
		{"no Accept", []func(*http.Request){header("Accept")}, 200, ""},
		{"any Accept", []func(*http.Request){header("Accept", "text/html, */*;q=0.1")}, 200, ""},
		{"other Content-Type", []func(*http.Request){header("Content-Type", "text/plain")}, 415, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := serve(h, post(call, tt.change...))
			if got.Code != tt.status || !strings.Contains(got.Body.String(), tt.want) {
				t.Errorf("got %d %s, want %d %s", got.Code, got.Body, tt.status, tt.want)
			}
			if got.Code == 405 && got.Header().Get("Allow") != "POST" {
				t.Errorf("Allow is %q", got.Header().Get("Allow"))
			}
			if strings.Contains(got.Body.String(), "MARKED") {
				t.Errorf("the token is in %s", got.Body)
			}
		})
	}
	t.Run("too large", func(t *testing.T) {
		t.Parallel()
		for _, length := range []int64{0, -1} { // announced or not
			r := post(strings.Repeat(" ", 1001))
			if length < 0 {
				r.ContentLength = -1
			}
			if got := serve(h, r); got.Code != 413 {
				t.Errorf("got %d %s", got.Code, got.Body)
			}
		}
		if got := serve(h, post(call+strings.Repeat(" ", 1000-len(call)))); got.Code != 200 {
			t.Errorf("a body of the size allowed: got %d %s", got.Code, got.Body)
		}
	})
	t.Run("not JSON-RPC", func(t *testing.T) {
		t.Parallel()
		for _, body := range []string{``, `x`, `{"jsonrpc":`, `{"a":"` + "\n" + `"}`, `[1]`, `[{}`, `7`, call + "x"} {
			if got := serve(h, post(body)); got.Code != 400 || !strings.Contains(got.Body.String(), map[bool]string{true: `"code":-32600`, false: `"code":-32700`}[json.Valid([]byte(body))]) {
				t.Errorf("%q: got %d %s", body, got.Code, got.Body)
			}
		}
		for _, body := range []string{`{}`, `[]`, `{"jsonrpc":"2.0","id":1,"method":"nope"}`} { // the SDK's
			if got := serve(h, post(body)); got.Code != 400 {
				t.Errorf("%q: got %d %s", body, got.Code, got.Body)
			}
		}
	})
}

func TestBearer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.Handler(HTTPOptions{})
	tests := []struct {
		name      string
		values    []string
		challenge string // "" where the request passes
	}{
		{"plain", []string{"Bearer " + marked}, ""},
		{"scheme in any case", []string{"bEARER " + marked}, ""},
		{"more spaces", []string{"Bearer    " + marked}, ""},
		{"missing", nil, `Bearer realm="echoing"`},
		{"another scheme", []string{"Basic MARKED"}, `Bearer realm="echoing"`},
		{"empty", []string{""}, `Bearer realm="echoing"`},
		{"only the token", []string{marked}, `Bearer realm="echoing"`},
		{"only the scheme", []string{"Bearer"}, `Bearer realm="echoing", error="invalid_token"`},
		{"only the scheme and spaces", []string{"Bearer   "}, `Bearer realm="echoing", error="invalid_token"`},
		{"two tokens", []string{"Bearer MARKED MARKED"}, `Bearer realm="echoing", error="invalid_token"`},
		{"comma", []string{"Bearer MARKED, Basic x"}, `Bearer realm="echoing", error="invalid_token"`},
		{"two headers", []string{"Bearer " + marked, "Bearer " + marked}, `Bearer realm="echoing", error="invalid_token"`},
		{"not ASCII", []string{"Bearer MARKEDé"}, `Bearer realm="echoing", error="invalid_token"`},
		{"control character", []string{"Bearer MARKED\x01"}, `Bearer realm="echoing", error="invalid_token"`},
		{"tab", []string{"Bearer\tMARKED"}, `Bearer realm="echoing"`},
		{"too long", []string{"Bearer MARKED" + strings.Repeat("x", 5000)}, `Bearer realm="echoing", error="invalid_token"`},
	}
	for _, tt := range tests {
		got := serve(h, post(callOf(`1`, "echo", `{}`), header("Authorization", tt.values...)))
		if tt.challenge == "" {
			if sent := <-w.authorization; got.Code != 200 || sent != "Bearer "+marked {
				t.Errorf("%s: got %d %s, sent %q", tt.name, got.Code, got.Body, sent)
			}
			continue
		}
		body := got.Body.String()
		if got.Code != 401 || got.Header().Get("WWW-Authenticate") != tt.challenge || !strings.Contains(body, `"code":"unauthorized"`) || strings.Contains(body, "MARKED") {
			t.Errorf("%s: got %d %q %s", tt.name, got.Code, got.Header().Get("WWW-Authenticate"), body)
		}
	}
	if n := len(w.authorization); n != 0 || strings.Contains(w.log.String(), "MARKED") {
		t.Errorf("%d refused requests reached the API, logged %s", n, w.log)
	}
}

func TestPlainRemote(t *testing.T) {
	t.Parallel()
	h := newWorld(t).Handler(HTTPOptions{PlainRemote: true, TrustedProxies: []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("::ffff:10.1.0.0/112"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("2001:db8::5/128"),
	}})
	for address, want := range map[string]int{
		"127.0.0.1:1": 200, "[::1]:1": 200, "[::ffff:127.0.0.1]:1": 200, "10.0.0.7:1": 200, "[::ffff:10.0.0.7]:1": 200, "10.1.0.7:1": 200, "[::ffff:10.1.0.7]:1": 200,
		"[fe80::1%eth0]:1": 200, "[2001:db8::5]:1": 200,
		"10.0.1.7:1": 403, "[::ffff:10.0.1.7]:1": 403, "192.0.2.1:1": 403, "[2001:db8::6]:1": 403, "@": 403, "": 403, "localhost:1": 403,
	} {
		got := serve(h, post(callOf(`1`, "echo", `{}`), from(address), header("X-Forwarded-For", "127.0.0.1"), header("X-Real-Ip", "10.0.0.7")))
		if got.Code != want {
			t.Errorf("%s: got %d %s, want %d", address, got.Code, got.Body, want)
		}
	}
	if got := serve(newWorld(t).Handler(HTTPOptions{}), post(callOf(`1`, "echo", `{}`), from("192.0.2.1:1"))); got.Code != 200 {
		t.Errorf("a listener with TLS refuses a remote peer: %d %s", got.Code, got.Body)
	}
}

// TestWire is what a client reads, byte for byte, at two revisions.
func TestWire(t *testing.T) {
	t.Parallel()
	h := newWorld(t).Handler(HTTPOptions{})
	const meta = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"echoing","title":"Echo \"content\":[]","version":"1.2.3"}},`
	tests := []struct{ tool, arguments, result string }{
		{"echo", `{"q":"{\"a\": 1.0, \"b\":[9007199254740993,null]}\n"}`, `"content":[{"type":"text","text":"{\"a\":1.0,\"b\":[9007199254740993,null]}"}],"isError":false`},
		{"echo", `{"q":"<é> & \"\u2028\u0001\\"}`, `"content":[{"type":"text","text":"<é> & \"` + "\u2028" + `\u0001\\"}],"isError":false`},
		{"echo", `{}`, `"content":[{"type":"text","text":"{\"status\":200}"}],"isError":false`},
		{"image", `{}`, `"content":[{"type":"image","mimeType":"image/png","data":"iVBORw=="}],"isError":false`},
		{"bytes", `{}`, `"content":[{"type":"resource","resource":{"uri":"postern:answer","mimeType":"application/pdf","blob":"JVBERg=="}}],"isError":false`},
	}
	for _, tt := range tests {
		got := serve(h, post(callOf(`1`, tt.tool, tt.arguments)))
		if want := `{"jsonrpc":"2.0","id":1,"result":{` + tt.result + `}}`; got.Code != 200 || got.Body.String() != want || got.Header().Get("Content-Type") != "application/json" {
			t.Errorf("got %d\n%s\nwant\n%s", got.Code, got.Body, want)
		}
		got = serve(h, modern(tt.tool, tt.arguments))
		if want := `{"jsonrpc":"2.0","id":1,"result":{` + meta + tt.result + `,"resultType":"complete"}}`; got.Code != 200 || got.Body.String() != want {
			t.Errorf("2026-07-28: got %d\n%s\nwant\n%s", got.Code, got.Body, want)
		}
	}
	for _, r := range []*http.Request{post(callOf(`1`, "echo", `{"q":"404!{\"message\":\"m\"}"}`)), modern("echo", `{"q":"404!{\"message\":\"m\"}"}`)} {
		got := serve(h, r).Body.String()
		if !strings.Contains(got, `"content":[{"type":"text","text":"{\"error\":{\"code\":\"http_4xx\",\"status\":404`) || strings.Count(got, `"isError"`) != 1 || !strings.Contains(got, `}],"isError":true`) {
			t.Errorf("got %s", got)
		}
	}
	// The caller's own PAT refused upstream is a tool error, not HTTP 401.
	if got := serve(h, post(callOf(`1`, "echo", `{"q":"401!{}"}`))); got.Code != 200 || !strings.Contains(got.Body.String(), `"isError":true`) {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	if got := serve(h, post(callOf(`1`, "nope\\\"%s", `{}`))).Body.String(); !strings.Contains(got, `"code":-32602`) || strings.Contains(got, "isError") {
		t.Errorf("got %s", got)
	}
	if got := serve(h, modern("nope", `{}`)); got.Code != 400 || !strings.Contains(got.Body.String(), `"code":-32602`) {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
}

func TestWireList(t *testing.T) {
	t.Parallel()
	h := newWorld(t).Handler(HTTPOptions{})
	var tools []string
	for _, tool := range echo().Tools {
		tools = append(tools, `{"name":"`+tool.Name+`","description":"\"tools\":[]","inputSchema":`+tool.InputSchema+`}`)
	}
	got := serve(h, post(`{"jsonrpc":"2.0","id":"l","method":"tools/list"}`)).Body.String()
	if want := `{"jsonrpc":"2.0","id":"l","result":{"ttlMs":0,"cacheScope":"private","tools":[` + strings.Join(tools, ",") + `]}}`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	r := modern("", "")
	r.Header.Set("Mcp-Method", "tools/list")
	r.Body = io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":"l","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`))
	got = serve(h, r).Body.String()
	for _, want := range []string{`"tools":[` + strings.Join(tools, ",") + `]`, `"cacheScope":"private"`, `"resultType":"complete"`, `"io.modelcontextprotocol/serverInfo"`} {
		if strings.Count(got, want) != 1 {
			t.Errorf("got\n%s\nwant %s in it, once", got, want)
		}
	}
}

// TestHTTPBatch: revision 2025-03-26 has batches.
func TestHTTPBatch(t *testing.T) {
	t.Parallel()
	h := newWorld(t).Handler(HTTPOptions{})
	batch := "[" + callOf(`1`, "echo", `{"q":"1"}`) + "," + callOf(`"b"`, "echo", `{"q":"2"}`) + "]"
	got := serve(h, post(batch, header("Mcp-Protocol-Version", "2025-03-26"))).Body.String()
	for _, want := range []string{`{"jsonrpc":"2.0","id":1,"result":` + text("1") + `}`, `{"jsonrpc":"2.0","id":"b","result":` + text("2") + `}`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s in it", got, want)
		}
	}
	if got := serve(h, post(batch)); got.Code != 400 {
		t.Errorf("2025-11-25: got %d %s", got.Code, got.Body)
	}
}

// TestRequestEndsCall: at every revision a client that goes away ends the call upstream.
func TestRequestEndsCall(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]*http.Request{
		"2025-03-26": post(callOf(`1`, "hang", `{}`), header("Mcp-Protocol-Version", "2025-03-26")),
		"2025-06-18": post(callOf(`1`, "hang", `{}`), header("Mcp-Protocol-Version", "2025-06-18")),
		"2025-11-25": post(callOf(`1`, "hang", `{}`)),
		"2026-07-28": modern("hang", `{}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { serve(w.Handler(HTTPOptions{}), request.WithContext(ctx)); close(done) }()
			waitFor(t, "the call", w.hanging)
			cancel()
			waitFor(t, "the end of the upstream call", w.ended)
			waitFor(t, "the end of the request", done)
		})
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	h := newWorld(t).Handler(HTTPOptions{})
	get := func(path string) *httptest.ResponseRecorder {
		return serve(h, httptest.NewRequest(http.MethodGet, path, nil))
	}
	if h, r := get("/healthz"), get("/readyz"); h.Code != 200 || r.Code != 200 {
		t.Errorf("got %d and %d", h.Code, r.Code)
	}
	h.Drain()
	if h, r := get("/healthz"), get("/readyz"); h.Code != 200 || r.Code != 503 {
		t.Errorf("draining: got %d and %d", h.Code, r.Code)
	}
	if got := get("/"); got.Code != 404 {
		t.Errorf("got %d", got.Code)
	}
}

func TestHTTPRateLimit(t *testing.T) {
	t.Parallel()
	h := newWorld(t).Handler(HTTPOptions{RateLimit: 0.34})
	call := callOf(`1`, "echo", `{}`)
	if got := serve(h, post(call)); got.Code != 200 {
		t.Fatalf("got %d %s", got.Code, got.Body)
	}
	for range 3 { // a refusal costs nothing
		got := serve(h, post(call))
		if got.Code != 429 || got.Header().Get("Retry-After") != "3" || !strings.Contains(got.Body.String(), `"code":"rate_limited"`) || !strings.Contains(got.Body.String(), `"retry_after_seconds":3`) {
			t.Fatalf("got %d %q %s", got.Code, got.Header().Get("Retry-After"), got.Body)
		}
	}
	if got := serve(h, post(call, header("Authorization", "Bearer another"))); got.Code != 200 {
		t.Errorf("another caller: got %d %s", got.Code, got.Body)
	}
	if got := serve(h, post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); got.Code != 200 {
		t.Errorf("a list: got %d %s", got.Code, got.Body)
	}
	got := serve(h, post("["+call+","+callOf(`"other"`, "echo", `{}`)+"]", header("Mcp-Protocol-Version", "2025-03-26"), header("Authorization", "Bearer third")))
	if got.Code != 400 || got.Header().Get("Retry-After") != "" || !strings.Contains(got.Body.String(), `"retryable":false`) || !strings.Contains(got.Body.String(), "at most 1 calls") {
		t.Errorf("a batch larger than the burst: got %d %s", got.Code, got.Body)
	}
}

// executed is how many tools/call the SDK would execute of a body that is one
// value: its reader of messages decides.
func executed(body []byte) (calls int) {
	messages := [][]byte{body}
	if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && trimmed[0] == '[' {
		messages = nil
		_ = schema.SplitArray(body, func(m []byte) bool { messages = append(messages, m); return true })
	}
	for _, m := range messages {
		decoded, err := jsonrpc.DecodeMessage(m)
		if err != nil {
			return 0 // of a batch with a bad message nothing is executed
		}
		if r, ok := decoded.(*jsonrpc.Request); ok && r.Method == "tools/call" {
			calls++
		}
	}
	return calls
}

func TestWhatIsLookedForInABody(t *testing.T) {
	t.Parallel()
	call := callOf(`1`, "echo", `{}`)
	for body, want := range map[string]int{
		call: 1, " [" + call + " , " + callOf(`"1"`, "echo", `{}`) + "] ": 2, `{"method":"tools/list"}`: 0, `[]`: 0,
		`{"m\u0065thod":"tools\/call"}`: 1, `{"method":"tools/call","method":"ping"}`: 1, `{"method":"ping","method":"tools/call"}`: 1,
		`{"Method":"tools/call"}`: 0, `{"method":"tools/Call"}`: 0, `{"params":{"method":"tools/call"}}`: 0, `{"method":["tools/call"]}`: 0,
	} {
		if got, err := look([]byte(body)); got.calls != want || err != nil {
			t.Errorf("%s: got %d, %v, want %d", body, got.calls, err, want)
		}
	}
	for _, body := range []string{``, ` `, `1`, `[1]`, `{`, `[{}`, `{}x`, `[]x`, `[{"a":01}]`,
		"[" + call + "," + call + "]", `{"id":1.5}`, `{"id":9007199254740992}`, `{"id":1e2}`, `{"id":-9007199254740993}`,
		"[" + strings.TrimSuffix(strings.Repeat(`{"method":"ping"},`, maxBatch+1), ",") + "]"} {
		if _, err := look([]byte(body)); err == nil {
			t.Errorf("%q is let through", body)
		}
	}
}

// FuzzLook: no body makes the SDK execute more calls than are counted.
func FuzzLook(f *testing.F) {
	call := callOf(`1`, "echo", `{}`)
	for _, seed := range []string{
		call, "[" + call + "," + call + "]", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}`, `{"jsonrpc":"2.0","id":1,"\u006dethod":"tools\u002fcall"}`,
		`{"jsonrpc":"2.0","id":1,"METHOD":"tools/call"}`, call + "garbage", `{"jsonrpc":"2.0","x":"` + "\t" + `","id":1,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","x":01,"id":1,"method":"tools/call"}`, "\ufeff" + call, "\f" + call, `null`, `[` + call + `,]`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		found, err := look(body)
		counted := found.calls
		if got := executed(body); err == nil && got > counted {
			t.Fatalf("the SDK executes %d calls of %q, counted are %d", got, body, counted)
		}
	})
}

func BenchmarkHTTP(b *testing.B) {
	record := `{"id":"7f9c24e8","at":"2026-01-02T03:04:05Z","outcome":"delivered","execution_id":null,"attempts":1,"error":"a \"quoted\" thing"}`
	for name, size := range map[string]int{"1KB": 1 << 10, "16KB": 16 << 10} {
		b.Run(name, func(b *testing.B) {
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, "["+strings.Repeat(record+",", size/len(record))+record+"]")
			}))
			defer api.Close()
			g := gateway.New(gateway.Options{Catalog: echo(), Upstream: upstream(b, api.URL)})
			h := New(g, "1", slog.New(slog.DiscardHandler)).Handler(HTTPOptions{RateLimit: 1e9})
			body := callOf(`1`, "echo", `{"q":"x"}`)
			b.ReportAllocs()
			for b.Loop() {
				if got := serve(h, post(body)); got.Code != 200 {
					b.Fatal(got.Body)
				}
			}
		})
	}
}

func TestBuckets(t *testing.T) {
	t.Parallel()
	now := time.Now()
	at := func(s float64) time.Time { return now.Add(time.Duration(s * float64(time.Second))) }
	l := newRateLimits(2, 3) // bursts of 4 and 6
	one := token(t)
	steps := []struct {
		at    float64
		n     int
		retry int // 0 passes
	}{{0, 0, 0}, {0, 4, 0}, {0, 1, 1}, {0, 4, 2}, {0.4, 1, 1}, {0.5, 1, 0}, {0.5, 1, 1}, {0.2, 1, 1}, {1000, 4, 0}, {1000.5, 1, 0}}
	for i, s := range steps {
		got := 0
		if e := l.take(one, s.n, at(s.at)); e != nil {
			got = e.RetryAfterSeconds
		}
		if got != s.retry {
			t.Errorf("step %d: wait %d s, want %d", i, got, s.retry)
		}
	}
	if e := l.take(one, 5, at(2000)); e == nil || e.Retryable || e.RetryAfterSeconds != 0 {
		t.Errorf("more than ever fits: %v", e)
	}
}

// TestBucketsTogether: many callers share the limit of the gateway, and what it
// refuses costs them nothing of their own.
func TestBucketsTogether(t *testing.T) {
	t.Parallel()
	now := time.Now()
	l := newRateLimits(5, 2)
	passed := 0
	for i := range 10 {
		tok := tokenNamed(t, fmt.Sprint("token", i))
		if e := l.take(tok, 1, now); e == nil {
			passed++
		} else if !strings.Contains(e.Message, "this gateway") {
			t.Errorf("got %s", e.Message)
		}
	}
	if passed != 4 {
		t.Errorf("%d calls passed, want 4", passed)
	}
	if e := l.take(tokenNamed(t, "token9"), 4, now.Add(2*time.Second)); e != nil {
		t.Errorf("a refused caller was charged: %s", e.Message)
	}
	for i := range maxCallers + 10 {
		_ = l.take(tokenNamed(t, fmt.Sprint("more", i)), 1, now.Add(3*time.Second))
	}
	if n := l.callers.Len(); n != maxCallers {
		t.Errorf("the table holds %d callers", n)
	}
}
