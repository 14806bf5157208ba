package mcpserver

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postern-mcp/postern/gateway"
)

// both is a server that answers from templates and one that the SDK answers for alone.
type both struct {
	express, sdk *Handler
}

func newBoth(t testing.TB) *both {
	w := newWorld(t, "hang")
	alone := *w.Server
	alone.sdkAlone = true
	o := HTTPOptions{AllowedOrigins: []string{"https://app.example.com"}}
	return &both{w.Handler(o), alone.Handler(o)}
}

// outcome is what a client sees of an answer, less what is made up for each.
type outcome struct {
	Status int
	Header http.Header
	Body   string
}

var madeUp = regexp.MustCompile(`rq_[0-9a-z]+`)

func outcomeOf(w *httptest.ResponseRecorder) outcome {
	o := outcome{w.Code, maps.Clone(w.Result().Header), madeUp.ReplaceAllString(w.Body.String(), "rq")}
	o.Header.Del("Content-Length") // the other way is chunked
	var v any
	decoder := json.NewDecoder(strings.NewReader(o.Body))
	decoder.UseNumber() // as they are spelled
	if json.Valid([]byte(o.Body)) && decoder.Decode(&v) == nil {
		if batch, ok := v.([]any); ok { // its answers come as they are ready
			slices.SortFunc(batch, func(x, y any) int { return strings.Compare(fmt.Sprint(x), fmt.Sprint(y)) })
		}
		canonical, _ := json.Marshal(v)
		o.Body = string(canonical)
	}
	return o
}

// compare sends a request to both; to the templates twice, for the first may be a
// lesson. It reports whether a template answered.
func (b *both) compare(t *testing.T, request func() *http.Request) (known bool) {
	t.Helper()
	want := outcomeOf(serve(b.sdk, request()))
	for range 2 {
		w := serve(b.express, request())
		known = w.Header().Get("Content-Length") != ""
		if diff := cmp.Diff(want, outcomeOf(w)); diff != "" {
			body, _ := io.ReadAll(request().Body)
			t.Errorf("%.500q %v (-the SDK alone +with templates):\n%s", body, request().Header, diff)
		}
	}
	return known
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// shapes are the headers that requests come with; the first of each are what clients send.
func shapes(tool, method string) map[string][]func(*http.Request) {
	list := map[string][]func(*http.Request){"no version": {header("Mcp-Protocol-Version")}}
	for _, v := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "2099-01-01", "x"} {
		list[v] = []func(*http.Request){header("Mcp-Protocol-Version", v)}
	}
	modern := func(more ...func(*http.Request)) []func(*http.Request) {
		return append([]func(*http.Request){header("Mcp-Protocol-Version", "2026-07-28"), header("Mcp-Method", method), header("Mcp-Name", tool)}, more...)
	}
	list["modern"] = modern()
	list["modern, no name"] = modern(header("Mcp-Name"))
	list["modern, other name"] = modern(header("Mcp-Name", "other"))
	list["modern, two names"] = modern(header("Mcp-Name", tool, tool))
	list["modern, name in base64"] = modern(header("Mcp-Name", "=?base64?ZWNobw==?="))
	list["modern, other method"] = modern(header("Mcp-Method", "ping"))
	list["modern, no method"] = modern(header("Mcp-Method"))
	list["modern, parameter"] = modern(header("Mcp-Param-Q", "x"))
	list["legacy with a name"] = []func(*http.Request){header("Mcp-Name", "other")}
	list["session"] = []func(*http.Request){header("Mcp-Session-Id", "s")}
	list["last event"] = []func(*http.Request){header("Last-Event-Id", "1")}
	list["both accepted"] = []func(*http.Request){header("Accept", "application/json, text/event-stream")}
	list["streams only"] = []func(*http.Request){header("Accept", "text/event-stream")}
	list["anything"] = []func(*http.Request){header("Accept", "*/*")}
	list["no accept"] = []func(*http.Request){header("Accept")}
	list["charset"] = []func(*http.Request){header("Content-Type", "application/json; charset=utf-8")}
	list["text"] = []func(*http.Request){header("Content-Type", "text/plain")}
	list["two versions"] = []func(*http.Request){header("Mcp-Protocol-Version", "2025-11-25", "2026-07-28")}
	list["page"] = []func(*http.Request){header("Origin", "https://app.example.com")}
	return list
}

// bodies are requests of every kind and many that are none.
func bodies() []string {
	list := []string{}
	for _, id := range []string{`1`, `0`, `"a"`, `"\u0061"`, `"<&>"`, `"ä"`, `null`, `-1`, `1.5`, `1e2`, `01`, `9007199254740993`, `999999999999999`, `""`, `{}`, `true`} {
		list = append(list, callOf(id, "echo", `{"q":"x"}`))
	}
	for _, q := range []string{
		`"x"`, `""`, `"a\"b\\c\/\u00e9\ud83d\ude00"`, `"\ud800"`, `"\u0000"`, "\"\xff\"", `null`, `7`, `1e400`, `1E5`, `-0.0`, `12345678901234567890`,
		strings.Repeat("9", 400), `{"a":1}`, `[1]`, strings.Repeat("[", 90) + strings.Repeat("]", 90), strings.Repeat("[", 2000) + strings.Repeat("]", 2000),
		`"302!there"`, `"404!gone"`, `"401!no"`, `"500!broken"`, `"long"`, `"` + strings.Repeat("long ", 1000) + `"`,
	} {
		list = append(list, callOf(`1`, "echo", `{"q":`+q+`}`), strings.Replace(callOf(`1`, "echo", `{"q":`+q+`}`), `"params":{`, `"params":{`+modernMeta+`,`, 1))
	}
	for _, tool := range []string{"image", "bytes"} {
		list = append(list, callOf(`1`, tool, `{"q":"x"}`), callOf(`1`, tool, `{"q":"long"}`), callOf(`1`, tool, `{"q":"longer"}`))
	}
	for _, arguments := range []string{`{}`, `null`, `[]`, `7`, `{"q":"a","q":"b"}`, `{"Q":"a"}`, `{"z":1}`, ` { "q" : "x" } `} {
		list = append(list, callOf(`1`, "echo", arguments))
	}
	for _, meta := range []string{
		`{}`, `[]`, `7`, `{"progressToken":"p"}`, `{"progressToken":1.5}`, `{"progressToken":null}`, `{"progressToken":{}}`, `{"progressToken":[true]}`, `{"progressToken":1e400}`, `{"progressToken":1,"progressToken":2}`,
		`{"claudecode/toolUseId":"toolu_01","traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}`, `{"":1}`, `{"x":"\ud800"}`, `{"x":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`,
		`{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}`, `{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`, `{"io.modelcontextprotocol\/protocolVersion":"2026-07-28","x":1}`, `{"io.modelcontextprotocol/protocolVersion":7,"x":1}`,
		`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/protocolVersion":"2025-11-25"}`, `{"io.modelcontextprotocol/related-task":{"taskId":"t"}}`, `{"io.modelcontextprotocol/logLevel":"debug"}`,
		`{"progressToken":3,` + modernMeta[len(`"_meta":{`):], `{"io.modelcontextprotocol/clientInfo":[],"progressToken":3}`, `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9}`,
	} {
		list = append(list, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"q":"x"},"_meta":`+meta+`}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":`+meta+`}}`)
	}
	call := callOf(`1`, "echo", `{"q":"x"}`)
	list = append(list,
		callOf(`1`, "image", `{}`), callOf(`1`, "bytes", `{}`), callOf(`1`, "panic", `{}`), callOf(`1`, "nope", `{}`), callOf(`1`, "ECHO", `{}`), callOf(`1`, `\u0065cho`, `{}`), callOf(`1`, "", `{}`),
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","task":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"nope"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"postern/idempotency-key":"k"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"postern/idempotency-key":7}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":null}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":"l","method":"tools/list","params":{}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":""}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"id":1,"method":"tools/call","params":{"name":"echo"}}`, `{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"echo"}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"},"x":1}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"echo"}}`, `{"JSONRPC":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`, `{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"name":"echo"}}`,
		"["+call+"]", "["+call+","+callOf(`2`, "echo", `{}`)+"]", "["+callOf(`1`, "echo", `{"q":"long"}`)+","+call+`,{"jsonrpc":"2.0","id":3,"method":"tools/list"},`+callOf(`4`, "echo", `{"q":"long"}`)+`,{"jsonrpc":"2.0","id":5,"method":"tools/list"}]`, "[]", "", " ", "{", "null", "\ufeff"+call, " \n"+call+"\n", call+"x", call+call, call[:len(call)-1], strings.Replace(call, `"x"`, "\"\x01\"", 1),
	)
	return list
}

// Whatever is sent, a template answers as the SDK does.
func TestTemplatesAnswerAsTheSDKDoes(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	known := 0
	for _, body := range bodies() {
		method := "tools/call"
		if strings.Contains(body, "tools/list") {
			method = "tools/list"
		}
		for _, name := range slices.Sorted(maps.Keys(shapes("echo", method))) {
			if b.compare(t, func() *http.Request { return post(body, shapes("echo", method)[name]...) }) {
				known++
			}
		}
	}
	t.Logf("%d of %d requests were answered from templates", known, len(bodies())*len(shapes("", "")))
	if known < 300 {
		t.Error("hardly anything was answered from templates")
	}
}

// An idempotency key belongs to its call: a template has no place for it.
func TestACallWithAnIdempotencyKeyIsTheSDKs(t *testing.T) {
	t.Parallel()
	for _, meta := range []string{`{"postern/idempotency-key":"k"}`, `{"x":{},"postern\u002fidempotency-key":"k"}`, `{"postern\/idempotency-key":"k"}`} {
		if _, ok := readExpress([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":` + meta + `}}`)); ok {
			t.Errorf("%s is left to a template", meta)
		}
	}
	if _, ok := readExpress([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",` + modernMeta + `}}`)); !ok {
		t.Error("the usual _meta is not")
	}
}

// What clients add to each call anew, such as a progress token, makes no kind of its own;
// and an answer is learned from however long it is.
func TestUsualRequestsAreOfOneKind(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	for _, meta := range []string{`{"progressToken":1}`, `{"progressToken":"2"}`, `{"claudecode/toolUseId":"toolu_3","progressToken":3}`, `{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}`} {
		answer := serve(b.express, post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"q":"long"},"_meta":`+meta+`}}`))
		if known := b.express.guard.templates.known.Load(); known == nil || len(*known) != 1 {
			t.Errorf("%s: not one kind: %v", meta, known)
		}
		if answer.Body.Len() < long {
			t.Errorf("%s: %d bytes", meta, answer.Body.Len())
		}
	}
}

// No call is of the kind of a list, whatever its headers say.
func TestAListAndACallAreNeverOfOneKind(t *testing.T) {
	t.Parallel()
	list := func() *http.Request {
		return post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, header("Accept", "text/event-stream, application/json"))
	}
	call := func() *http.Request {
		return post(callOf(`1`, "echo", `{"q":"x"}`), header("Accept", "ltext/event-stream, application/json"))
	}
	for _, order := range [][]func() *http.Request{{call, list}, {list, call}} {
		b := newBoth(t)
		for _, request := range order {
			b.compare(t, request)
		}
	}
}

// What is long makes no kind, since kinds are kept; what decides nothing may be long.
func TestKindsAreBounded(t *testing.T) {
	t.Parallel()
	for key, short := range map[string]bool{"io.modelcontextprotocol/x": false, "x": true} {
		for _, params := range []string{`"name":"echo","_meta"`, `"_meta"`} {
			method := map[bool]string{true: "call", false: "list"}[strings.Contains(params, "name")]
			_, ok := readExpress([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/` + method + `","params":{` + params + `:{"` + key + `":"` + strings.Repeat("x", maxKind) + `"}}}`))
			if ok != short {
				t.Errorf("%s, %s: left to a template is %t", method, key, ok)
			}
		}
	}
}

// Who has no token that the API takes cannot make others' kinds unknown.
func TestStrangersPushNoTemplateOut(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	usual := post(callOf(`1`, "echo", `{"q":"x"}`))
	serve(b.express, usual)
	for i := range 2 * maxTemplates {
		accept := header("Accept", fmt.Sprintf("application/json;x=%d", i))
		serve(b.express, post(callOf(`1`, "echo", `{"q":"401!no"}`), accept))
		serve(b.express, post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, accept))
	}
	if w := serve(b.express, post(callOf(`1`, "echo", `{"q":"x"}`))); w.Header().Get("Content-Length") == "" {
		t.Error("the usual request is not known any more")
	}
}

// Nothing that a client makes up keeps the usual requests from being known.
func TestTemplatesAreBounded(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	for i := range 3 * maxTemplates {
		b.express.ServeHTTP(httptest.NewRecorder(), post(callOf(`1`, "echo", `{}`), header("Accept", fmt.Sprintf("application/json;x=%d", i))))
	}
	if n := len(*b.express.guard.templates.known.Load()); n > maxTemplates {
		t.Errorf("%d kinds", n)
	}
	usual := func() *http.Request { return post(callOf(`1`, "echo", `{"q":"x"}`)) }
	if !b.compare(t, usual) {
		t.Error("the usual request is not known")
	}
}

// A client that hangs up, and a gateway that must stop, end a call that a template answers.
func TestATemplatesCallEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.Handler(HTTPOptions{})
	serve(h, post(callOf(`1`, "echo", `{}`)))
	serve(h, post(callOf(`1`, "echo", `{}`)))
	if h.guard.templates.known.Load() == nil {
		t.Fatal("nothing was learned")
	}
	done := make(chan *httptest.ResponseRecorder)
	go func() { done <- serve(h, post(callOf(`1`, "hang", `{}`))) }()
	waitFor(t, "the call", w.hanging)
	h.Expire()
	waitFor(t, "the end of the call", w.ended)
	select {
	case r := <-done:
		if !strings.Contains(r.Body.String(), `\"code\":\"canceled\"`) {
			t.Error(r.Body)
		}
	case <-time.After(10 * time.Second):
		t.Error("no answer")
	}
}

// A panic outside the call's own handling is an answer, as on the SDK's way.
func TestAPanicBehindATemplateIsAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.Handler(HTTPOptions{})
	serve(h, post(callOf(`1`, "echo", `{}`)))
	w.gateway = gateway.New(gateway.Options{Catalog: w.gateway.Catalog()}) // it has no API
	// The id is the caller's token, which no error repeats.
	r := serve(h, post(callOf(`"viat_pat_MARKED/secret+value="`, "echo", `{}`)))
	if r.Code != http.StatusOK || r.Body.String() != `{"jsonrpc":"2.0","id":"[redacted]","error":{"code":-32603,"message":"`+panicked+`"}}` {
		t.Errorf("%d %s", r.Code, r.Body)
	}
	if !strings.Contains(w.log.String(), "panic in a request") {
		t.Error("the panic is not in the log")
	}
}

// A conversation over lines is the same with templates and without.
func TestTemplatesOfLinesAnswerAsTheSDKDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	alone := *w.Server
	alone.sdkAlone = true
	// Asked again and again, so that the later ones are answered from templates.
	say := func(s *Server, lines ...string) []string {
		var answers []string
		seen := seenBySDK(s)
		defer func() {
			if got := int(seen.Load()); (got > len(lines)*3/4) != s.sdkAlone {
				t.Errorf("of %d lines the SDK answered %d calls and lists", len(lines), got)
			}
		}()
		c := converse(t, &world{Server: s, log: w.log}, StdioOptions{}, nil)
		c.answered(t, 1)
		for _, line := range lines {
			before := strings.Count(c.out.String(), "\n")
			c.say(line)
			if strings.Contains(line, "notifications/") {
				continue
			}
			answers = append(answers, madeUp.ReplaceAllString(c.answered(t, before+1)[before], "rq"))
		}
		_ = c.in.Close()
		if err := c.end(t, 5*time.Second); err != nil {
			t.Error(err)
		}
		return answers
	}
	var lines []string
	for _, body := range bodies() {
		if body = strings.TrimSpace(body); body == "" || strings.HasPrefix(body, "[") || strings.ContainsAny(body, "\n") || !strings.Contains(body, `"id"`) || strings.Contains(body, `"result"`) || strings.Contains(body, `"initialize"`) || strings.Contains(body, `"id":null`) {
			continue
		}
		lines = append(lines, body, body)
	}
	for name, lines := range map[string][]string{"before initialized": lines, "after": append([]string{`{"jsonrpc":"2.0","method":"notifications/initialized"}`}, lines...)} {
		if diff := cmp.Diff(say(&alone, lines...), say(w.Server, lines...)); diff != "" {
			t.Errorf("%s (-the SDK alone +with templates):\n%s", name, diff)
		}
	}
}

// FuzzTemplates compares the two for any body under the usual headers.
func FuzzTemplates(f *testing.F) {
	b := newBoth(f)
	for _, body := range bodies() {
		if len(body) < 2000 {
			f.Add([]byte(body), true)
			f.Add([]byte(body), false)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, modern bool) {
		b.compare(t, func() *http.Request {
			if modern {
				return post(string(body), header("Mcp-Protocol-Version", "2026-07-28"), header("Mcp-Method", "tools/call"), header("Mcp-Name", "echo"))
			}
			return post(string(body))
		})
	})
}
