package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postern-mcp/postern/apiclient/transport"
	apierrors "github.com/postern-mcp/postern/errors"
	"github.com/postern-mcp/postern/gateway"
	"github.com/postern-mcp/postern/gateway/schema"
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
	}, hold: func(result *gateway.Result) string {
		result.Release() // lineConn bounds what waits to be written
		return ""
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
	// The connection outlives ctx by the grace time, so that what is in flight can finish.
	session, err := s.sdk.Connect(withPeer(context.WithoutCancel(ctx), p), conn, nil)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, conn.endOfInput)()
	done := make(chan error, 1)
	go func() { done <- session.Wait() }()
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
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("stdio: %w", err)
	}
	return nil
}

// lastAnswers is how long calls may take to come to an end once they are told to.
const lastAnswers = time.Second

// lineConn is one connection over a pair of streams. The SDK's own ends the
// server at the first line it cannot decode and loses answers once input is
// closed; this one answers such a line and waits for what is in flight.
type lineConn struct {
	lines   chan line
	room    chan struct{} // gets a value when an answer was written
	ended   chan struct{} // closed when no further line is to be read
	closed  chan struct{}
	grace   time.Duration
	mask    func([]byte) []byte // takes the credential out of a text
	express *expressLines       // nil for none
	write   func(io.Writer, outgoing) error
	expire  func() // ends the calls that are in flight

	endOnce, closeOnce sync.Once

	queue []jsonrpc.Message // read, not yet returned; only Read touches it

	mu       sync.Mutex
	waiting  map[jsonrpc.ID]*batch // the requests not yet answered, with their batch if they have one
	drained  bool                  // no template answers any more: the end has begun
	inFlight int                   // the requests whose answer is not yet written
	idle     chan struct{}         // closed when inFlight gets to 0; nil until somebody waits for that

	output sync.Mutex // held while a line is written, and never together with mu
	out    io.Writer
}

// line is one line of input, or why it cannot be one.
type line struct {
	data    []byte
	tooLong bool
}

// batch collects the answers to an array of requests (JSON-RPC 2.0, section 6),
// which revision 2025-03-26 has.
type batch struct {
	missing int
	answers []json.RawMessage
}

func newLineConn(in io.Reader, out io.Writer, o StdioOptions, mask func([]byte) []byte, expire func(), write func(io.Writer, outgoing) error, templates *expressLines) *lineConn {
	c := &lineConn{
		lines: make(chan line), room: make(chan struct{}, 1), ended: make(chan struct{}), closed: make(chan struct{}),
		grace: o.Grace, mask: mask, expire: expire, write: write, express: templates, waiting: map[jsonrpc.ID]*batch{}, out: out,
	}
	go c.read(bufio.NewReaderSize(in, 64<<10), o.MaxLine)
	return c
}

// Connect implements [mcp.Transport].
func (c *lineConn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID implements [mcp.Connection].
func (c *lineConn) SessionID() string { return "" }

// read feeds lines until input ends. A line that a template answers is answered by the
// goroutine that has read it, while another one reads on: to wake one up for the call
// would cost a good part of it.
func (c *lineConn) read(in *bufio.Reader, limit int) {
	for {
		l, err := readLine(in, limit)
		if l.tooLong || len(bytes.TrimSpace(l.data)) > 0 {
			if answer := c.expressed(l); answer != nil {
				if err == nil {
					go c.read(in, limit)
				} else {
					c.endOfInput()
				}
				answer()
				return
			}
			select {
			case c.lines <- l:
			case <-c.closed:
				err = io.EOF
			case <-c.ended:
				err = io.EOF
			}
		}
		if err != nil {
			c.endOfInput()
			return
		}
	}
}

// expressed is what answers a line from a template, nil for a line of the SDK's.
func (c *lineConn) expressed(l line) func() {
	if c.express == nil || l.tooLong || c.full() || !json.Valid(l.data) {
		return nil
	}
	return c.express.take(c, l.data)
}

// readLine reads up to a line feed; of a longer line it keeps nothing but reads
// on to its end, so that the next line is found.
func readLine(in *bufio.Reader, limit int) (line, error) {
	var l line
	for {
		part, err := in.ReadSlice('\n')
		if len(l.data)+len(part) > limit {
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
// flight when it sees the end, and writes no answer afterwards.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if len(c.queue) > 0 {
			m := c.queue[0]
			c.queue = c.queue[1:]
			return m, nil
		}
		lines := c.lines
		if c.full() {
			lines = nil // until some answer has been written
		}
		select {
		case <-c.room:
		case l := <-lines:
			if err := c.decode(l); err != nil {
				return nil, err
			}
		case <-c.ended:
			c.drain(ctx)
			return nil, io.EOF
		case <-c.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// drain waits until everything read is answered, at most for the grace time.
func (c *lineConn) drain(ctx context.Context) {
	c.mu.Lock()
	c.drained = true
	if c.inFlight == 0 {
		c.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	c.idle = idle
	c.mu.Unlock()
	timer := time.NewTimer(c.grace)
	defer timer.Stop()
	select {
	case <-idle:
	case <-c.closed:
	case <-ctx.Done():
	case <-timer.C:
		// Those that took too long are answered as well, with what they came to.
		c.expire()
		timer.Reset(lastAnswers)
		select {
		case <-idle:
		case <-timer.C:
		case <-c.closed:
		}
	}
}

// decode queues what a line holds, or answers that it holds nothing usable. Its
// error means that output is gone.
func (c *lineConn) decode(l line) error {
	switch {
	case l.tooLong:
		return c.writeLine(errorMessage(nil, jsonrpc.CodeInvalidRequest, "the line is too long"))
	case !json.Valid(l.data):
		return c.writeLine(errorMessage(nil, jsonrpc.CodeParseError, "the line is not valid JSON"))
	case bytes.TrimSpace(l.data)[0] != '[':
		if refusal := c.accept(l.data, nil); refusal != nil {
			return c.writeLine(refusal)
		}
		return nil
	}
	size := 0
	_ = schema.SplitArray(l.data, func([]byte) bool { size++; return size <= maxBatch })
	if size > maxBatch {
		return c.writeLine(errorMessage(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a batch holds at most %d messages", maxBatch)))
	}
	b := &batch{}
	some := false
	_ = schema.SplitArray(l.data, func(element []byte) bool { // it is valid
		some = true
		if refusal := c.accept(element, b); refusal != nil {
			c.mu.Lock()
			b.answers = append(b.answers, refusal)
			c.mu.Unlock()
		}
		return true
	})
	if !some {
		return c.writeLine(errorMessage(nil, jsonrpc.CodeInvalidRequest, "the batch is empty"))
	}
	// Nothing that was accepted can be answered yet: Read has not returned it.
	if b.missing == 0 && len(b.answers) > 0 {
		return c.writeLine(b.join())
	}
	return nil
}

// accept queues a message and notes it if it wants an answer. It returns the
// answer to one that cannot be accepted.
func (c *lineConn) accept(data []byte, b *batch) (refusal []byte) {
	var s survey
	if err := s.message(data); err != nil {
		return errorMessage(nil, jsonrpc.CodeInvalidRequest, err.Error())
	}
	m, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return errorMessage(requestID(data), jsonrpc.CodeInvalidRequest, "this is not a JSON-RPC 2.0 message")
	}
	if c.express != nil {
		c.express.cancel(c, m)
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if refusal := c.await(r.ID, b); refusal != nil {
			return refusal
		}
	}
	c.queue = append(c.queue, m)
	return nil
}

// await notes a request that wants an answer, with mu held.
func (c *lineConn) await(id jsonrpc.ID, b *batch) (refusal []byte) {
	if _, twice := c.waiting[id]; twice {
		// The SDK would not answer it, and its id is another request's.
		return errorMessage(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the id %.80q is in use by a request in flight", fmt.Sprint(id.Raw())))
	}
	c.waiting[id] = b
	c.inFlight++
	if b != nil {
		b.missing++
	}
	return nil
}

// requestID is the id of a request that cannot be decoded, nil if there is none:
// with it the sender need not wait until it gives up.
func requestID(data []byte) (id []byte) {
	request := false
	_ = schema.SplitObject(data, func(key string, value []byte) bool {
		switch key {
		case "method":
			request = true
		case "id":
			id = value
		}
		return true
	})
	if !request || !utf8.Valid(id) || len(id) == 0 || id[0] == '{' || id[0] == '[' || id[0] == 't' || id[0] == 'f' {
		return nil
	}
	return id
}

// Write implements [mcp.Connection].
func (c *lineConn) Write(_ context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	r, isResponse := m.(*jsonrpc.Response)
	if !isResponse {
		if err != nil {
			return fmt.Errorf("encode a message: %w", err)
		}
		return c.writeLine(data)
	}
	if err != nil {
		// The request must not stay in flight for ever, nor its sender in the dark.
		id, _ := json.Marshal(r.ID.Raw()) // a string or a number always encodes
		data, err = errorMessage(id, jsonrpc.CodeInternalError, "the answer could not be encoded"), nil
	}
	if c.express != nil {
		c.express.learn(c, r.ID, data)
	}
	data, known := c.collect(r.ID, data)
	if data != nil {
		err = c.writeLine(data)
	}
	if known {
		c.answered()
	}
	return err
}

// collect takes the request with this id out of those that wait. It returns what
// is to be written now: the answer, or all of a batch, or nil while others of the
// batch are missing.
func (c *lineConn) collect(id jsonrpc.ID, answer []byte) (data []byte, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, known := c.waiting[id]
	delete(c.waiting, id)
	if b == nil {
		return answer, known
	}
	b.answers = append(b.answers, answer)
	if b.missing--; b.missing > 0 {
		return nil, true
	}
	return b.join(), true
}

// join is the batch's answers as an array.
func (b *batch) join() []byte {
	data := []byte{'['}
	for i, answer := range b.answers {
		if i > 0 {
			data = append(data, ',')
		}
		data = append(data, answer...)
	}
	return append(data, ']')
}

// answered notes that the answer to one request is written.
func (c *lineConn) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inFlight--; c.inFlight == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
	select {
	case c.room <- struct{}{}:
	default:
	}
}

// maxUnanswered bounds the requests read and not yet answered: with a peer that does
// not read its answers they would take memory without end.
const maxUnanswered = 1024

func (c *lineConn) full() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inFlight >= maxUnanswered
}

func (c *lineConn) writeLine(data []byte) error {
	c.output.Lock()
	defer c.output.Unlock()
	o := outgoing{message: data, end: "\n"}
	if holdsError(data) {
		o.mask = c.mask
	}
	return c.write(c.out, o)
}

// Close implements [mcp.Connection]. It leaves the streams open: they are the process's.
func (c *lineConn) Close() error {
	c.closeOnce.Do(func() { close(c.closed) })
	return nil
}
