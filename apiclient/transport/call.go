package transport

import (
	"context"
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
	wait   time.Duration // before the next attempt

	answer Answer
}

// Answer is what came back, whatever its status. Its body is complete unless
// Truncated, and is not copied: treat it as read-only.
type Answer struct {
	Status    int
	Header    http.Header
	Body      []byte
	Truncated bool
	// Attempts counts the requests made, replays by net/http included.
	Attempts int
	// Delivery says how far the request got, also after an error.
	Delivery apierrors.Delivery
}

// NewCall returns a Call that sends one request of op with the given token.
func (u *Upstream) NewCall(token Token, op *Operation) *Call {
	return &Call{up: u, op: op, token: token, answer: Answer{Delivery: apierrors.NotSent}}
}

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
	resp, err := c.send(out)
	c.answer.Attempts, c.answer.Delivery = c.trace.attempts, c.trace.delivery()
	if err != nil {
		return nil, c.failure(ctx, req.Context(), err)
	}
	body := resp.Body.(*body)
	c.answer.Status, c.answer.Header = resp.StatusCode, resp.Header
	c.answer.Body, c.answer.Truncated = body.data, body.truncated
	return resp, nil
}

// Answer returns what Do received; its zero Status means nothing.
func (c *Call) Answer() Answer { return c.answer }
