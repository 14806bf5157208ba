package transport

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/http/httptrace"
)

// outgoing returns the request that really leaves, but for the token: checked, with
// the headers that are allowed and the hooks that follow it.
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
	c.rewind = out.GetBody
	rewindable := out.Body == nil || out.Body == http.NoBody || c.rewind != nil
	c.repeat = c.op.repeatable() && rewindable
	c.unsent = c.op.Retry != RetryNever && rewindable
	c.trace.repeat, c.trace.max = c.repeat, c.up.conf.MaxAttempts
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
