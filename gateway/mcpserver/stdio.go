package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/postern-mcp/postern/apiclient/transport"
	apierrors "github.com/postern-mcp/postern/errors"
	"github.com/postern-mcp/postern/gateway"
)

// StdioOptions configure [Server.ServeStdio].
type StdioOptions struct {
	// Token is asked before each call; its error is answered as unauthorized.
	Token func() (transport.Token, error)
	// RateLimit is the calls per second that are let through; 0 is no limit.
	RateLimit float64
	// MaxLine bounds a line in bytes. Default 4 MiB.
	MaxLine int
	// Grace is how long requests already read may take once input has ended or
	// ctx is done. Default 25 s.
	Grace time.Duration
}

// ServeStdio serves one client over newline-delimited JSON-RPC until the input
// ends, ctx is done or output fails (MCP 2025-11-25, Transports, stdio). At the
// end of input every request already read is still answered. It writes nothing
// but JSON-RPC to out.
//
// A read of in that blocks outlives ServeStdio, as nothing can interrupt it.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, o StdioOptions) error {
	if o.MaxLine == 0 {
		o.MaxLine = 4 << 20
	}
	if o.Grace == 0 {
		o.Grace = 25 * time.Second
	}
	limits := newRateLimits(0, o.RateLimit)
	calls, expire := context.WithCancel(context.WithoutCancel(ctx))
	defer expire()
	p := &peer{done: calls, caller: func(tool *gateway.Tool) (gateway.Caller, *apierrors.Error) {
		if refusal := limits.take(transport.Token{}, 1, time.Now()); refusal != nil {
			return gateway.Caller{}, refusal
		}
		token, err := o.Token()
		if err != nil && !tool.Operation.NeedsNone() {
			return gateway.Caller{}, apierrors.New(apierrors.Unauthorized, err.Error())
		}
		return gateway.Caller{Token: token, Renewed: func() transport.Token {
			token, _ := o.Token()
			return token
		}}, nil
	}, mask: func(b []byte) (masked []byte) {
		// A panic of Token is answered where a call asks for it; it must not end the process here.
		defer func() {
			if recover() != nil {
				masked = b
			}
		}()
		token, _ := o.Token()
		return token.Mask(b)
	}}
	var templates *expressLines
	if !s.sdkAlone {
		templates = newExpressLines(s, p)
	}
	conn := newLineConn(in, out, o, p.mask, expire, s.write, templates)
	defer conn.releaseAll()
	p.hold = func(result *gateway.Result) string {
		if s.sdkAlone {
			result.Release()
			return ""
		}
		return s.marked(conn.hold(result))
	}
	// The connection outlives ctx by the grace time, so that what is in flight can finish.
	session, err := s.sdk.Connect(withPeer(context.WithoutCancel(ctx), p), conn, nil)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, conn.endOfInput)()
	done, returned := make(chan error, 1), make(chan struct{})
	defer close(returned)
	go func() {
		err := session.Wait()
		if err == nil || errors.Is(err, io.EOF) { // the SDK does not know what templates answer
			select {
			case <-conn.allAnswered():
			case <-returned:
			}
			err = conn.failure()
		}
		done <- err
	}()
	select {
	case err = <-done:
	case <-conn.ended:
		// A peer that does not read its answers must not keep the process alive.
		timer := time.NewTimer(o.Grace + 2*lastAnswers)
		defer timer.Stop()
		select {
		case err = <-done:
		case <-timer.C:
			err = errors.New("the last answers could not be written")
		}
	}
	if err != nil {
		return fmt.Errorf("stdio: %w", err)
	}
	return nil
}

// lastAnswers is how long calls may take to come to an end once they are told to.
const lastAnswers = time.Second
