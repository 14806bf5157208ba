package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// way is one way to speak to the gateway.
type way struct{ transport, revision string }

const (
	legacy = "2025-11-25" // initialize, then requests
	modern = "2026-07-28" // every request says who asks
)

var ways = []way{{"stdio", legacy}, {"stdio", modern}, {"http", legacy}, {"http", modern}}

// eachWay runs a test over both transports at both revisions.
func eachWay(t *testing.T, f func(t *testing.T, w way)) {
	for _, w := range ways {
		t.Run(w.transport+"/"+w.revision, func(t *testing.T) {
			t.Parallel()
			f(t, w)
		})
	}
}

// peer speaks raw JSON-RPC to a gateway of its own, one request at a time, so
// that a test decides about every byte.
type peer struct {
	way
	stdio    *stdio
	process  *process
	endpoint string
	token    string
	header   http.Header // HTTP: sent with every request
	http     *http.Client
	last     int    // id of the latest request
	more     string // further members of each request's _meta
	// watch sees every message; nil for nobody.
	watch func(direction, message string)
}

// dial starts a gateway and gets as far as the first request.
func dial(t testing.TB, w way, s settings) *peer {
	t.Helper()
	p := newPeer(t, w, s)
	if w.revision == legacy {
		p.initialize(t)
	}
	return p
}

func newPeer(t testing.TB, w way, s settings) *peer {
	t.Helper()
	p := &peer{way: w, token: s.token, header: http.Header{}}
	if w.transport == "stdio" {
		p.stdio = startStdio(t, s)
		p.process = p.stdio.process
		return p
	}
	p.process, p.endpoint = serve(t, s)
	p.http = httpClient(t)
	return p
}

// httpClient is a client whose connections end with the test.
func httpClient(t testing.TB) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

const clientInfo = `{"name":"e2e","version":"1"}`

func (p *peer) initialize(t testing.TB) {
	t.Helper()
	r := p.request(t, "initialize", `{"protocolVersion":"`+p.revision+`","capabilities":{},"clientInfo":`+clientInfo+`}`)
	if !strings.Contains(r, `"protocolVersion":"`+p.revision+`"`) {
		t.Fatalf("initialize: %s", r)
	}
	p.notify(t, "notifications/initialized")
}

func (p *peer) notify(t testing.TB, method string) {
	message := `{"jsonrpc":"2.0","method":"` + method + `"}`
	p.see(">", message)
	if p.stdio != nil {
		p.stdio.send(t, message)
		return
	}
	p.post(t, message, method, "")
}

func (p *peer) see(direction, message string) {
	if p.watch != nil {
		p.watch(direction, message)
	}
}

// protocolMeta is what a request's _meta has at the modern revision instead of a handshake.
const protocolMeta = `"io.modelcontextprotocol/protocolVersion":"` + modern + `",` +
	`"io.modelcontextprotocol/clientInfo":` + clientInfo + `,"io.modelcontextprotocol/clientCapabilities":{}`

// message spells a request; params is a JSON object.
func (p *peer) message(method, params string) string {
	p.last++
	members := p.more
	if p.revision == modern {
		members = strings.Trim(protocolMeta+","+p.more, ",")
	}
	if members != "" {
		comma := ","
		if params == "{}" {
			comma = ""
		}
		params = strings.TrimSuffix(params, "}") + comma + `"_meta":{` + members + "}}"
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, p.last, method, params)
}

// request sends a request and returns the answer's bytes.
func (p *peer) request(t testing.TB, method, params string) string {
	t.Helper()
	name := ""
	if m := toolName.FindStringSubmatch(params); m != nil {
		name = m[1]
	}
	message := p.message(method, params)
	p.see(">", message)
	var answer string
	if p.stdio != nil {
		p.stdio.send(t, message)
		answer = p.stdio.receive(t)
	} else {
		answer, _ = p.post(t, message, method, name)
	}
	p.see("<", answer)
	return answer
}

var toolName = regexp.MustCompile(`^\{"name":"([^"]*)"`)

// post sends a message over HTTP as a client of the revision does.
func (p *peer) post(t testing.TB, message, method, name string) (string, *http.Response) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", p.endpoint, strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = p.headers(method, name)
	resp, body := p.exchange(t, req)
	return body, resp
}

func (p *peer) headers(method, name string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if p.token != "" {
		h.Set("Authorization", "Bearer "+p.token)
	}
	if method != "initialize" {
		h.Set("Mcp-Protocol-Version", p.revision)
	}
	if p.revision == modern {
		h.Set("Mcp-Method", method)
		if name != "" {
			h.Set("Mcp-Name", name)
		}
	}
	for key, values := range p.header {
		h[key] = values
	}
	return h
}

// result is the outcome of a tool call as it was on the wire.
type result struct {
	text    string
	isError bool
	rpc     int    // code of a JSON-RPC error, 0 for none
	raw     string // the whole answer
	failure failure
}

// failure is the error envelope.
type failure struct {
	Code       string
	Status     int
	Reason     string
	Message    string
	Retryable  *bool
	RetryAfter int `json:"retry_after_seconds"`
	Delivery   string
	RequestID  string `json:"request_id"`
	Hint       string
	Pointer    string
	Expected   string
	Candidates []string
	Upstream   struct{ Code string }
}

// call calls a tool; arguments are the bytes of a JSON object.
func (p *peer) call(t testing.TB, tool, arguments string) result {
	t.Helper()
	return readResult(t, p.request(t, "tools/call", callParams(tool, arguments)))
}

func callParams(tool, arguments string) string {
	return fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments)
}

// readResult reads an answer to tools/call and checks what every one must be.
func readResult(t testing.TB, raw string) result {
	t.Helper()
	var answer struct {
		Result *struct {
			Content           []struct{ Type, Text string }
			IsError           *bool
			StructuredContent json.RawMessage
		}
		Error *struct{ Code int }
	}
	if err := json.Unmarshal([]byte(raw), &answer); err != nil {
		t.Fatalf("the answer is not JSON: %v\n%.2000s", err, raw)
	}
	r := result{raw: raw}
	if answer.Error != nil {
		r.rpc = answer.Error.Code
		return r
	}
	if answer.Result == nil || len(answer.Result.Content) != 1 || answer.Result.Content[0].Type != "text" ||
		answer.Result.IsError == nil || answer.Result.StructuredContent != nil {
		t.Fatalf("expected one text block, an explicit isError and no structuredContent:\n%.2000s", raw)
	}
	r.text, r.isError = answer.Result.Content[0].Text, *answer.Result.IsError
	if r.isError {
		r.failure = readEnvelope(t, r.text)
	}
	return r
}

// readEnvelope reads an error envelope and checks what every one must have.
func readEnvelope(t testing.TB, text string) failure {
	t.Helper()
	var envelope struct{ Error failure }
	if err := json.Unmarshal([]byte(text), &envelope); err != nil {
		t.Fatalf("no envelope: %v\n%.2000s", err, text)
	}
	if f := envelope.Error; f.Code == "" || f.Message == "" || f.Retryable == nil || f.Delivery == "" {
		t.Errorf("the envelope lacks code, message, retryable or delivery: %.2000s", text)
	}
	return envelope.Error
}

// ok calls a tool that must succeed and returns its text.
func (p *peer) ok(t testing.TB, tool, arguments string) string {
	t.Helper()
	r := p.call(t, tool, arguments)
	if r.isError || r.rpc != 0 {
		t.Fatalf("%s %.300s: %.2000s", tool, arguments, r.raw)
	}
	return r.text
}
