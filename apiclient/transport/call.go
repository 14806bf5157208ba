package transport

import (
	"context"
	"io"
	"maps"
	"net/http"
	"time"

	apierrors "github.com/postern-mcp/postern/errors"
)

// Call sends the one request of one tool call. It implements the generated
// client's Doer, so the client builds the request and the Call
// decides what of it may leave. It is used once, by one goroutine.
type Call struct {
	up    *Upstream
	op    *Operation
	token Token
	old   Token // the one before, if it was renewed
	renew func() Token
	plain *http.Request // what is sent, without the token

	// The parts of the chain that hold state, kept here so that a call is one
	// allocation.
	limits  limits
	trace   trace
	unclear bool          // whether an attempt before the last may have been carried out
	status  int           // of the latest answer
	repeat  bool          // whether the request may be sent again
	unsent  bool          // whether it may once it was provably not sent
	wait    time.Duration // before the next attempt
	rewind  func() (io.ReadCloser, error)

	answer Answer
}

// Answer is what came back, whatever its status. Its body is complete unless
// Truncated, and is not copied: treat it as read-only. After an error there is no
// status, and the body is what was read before an answer broke off.
type Answer struct {
	Status    int
	Header    http.Header
	Body      []byte
	Truncated bool
	// Attempts counts the requests made, replays by net/http included.
	Attempts int
	// Repeated says that an attempt before the last may have been carried out.
	Repeated bool
	// IdempotencyKey is what the operation's idempotency header held on each attempt.
	IdempotencyKey string
	// Delivery says how far the request got, also after an error.
	Delivery apierrors.Delivery
}

// NewCall returns a Call that sends one request of op with the given token.
func (u *Upstream) NewCall(token Token, op *Operation) *Call {
	return &Call{up: u, op: op, token: token, answer: Answer{Delivery: apierrors.NotSent}}
}

// UseIdempotencyKey makes key the value of the operation's idempotency header, which
// is otherwise made up. It must be a header value; an operation without such a header
// takes no notice.
func (c *Call) UseIdempotencyKey(key string) {
	if c.op.IdempotencyHeader != "" {
		c.answer.IdempotencyKey = key
	}
}

// RenewToken makes the call ask for the token again when the API answers 401, because
// it may have been replaced in the meantime. With another one the request is sent once
// more: what was refused was not carried out. It counts as an attempt.
func (c *Call) RenewToken(renew func() Token) { c.renew = renew }

// Mask is [Token.Mask], and MaskCut [Token.MaskCut], for every token of the call.
func (c *Call) Mask(b []byte) []byte { return c.old.Mask(c.token.Mask(b)) }

// MaskCut is for a text that was cut off.
func (c *Call) MaskCut(b []byte) []byte { return c.old.MaskCut(c.token.MaskCut(b)) }

// Do checks req, sends what is allowed of it and reads the whole answer. Any
// status is an answer; an error is always an [*apierrors.Error].
func (c *Call) Do(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), c.up.conf.Timeout)
	defer cancel()
	out, err := c.outgoing(ctx, req)
	if err == nil {
		out, err = c.authorized(out)
	}
	if err != nil {
		if req.Body != nil {
			req.Body.Close() // as http.Client does
		}
		return nil, err
	}
	resp, failure := c.admitted(ctx, req.Context(), out)
	if failure != nil {
		return nil, failure
	}
	body := resp.Body.(*body)
	c.answer.Status, c.answer.Header = resp.StatusCode, resp.Header
	c.answer.Body, c.answer.Truncated = body.data, body.truncated
	return resp, nil
}

// authorized is the request with the token; what it was without is kept for another.
func (c *Call) authorized(out *http.Request) (*http.Request, error) {
	if c.renew == nil {
		return out, c.authorize(out)
	}
	c.plain = out
	with := *out
	with.Header = maps.Clone(out.Header)
	return &with, c.authorize(&with)
}

// admitted sends out, unless what it goes to is known to fail.
func (c *Call) admitted(ctx, caller context.Context, out *http.Request) (*http.Response, *apierrors.Error) {
	a, refusal := c.up.circuits.admit(c.op, c.token)
	if refusal != nil {
		return nil, refusal
	}
	v := verdict{errSaysLittle, errSaysLittle} // should this panic
	defer func() { c.up.circuits.done(a, v) }()
	resp, err := c.send(out)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		if again := c.renewed(); again != nil {
			resp, err = c.send(again)
		}
	}
	c.answer.Attempts, c.answer.Delivery, c.answer.Repeated = c.trace.attempts, c.trace.delivery(), c.unclear
	if err != nil {
		e := c.failure(ctx, caller, err)
		v = judge(0, e, caller.Err() != nil)
		return nil, e
	}
	v = judge(resp.StatusCode, nil, false)
	return resp, nil
}

// renewed is the request with another token than the one that was refused; nil if there
// is none, or no attempt left.
func (c *Call) renewed() *http.Request {
	if c.renew == nil || c.trace.attempts >= c.up.conf.MaxAttempts || !c.unsent {
		return nil
	}
	token := c.renew()
	if token.IsZero() || token.equal(c.token) {
		return nil
	}
	c.old, c.token = c.token, token
	out, err := c.authorized(c.plain)
	if err != nil || c.prepare(out) != nil {
		return nil
	}
	// What is refused was not carried out, whatever the method.
	c.trace.sent = c.unclear
	return out
}

// Answer returns what Do received; its zero Status means nothing.
func (c *Call) Answer() Answer { return c.answer }
