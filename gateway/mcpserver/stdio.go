package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

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
	// ctx is done. Default 10 s.
	Grace time.Duration
}

// ServeStdio serves one client over newline-delimited JSON-RPC until the input
// ends, ctx is done or output fails (MCP 2025-11-25, Transports, stdio). At the
// end of input every request already read is still answered. It writes nothing
// but JSON-RPC to out.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, o StdioOptions) error {
	if o.MaxLine == 0 {
		o.MaxLine = 4 << 20
	}
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
	limit := newBucket(o.RateLimit)
	p := &peer{caller: func() (gateway.Caller, *apierrors.Error) {
		if wait := limit.take(1, time.Now()); wait > 0 {
			return gateway.Caller{}, rateLimited("this gateway", wait)
		}
		token, err := o.Token()
		if err != nil {
			return gateway.Caller{}, apierrors.New(apierrors.Unauthorized, err.Error())
		}
		return gateway.Caller{Token: token}, nil
	}}
	conn := newLineConn(in, out, o)
	// The connection outlives ctx by the grace time, so that what is in flight can finish.
	session, err := s.sdk.Connect(withPeer(context.WithoutCancel(ctx), p), conn, nil)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, conn.endOfInput)
	defer stop()
	if err := session.Wait(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("stdio: %w", err)
	}
	return nil
}

// lineConn is one connection over a pair of streams. The SDK's own ends the
// server at the first line it cannot decode and loses answers once input is
// closed; this one answers such a line and waits for what is in flight.
type lineConn struct {
	lines  chan line
	closed chan struct{}
	ended  chan struct{} // no further line is read
	grace  time.Duration

	closeOnce, endOnce sync.Once

	mu       sync.Mutex
	out      io.Writer
	inFlight int
	idle     chan struct{} // closed while nothing is in flight
	batches  []*batch
	queue    []jsonrpc.Message // read, not yet returned; only Read touches it
}

// line is one line of input, or why it cannot be one.
type line struct {
	data    []byte
	tooLong bool
}

// batch collects the answers to an array of requests (JSON-RPC 2.0, section 6),
// which revisions before 2025-06-18 have.
type batch struct {
	pending []jsonrpc.ID
	answers []json.RawMessage
}

func newLineConn(in io.Reader, out io.Writer, o StdioOptions) *lineConn {
	c := &lineConn{
		lines: make(chan line), closed: make(chan struct{}), ended: make(chan struct{}),
		grace: o.Grace, out: out, idle: make(chan struct{}),
	}
	close(c.idle)
	go c.read(bufio.NewReader(in), o.MaxLine)
	return c
}

// Connect implements [mcp.Transport].
func (c *lineConn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID implements [mcp.Connection].
func (c *lineConn) SessionID() string { return "" }

// read feeds lines until input ends. A read that blocks for ever ends with the process.
func (c *lineConn) read(in *bufio.Reader, max int) {
	defer c.endOfInput()
	for {
		l, err := readLine(in, max)
		if l.tooLong || len(bytes.TrimSpace(l.data)) > 0 {
			select {
			case c.lines <- l:
			case <-c.closed:
				return
			case <-c.ended:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// readLine reads up to a line feed; of a longer line it keeps nothing but reads
// on to its end, so that the next line is found.
func readLine(in *bufio.Reader, max int) (line, error) {
	var l line
	for {
		part, err := in.ReadSlice('\n')
		if len(l.data)+len(part) > max {
			l.data, l.tooLong = nil, true
		}
		if !l.tooLong {
			l.data = append(l.data, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l, err
		}
	}
}

func (c *lineConn) endOfInput() { c.endOnce.Do(func() { close(c.ended) }) }

// Read implements [mcp.Connection]. It reports the end of input once everything
// read has been answered or the grace time is over: the SDK cancels what is in
// flight when it sees the end.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if len(c.queue) > 0 {
			m := c.queue[0]
			c.queue = c.queue[1:]
			return m, nil
		}
		select {
		case l := <-c.lines:
			if err := c.decode(l); err != nil {
				return nil, err
			}
		case <-c.ended:
			return nil, c.drain(ctx)
		case <-c.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *lineConn) drain(ctx context.Context) error {
	c.mu.Lock()
	idle := c.idle
	c.mu.Unlock()
	timer := time.NewTimer(c.grace)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	case <-c.closed:
	case <-ctx.Done():
	}
	return io.EOF
}

// decode queues what a line holds, or answers that it holds nothing usable. Its
// error means that output is gone.
func (c *lineConn) decode(l line) error {
	switch {
	case l.tooLong:
		return c.refuse(jsonrpc.CodeInvalidRequest, "the line is too long")
	case !json.Valid(l.data):
		return c.refuse(jsonrpc.CodeParseError, "the line is not valid JSON")
	}
	if bytes.TrimSpace(l.data)[0] != '[' {
		m, err := jsonrpc.DecodeMessage(l.data)
		if err != nil {
			return c.refuse(jsonrpc.CodeInvalidRequest, "the line is not a JSON-RPC 2.0 message")
		}
		c.accept(m, nil)
		return nil
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(l.data, &raw); err != nil || len(raw) == 0 {
		return c.refuse(jsonrpc.CodeInvalidRequest, "the line is an empty batch")
	}
	messages := make([]jsonrpc.Message, len(raw))
	for i := range raw {
		m, err := jsonrpc.DecodeMessage(raw[i])
		if err != nil {
			return c.refuse(jsonrpc.CodeInvalidRequest, fmt.Sprintf("element %d of the batch is not a JSON-RPC 2.0 message", i))
		}
		messages[i] = m
	}
	b := &batch{}
	for _, m := range messages {
		c.accept(m, b)
	}
	return nil
}

// accept queues a message and counts it as in flight if it wants an answer.
func (c *lineConn) accept(m jsonrpc.Message, b *batch) {
	c.queue = append(c.queue, m)
	r, ok := m.(*jsonrpc.Request)
	if !ok || !r.IsCall() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inFlight++; c.inFlight == 1 {
		c.idle = make(chan struct{})
	}
	if b != nil {
		if len(b.pending) == 0 {
			c.batches = append(c.batches, b)
		}
		b.pending = append(b.pending, r.ID)
	}
}

// refuse answers a line that is no message; it has no id to answer to.
func (c *lineConn) refuse(code int, message string) error {
	b := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`, code, message)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writeLine(b)
}

// Write implements [mcp.Connection].
func (c *lineConn) Write(_ context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := m.(*jsonrpc.Response)
	if !ok {
		return c.writeLine(data)
	}
	defer c.answered()
	if b := c.collect(r.ID, data); b != nil {
		if len(b.pending) > 0 {
			return nil
		}
		if data, err = json.Marshal(b.answers); err != nil {
			return fmt.Errorf("encode a batch: %w", err)
		}
	}
	return c.writeLine(data)
}

// collect adds an answer to the batch that waits for it, if one does.
func (c *lineConn) collect(id jsonrpc.ID, data []byte) *batch {
	for i, b := range c.batches {
		if at := slices.Index(b.pending, id); at >= 0 {
			b.pending = slices.Delete(b.pending, at, at+1)
			b.answers = append(b.answers, data)
			if len(b.pending) == 0 {
				c.batches = slices.Delete(c.batches, i, i+1)
			}
			return b
		}
	}
	return nil
}

func (c *lineConn) answered() {
	if c.inFlight == 0 {
		return
	}
	if c.inFlight--; c.inFlight == 0 {
		close(c.idle)
	}
}

func (c *lineConn) writeLine(data []byte) error {
	_, err := c.out.Write(append(data, '\n'))
	return err
}

// Close implements [mcp.Connection]. It leaves the streams open: they are the process's.
func (c *lineConn) Close() error {
	c.closeOnce.Do(func() { close(c.closed) })
	return nil
}
