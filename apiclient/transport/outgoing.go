package transport

import (
	"context"
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
	out := req.WithContext(httptrace.WithClientTrace(ctx, c.trace.hooks()))
	out.Header = header
	// Empty, so that they come from the URL and the body.
	out.Host, out.Trailer, out.TransferEncoding, out.Close = "", nil, nil, false
	if err := c.authorize(out); err != nil {
		return nil, err
	}
	empty := out.Body == nil || out.Body == http.NoBody
	if c.repeat = c.op.repeatable() && (empty || out.GetBody != nil); !c.repeat {
		once(out, empty)
	}
	return out, nil
}

// once keeps net/http from sending out a second time by itself. On a
// kept-alive connection that turns out dead it does so where the method or an
// Idempotency-Key allows it and the body is empty or can be rewound. What it
// still sends again is an empty write of which no byte was written, or that
// has such a key.
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
