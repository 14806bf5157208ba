package mcpserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/postern-mcp/postern/gateway"
)

// Allocations of the hot path, so that a regression is seen without a clock. Not
// parallel: others' allocations would count.
func TestAllocationsOfTheUsualCall(t *testing.T) {
	body := []byte(callOf(`1`, "echo", `{"q":"x"}`))
	known := &template{before: []byte(`{"content":[`), after: []byte(`}`)}
	result := &gateway.Result{Text: []byte(`{"a":"b"}`)}
	w := newWorld(t)
	h := w.Handler(HTTPOptions{RateLimit: 1e9})
	over := func(body string, change ...func(*http.Request)) func() {
		return func() { h.ServeHTTP(httptest.NewRecorder(), post(body, change...)) }
	}
	call := over(string(body))
	modern := over(strings.Replace(string(body), `"params":{`, `"params":{`+modernMeta+`,`, 1), shapes("echo", "tools/call")["modern"]...)
	list := over(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
	out := make(lineCount)
	c := converse(t, w, StdioOptions{}, out)
	line := func() { c.say(string(body)); <-out }
	<-out // the answer to initialize
	for range 3 {
		call()
		modern()
		list()
		line()
	}
	seen := seenBySDK(w.Server)
	for _, c := range []struct {
		what string
		most float64
		run  func()
	}{
		{"reading a request", 1, func() { readExpress(body) }}, // the tool's name
		{"putting an answer together", 1, func() { known.call([]byte("1"), result, "") }},
		// The whole, with the test's own request and recorder, and the API's side: two
		// thirds are net/http's, and a tenth more under the race detector.
		{"a call", 160, call},
		{"a call at 2026-07-28", 160, modern},
		{"a list", 45, list},
		{"a line", 130, line},
	} {
		if got := testing.AllocsPerRun(200, c.run); got > c.most {
			t.Errorf("%s: %.0f allocations, at most %.0f are expected", c.what, got, c.most)
		} else {
			t.Logf("%s: %.0f allocations", c.what, got)
		}
	}
	if n := seen.Load(); n != 0 {
		t.Errorf("the SDK answered %d of them", n)
	}
}

// lineCount is an output that says when each line was written.
type lineCount chan struct{}

func (l lineCount) Write(p []byte) (int, error) {
	l <- struct{}{}
	return len(p), nil
}
