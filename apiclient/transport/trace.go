package transport

import (
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	apierrors "github.com/postern-mcp/postern/errors"
)

// trace watches each attempt, because only where a request was when it failed
// tells whether the upstream may have acted on it. The first byte written is the mark:
// before it nothing was sent, after it even a failed write proves nothing.
type trace struct {
	next http.RoundTripper
	hook httptrace.ClientTrace

	repeat bool // whether what was sent may be sent again
	max    int  // requests at most

	attempts  int
	connected bool                 // this attempt had a connection
	answered  bool                 // this attempt got the head of an answer
	sent      bool                 // some attempt wrote something
	conn      atomic.Pointer[conn] // of this attempt; read by the connection's goroutine, as are the following
	early     atomic.Bool          // the answer was there before the request
	begun     atomic.Bool          // the first byte of an answer came
}

func (t *trace) hooks() *httptrace.ClientTrace {
	t.hook.GotConn = func(info httptrace.GotConnInfo) {
		if last := t.conn.Load(); last != nil && !t.settle() {
			t.attempts-- // net/http looks for another connection, having written nothing
		}
		c := connOf(info.Conn)
		if c == nil {
			return
		}
		c.begin()
		t.begun.Store(false)
		t.connected = true
		if t.attempts >= t.max || t.sent && !t.repeat {
			// net/http repeats some requests on a kept-alive connection that broke.
			// One that must not leave again fails before its first byte.
			c.seal()
			return
		}
		t.attempts++
		t.conn.Store(c)
	}
	t.hook.GotFirstResponseByte = func() {
		t.begun.Store(true)
		if c := t.conn.Load(); c != nil && c.early() {
			t.early.Store(true)
		}
	}
	return &t.hook
}

// settle takes account of the connection that failed an attempt, on which nothing
// more is written. It reports whether anything was.
func (t *trace) settle() (sent bool) {
	if c := t.conn.Swap(nil); c != nil {
		sent = c.seal()
		t.sent = t.sent || sent
	}
	return sent
}

// errEarly is an answer that the upstream gave before it was asked.
var errEarly = errors.New("the connection held an answer that nobody had asked for")

// RoundTrip implements [http.RoundTripper] for one attempt.
func (t *trace) RoundTrip(req *http.Request) (*http.Response, error) {
	t.connected, t.answered = false, false
	t.conn.Store(nil)
	t.begun.Store(false)
	t.early.Store(false)
	before := t.attempts
	resp, err := t.next.RoundTrip(req)
	if err == nil && t.early.Load() {
		resp.Body.Close()
		resp, err = nil, errEarly // and its connection is sealed below
	}
	if t.attempts == before {
		t.attempts++ // a connection that could not be made was an attempt too
	}
	if err != nil {
		t.settle()
		return nil, err
	}
	t.answered, t.sent = true, true
	return resp, nil
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
