package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	apierrors "github.com/postern-mcp/postern/errors"
)

// maxWait bounds the wait before attempt n+1, which is drawn from
// [0, min(RetryWait·2ⁿ⁻¹, maxWait)]: full jitter keeps callers that failed together
// from coming back together.
const maxWait = 2 * time.Second

// send sends out until there is an answer worth returning. Nearly always that is the
// first, which needs no more than the chain itself; what is to be sent again is handed to
// go-retryablehttp, with the first attempt's outcome as its first. It gets a client of
// its own for each call, over the shared connections: its policy can then depend on the
// operation and on where the attempt failed, and its habit of closing idle connections
// reaches nobody else's.
func (c *Call) send(out *http.Request) (*http.Response, error) {
	c.trace.next = c.up.wire
	c.limits = limits{next: &c.trace, max: c.up.conf.MaxResponseBytes}
	resp, err := c.limits.RoundTrip(out)
	if more, _ := c.again(out.Context(), resp, err); !more {
		return resp, err
	}
	client := retryablehttp.Client{
		HTTPClient:   &http.Client{Transport: &after{&c.limits, resp, err, true}, CheckRedirect: neverFollow},
		RetryMax:     c.up.conf.MaxAttempts - 1,
		CheckRetry:   c.again,
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return c.wait },
		PrepareRetry: c.prepare,
		ErrorHandler: asItCame,
	}
	// Without a body of its own the library does not buffer out's.
	return client.Do(&retryablehttp.Request{Request: out})
}

// after begins with the outcome of an attempt that was made already.
type after struct {
	next  http.RoundTripper
	resp  *http.Response
	err   error
	first bool
}

// RoundTrip implements [http.RoundTripper].
func (a *after) RoundTrip(req *http.Request) (*http.Response, error) {
	if a.first {
		a.first = false
		return a.resp, a.err
	}
	return a.next.RoundTrip(req)
}

// again is the retry policy. It also decides how long to wait: an answer whose
// Retry-After does not fit is better returned now than waited for in vain.
func (c *Call) again(ctx context.Context, resp *http.Response, err error) (bool, error) {
	if c.status = 0; resp != nil {
		c.status = resp.StatusCode
	}
	may := c.repeat || c.unsent && !c.trace.sent
	if !may || c.trace.attempts >= c.up.conf.MaxAttempts || ctx.Err() != nil || !transient(resp, err, c.trace.connected) || c.up.circuits.open(c.op, c.token) {
		return false, nil //nolint:nilerr // the library would put its own error in place of the answer's
	}
	wait := rand.N(min(c.up.conf.RetryWait<<(c.trace.attempts-1), maxWait))
	if resp != nil {
		if asked, ok := apierrors.RetryAfter(resp.Header, time.Now()); ok {
			if asked > c.up.conf.MaxRetryAfter {
				return false, nil
			}
			wait = asked + rand.N(c.up.conf.RetryWait)
		}
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return false, nil
	}
	c.unclear = c.unclear || resp == nil && c.trace.sent || c.status/100 == 5
	c.wait = wait
	c.logRetry(ctx, resp)
	return true, nil
}

// transient reports whether the failure of one attempt says little about the next.
func transient(resp *http.Response, err error, connected bool) bool {
	if err == nil {
		switch resp.StatusCode {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return false
	}
	if _, ok := errors.AsType[*apierrors.Error](err); ok {
		return false // over the limit, and so it would be again
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return false
	}
	// A server that is slow to answer gets no second request on top.
	return !connected || !isTimeout(err)
}

func isTimeout(err error) bool {
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

func (c *Call) logRetry(ctx context.Context, resp *http.Response) {
	if !c.up.conf.Logger.Enabled(ctx, slog.LevelDebug) {
		return
	}
	status := 0
	if resp != nil {
		status = resp.StatusCode
	}
	c.up.conf.Logger.LogAttrs(ctx, slog.LevelDebug, "request is sent again",
		slog.String("operation", c.op.ID), slog.Int("attempts", c.trace.attempts),
		slog.Int("status", status), slog.Duration("wait", c.wait))
}

// prepare gives the next attempt the body from its beginning.
func (c *Call) prepare(req *http.Request) (err error) {
	if c.rewind != nil {
		req.Body, err = c.rewind()
	}
	return err
}

// asItCame returns the last answer instead of "giving up after n attempts",
// and never an answer together with an error.
func asItCame(resp *http.Response, err error, _ int) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func neverFollow(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
