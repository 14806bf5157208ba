package transport

import (
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	apierrors "github.com/postern-mcp/postern/errors"
)

// trace watches each attempt, because only where a request was when it failed
// tells whether the upstream may have acted on it. A connection is the mark:
// without one nothing was sent; with one even a failed write proves nothing.
type trace struct {
	next http.RoundTripper
	hook httptrace.ClientTrace

	// replaysUnsent is set where net/http replays a request only after it wrote no
	// byte of it, so that looking for another connection is proof of that.
	replaysUnsent bool

	last      int // attempts after which one is left
	attempts  int
	connected bool        // this attempt got a connection
	answered  bool        // this attempt got the head of an answer
	sent      bool        // some attempt got a connection
	before    bool        // some attempt before this one got a connection
	begun     atomic.Bool // this attempt got the first byte of an answer; set by the connection's goroutine
}

func (t *trace) hooks() *httptrace.ClientTrace {
	// net/http replays some requests on a fresh connection without telling;
	// each replay gets a connection and so counts as an attempt.
	t.hook.GetConn = func(string) {
		if t.replaysUnsent {
			t.connected, t.sent = false, false
		}
	}
	t.hook.GotConn = func(httptrace.GotConnInfo) {
		t.attempts++
		t.before = t.sent
		t.connected, t.sent = true, true
		t.begun.Store(false)
	}
	t.hook.GotFirstResponseByte = func() { t.begun.Store(true) }
	return &t.hook
}

// RoundTrip implements [http.RoundTripper] for one attempt.
func (t *trace) RoundTrip(req *http.Request) (*http.Response, error) {
	t.connected, t.answered = false, false
	t.begun.Store(false)
	if t.attempts > 0 && t.attempts == t.last {
		// One attempt is left, and a replay by net/http would be one too many.
		req = req.WithContext(req.Context())
		once(req, req.Body == nil || req.Body == http.NoBody)
	}
	resp, err := t.next.RoundTrip(req)
	t.answered = err == nil
	if !t.connected {
		t.attempts++ // a connection that could not be made was an attempt too
	}
	return resp, err
}

// delivery sums up all attempts: an answer to the last is what counts, else
// whether any may have reached the upstream.
func (t *trace) delivery() apierrors.Delivery {
	switch {
	case t.answered:
		return apierrors.Answered
	case t.sent:
		return apierrors.Unknown
	}
	return apierrors.NotSent
}
