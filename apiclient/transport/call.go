package transport

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	apierrors "github.com/postern-mcp/postern/errors"
)

// Call sends the one request of one tool call. It implements the generated
// client's Doer, so the client builds the request and the Call
// decides what of it may leave. It is used once, by one goroutine.
type Call struct {
	up    *Upstream
	op    *Operation
	token Token

	// The parts of the chain that hold state, kept here so that a call is one
	// allocation.
	client retryablehttp.Client
	http   http.Client
	limits limits
	trace  trace
	repeat bool          // whether the request may be sent again
	unsent bool          // whether it may once it was provably not sent
	wait   time.Duration // before the next attempt
	rewind func() (io.ReadCloser, error)

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
	// Repeated says that an attempt before the last may have reached the API.
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
// is otherwise made up. It must be a header value.
func (c *Call) UseIdempotencyKey(key string) { c.answer.IdempotencyKey = key }

// Do checks req, sends what is allowed of it and reads the whole answer. Any
// status is an answer; an error is always an [*apierrors.Error].
func (c *Call) Do(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), c.up.conf.Timeout)
	defer cancel()
	out, err := c.outgoing(ctx, req)
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

// admitted sends out, unless too much is under way or what it goes to is known to fail.
func (c *Call) admitted(ctx, caller context.Context, out *http.Request) (*http.Response, *apierrors.Error) {
	key, refusal := c.up.inFlight.enter(c.token)
	if refusal != nil {
		return nil, refusal
	}
	defer c.up.inFlight.leave(key)
	done, refusal := c.up.circuits.admit(c.op)
	if refusal != nil {
		return nil, refusal
	}
	v := verdict{errSaysLittle, errSaysLittle} // should this panic
	defer func() { done(v) }()
	resp, err := c.send(out)
	c.answer.Attempts, c.answer.Delivery, c.answer.Repeated = c.trace.attempts, c.trace.delivery(), c.trace.before
	if err != nil {
		e := c.failure(ctx, caller, err)
		v = judge(0, e, caller.Err() != nil)
		return nil, e
	}
	v = judge(resp.StatusCode, nil, false)
	return resp, nil
}

// Answer returns what Do received; its zero Status means nothing.
func (c *Call) Answer() Answer { return c.answer }
