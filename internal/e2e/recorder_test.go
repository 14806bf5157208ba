package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// request is what reached the recorder.
type request struct {
	Method, URI, Body string // URI as it was on the wire
	Header            http.Header
}

// recorder is an upstream that remembers every request and answers as it is told.
type recorder struct {
	url    string
	mu     sync.Mutex
	seen   []request
	answer http.HandlerFunc // nil answers {}
}

func record(t testing.TB, answer http.HandlerFunc) *recorder {
	r := &recorder{answer: answer}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	r.seen = append(r.seen, request{req.Method, req.RequestURI, string(body), req.Header.Clone()})
	answer := r.answer
	r.mu.Unlock()
	if answer != nil {
		answer(w, req)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}")
}

// respond changes the answer.
func (r *recorder) respond(answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// take returns the requests since the last take.
func (r *recorder) take() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen
	r.seen = nil
	return seen
}
