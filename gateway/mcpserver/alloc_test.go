package mcpserver

import (
	"net/http/httptest"
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
	for range 3 {
		serve(h, post(string(body)))
	}
	for _, c := range []struct {
		what string
		most float64
		run  func()
	}{
		{"reading a request", 1, func() { readExpress(body) }}, // the tool's name
		{"putting an answer together", 1, func() { _, _ = known.call([]byte("1"), result, "") }},
		// The whole, with the test's own request and recorder, and the API's side: two
		// thirds are net/http's, and some more under the race detector.
		{"a call", 160, func() { h.ServeHTTP(httptest.NewRecorder(), post(string(body))) }},
	} {
		if got := testing.AllocsPerRun(200, c.run); got > c.most {
			t.Errorf("%s: %.0f allocations, at most %.0f are expected", c.what, got, c.most)
		} else {
			t.Logf("%s: %.0f allocations", c.what, got)
		}
	}
}
