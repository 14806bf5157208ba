package transport

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
)

// outgoing returns the request that really leaves: checked, with the headers
// that are allowed, the token, and the hooks that follow it.
func (c *Call) outgoing(ctx context.Context, req *http.Request) (*http.Request, error) {
	if req.Method != c.op.Method {
		return nil, defect("the request does not have the operation's method")
	}
	if err := c.up.checkURL(c.op, req.URL); err != nil {
		return nil, err
	}
	header, err := c.up.headers(c.op, req.Header)
	if err != nil {
		return nil, err
	}
	c.idempotencyKey(header)
	out := req.WithContext(httptrace.WithClientTrace(ctx, c.trace.hooks()))
	out.Header = header
	// Empty, so that they come from the URL and the body.
	out.Host, out.Trailer, out.TransferEncoding, out.Close = "", nil, nil, false
	if err := c.authorize(out); err != nil {
		return nil, err
	}
	empty := out.Body == nil || out.Body == http.NoBody
	c.rewind = out.GetBody
	rewindable := empty || c.rewind != nil
	c.repeat = c.op.repeatable() && rewindable
	c.unsent = c.op.Retry != RetryNever && rewindable
	c.trace.replaysUnsent = !c.repeat
	if c.op.Retry == RetryNever || !c.repeat && replayable(out) {
		once(out, empty)
	}
	return out, nil
}

// idempotencyKey makes up a value for the operation's idempotency header, unless the
// caller has given one. It must be as good as unique, not secret.
func (c *Call) idempotencyKey(header http.Header) {
	name := c.op.IdempotencyHeader
	if name == "" {
		return
	}
	if given := header.Get(name); given != "" {
		c.answer.IdempotencyKey = given
		return
	}
	if c.answer.IdempotencyKey == "" {
		c.answer.IdempotencyKey = rand.Text()
	}
	header.Set(name, c.answer.IdempotencyKey)
}

// replayable reports what net/http sends again by itself on a kept-alive connection
// that broke after the request was written.
func replayable(out *http.Request) bool {
	switch out.Method {
	case "GET", "HEAD", "OPTIONS", "TRACE":
		return true
	}
	return out.Header.Get("Idempotency-Key") != "" || out.Header.Get("X-Idempotency-Key") != ""
}

// once keeps net/http from sending out a second time by itself. What it still sends
// again is an empty write of which no byte was written, or that has an idempotency key.
func once(out *http.Request, empty bool) {
	out.GetBody = nil
	if !empty {
		return
	}
	switch out.Method {
	case "GET", "HEAD", "OPTIONS", "TRACE":
		// An empty body of unknown length cannot be rewound; for these methods
		// net/http looks into it and sends nothing.
		out.Body = io.NopCloser(strings.NewReader(""))
	}
}
