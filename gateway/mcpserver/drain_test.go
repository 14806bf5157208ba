package mcpserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestDrainWaitsForWhatIsUnderWayAndTurnsTheRestAway(t *testing.T) {
	t.Parallel()
	var d drain
	for range 2 {
		if !d.enter() {
			t.Fatal("a request was turned away before draining")
		}
	}
	idle := d.begin()
	if d.enter() || !d.begun() {
		t.Error("a request went on while draining")
	}
	d.leave()
	select {
	case <-idle:
		t.Error("idle with a request under way")
	default:
	}
	d.leave()
	<-idle
	var unused drain
	<-unused.begin()
}

func TestAPageOfAnAllowedOriginMayCallAndRead(t *testing.T) {
	t.Parallel()
	h := newWorld(t).Handler(HTTPOptions{AllowedOrigins: []string{"https://app.example.com"}})
	ask := func(method, origin string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://localhost/mcp", strings.NewReader("{}"))
		r.Header.Set("Origin", origin)
		r.Header.Set("Access-Control-Request-Method", "POST")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for _, origin := range []string{"https://app.example.com", "http://localhost:3000"} {
		w := ask(http.MethodOptions, origin)
		if w.Code != http.StatusNoContent || w.Header().Get("Access-Control-Allow-Origin") != origin || !strings.Contains(w.Header().Get("Access-Control-Allow-Headers"), "Authorization") {
			t.Errorf("%s: %d %v", origin, w.Code, w.Header())
		}
		if w := ask(http.MethodPost, origin); w.Code != http.StatusUnauthorized || w.Header().Get("Access-Control-Allow-Origin") != origin {
			t.Errorf("%s: a refusal cannot be read: %d %v", origin, w.Code, w.Header())
		}
	}
	if w := ask(http.MethodOptions, "https://evil.example.com"); w.Code != http.StatusForbidden || w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("evil: %d %v", w.Code, w.Header())
	}
}
