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
	messages chan []jsonrpc.Message // what a line holds, accepted in the order of the lines
	room     chan struct{}          // gets a value when an answer was written
	ended    chan struct{}          // closed when no further line is to be read
	closed   chan struct{}
	broken   chan struct{} // closed when failed is set
	grace    time.Duration
	mask     func([]byte) []byte // takes the credential out of a text
	express  *expressLines       // nil for none
	write    func(io.Writer, outgoing) error
	expire   func() // ends the calls that are in flight

	endOnce, closeOnce sync.Once

	queue []jsonrpc.Message // read, not yet returned; only Read touches it

	mu       sync.Mutex
	waiting  map[jsonrpc.ID]*waiting // the requests not yet answered
	stopping bool                    // no template answers any more: the end has begun
	inFlight int                     // the requests whose answer is not yet written
	idle     chan struct{}           // closed when inFlight gets to 0; nil until somebody waits for that

	output sync.Mutex // held while a line is written, and never together with mu
	out    io.Writer
	failed error // why nothing can be written any more
}

// waiting is what is known of a request that is not yet answered.
type waiting struct {
	batch  *batch             // that it is part of; nil for none
	lesson *express           // the request, if a template is to be learned from its answer
	cancel context.CancelFunc // ends a call that a template answers; nil for the SDK's
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
		messages: make(chan []jsonrpc.Message), room: make(chan struct{}, 1),
		ended: make(chan struct{}), closed: make(chan struct{}), broken: make(chan struct{}),
		grace: o.Grace, mask: mask, expire: expire, write: write, express: templates, waiting: map[jsonrpc.ID]*waiting{}, out: out,
	}
	go c.read(bufio.NewReaderSize(in, 64<<10), o.MaxLine)
	return c
}

// Connect implements [mcp.Transport].
func (c *lineConn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID implements [mcp.Connection].
func (c *lineConn) SessionID() string { return "" }

// read accepts lines in their order until input ends. One that a template answers is
// answered by the goroutine that has read it, while another one reads on: to wake one up
// for the call would cost a good part of it.
func (c *lineConn) read(in *bufio.Reader, limit int) {
	for {
		l, err := readLine(in, limit)
		if l.tooLong || len(bytes.TrimSpace(l.data)) > 0 {
			answer, lesson := c.expressed(l)
			if answer != nil {
				if err == nil {
					go c.read(in, limit)
				} else {
					c.endOfInput()
				}
				answer()
				return
			}
			if !c.deliver(c.decode(l, lesson)) {
				err = io.EOF
			}
		}
		if err != nil {
			c.endOfInput()
			return
		}
	}
}

// expressed is what answers a line from a template, nil for a line of the SDK's, from
// whose answer a template is to be learned if lesson is not nil.
func (c *lineConn) expressed(l line) (answer func(), lesson *express) {
	if c.express == nil || l.tooLong || c.full() || !json.Valid(l.data) {
		return nil, nil
	}
	return c.express.take(c, l.data)
}

// deliver hands messages to Read. It is false once nobody takes any; those that want an
// answer do not wait for it any longer then.
func (c *lineConn) deliver(messages []jsonrpc.Message) bool {
	to := c.messages
	if len(messages) == 0 {
		to = nil
	}
	select {
	case <-c.closed:
	case <-c.broken:
	case <-c.ended:
	default:
		if to == nil {
			return true
		}
		select {
		case to <- messages:
			return true
		case <-c.closed:
		case <-c.broken:
		case <-c.ended:
		}
	}
	for _, m := range messages {
		if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
			c.mu.Lock()
			delete(c.waiting, r.ID)
			c.mu.Unlock()
			c.answered()
		}
	}
	return false
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
		messages := c.messages
		if c.full() {
			messages = nil // until some answer has been written
		}
		select {
		case <-c.room:
		case c.queue = <-messages:
		case <-c.broken:
			return nil, c.failed
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
	c.stopping = true
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
	case <-c.broken:
	case <-ctx.Done():
	case <-timer.C:
		// Those that took too long are answered as well, with what they came to.
		c.expire()
		timer.Reset(lastAnswers)
		select {
		case <-idle:
		case <-timer.C:
		case <-c.closed:
		case <-c.broken:
		}
	}
}

// decode returns the messages that a line holds, and answers what is not usable of it.
func (c *lineConn) decode(l line, lesson *express) (messages []jsonrpc.Message) {
	var answer []byte
	switch {
	case l.tooLong:
		answer = errorMessage(nil, jsonrpc.CodeInvalidRequest, "the line is too long")
	case !json.Valid(l.data):
		answer = errorMessage(nil, jsonrpc.CodeParseError, "the line is not valid JSON")
	case bytes.TrimSpace(l.data)[0] == '[':
		messages, answer = c.decodeBatch(l.data)
	default:
		var m jsonrpc.Message
		if m, answer = c.accept(l.data, &waiting{lesson: lesson}); m != nil {
			messages = []jsonrpc.Message{m}
		}
	}
	if answer != nil {
		_ = c.writeLine(answer) // which remembers its error
	}
	return messages
}

// decodeBatch returns the messages of a batch, or the answer to one without any.
func (c *lineConn) decodeBatch(data []byte) (messages []jsonrpc.Message, answer []byte) {
	size := 0
	_ = schema.SplitArray(data, func([]byte) bool { size++; return size <= maxBatch })
	switch {
	case size == 0:
		return nil, errorMessage(nil, jsonrpc.CodeInvalidRequest, "the batch is empty")
	case size > maxBatch:
		return nil, errorMessage(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a batch holds at most %d messages", maxBatch))
	}
	b := &batch{}
	_ = schema.SplitArray(data, func(element []byte) bool { // it is valid
		m, refusal := c.accept(element, &waiting{batch: b})
		if m != nil {
			messages = append(messages, m)
		}
		if refusal != nil {
			c.mu.Lock()
			b.answers = append(b.answers, refusal)
			c.mu.Unlock()
		}
		return true
	})
	// Nothing that was accepted can be answered yet: Read has not returned it.
	if b.missing == 0 && len(b.answers) > 0 {
		answer = b.join()
	}
	return messages, answer
}

// accept decodes a message and notes it as w if it wants an answer. One that cannot be
// accepted has a refusal instead, the answer to it.
func (c *lineConn) accept(data []byte, w *waiting) (m jsonrpc.Message, refusal []byte) {
	var s survey
	if err := s.message(data); err != nil {
		return nil, errorMessage(nil, jsonrpc.CodeInvalidRequest, err.Error())
	}
	m, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return nil, errorMessage(requestID(data), jsonrpc.CodeInvalidRequest, "this is not a JSON-RPC 2.0 message")
	}
	r, ok := m.(*jsonrpc.Request)
	if !ok {
		return m, nil
	}
	if r.Method == canceled {
		c.cancel(r.Params)
	}
	if r.IsCall() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if refusal := c.await(r.ID, w); refusal != nil {
			return nil, refusal
		}
	}
	return m, nil
}

const canceled = "notifications/cancelled"

// cancel ends a call that a template answers (MCP 2025-11-25, Cancellation). The SDK gets
// the message too and ends those that are its own; params are read as it reads them.
func (c *lineConn) cancel(params []byte) {
	var p mcp.CancelledParams
	var bad error
	err := schema.SplitObject(params, func(key string, value []byte) bool {
		switch key {
		case "requestId":
			bad = json.Unmarshal(value, &p.RequestID)
		case "reason":
			bad = json.Unmarshal(value, &p.Reason)
		case "_meta":
			bad = json.Unmarshal(value, &p.Meta)
		}
		return bad == nil
	})
	if err != nil || bad != nil {
		return
	}
	id, err := jsonrpc.MakeID(p.RequestID)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.waiting[id]; w != nil && w.cancel != nil {
		w.cancel()
	}
}

// await notes a request that wants an answer, with mu held.
func (c *lineConn) await(id jsonrpc.ID, w *waiting) (refusal []byte) {
	if _, twice := c.waiting[id]; twice {
		// The SDK would not answer it, and its id is another request's.
		return errorMessage(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the id %.80q is in use by a request in flight", fmt.Sprint(id.Raw())))
	}
	c.waiting[id] = w
	c.inFlight++
	if w.batch != nil {
		w.batch.missing++
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
	line, w := c.collect(r.ID, data)
	if w != nil && w.lesson != nil {
		c.express.learn(w.lesson, data)
	}
	if line != nil {
		err = c.writeLine(line)
	}
	if w != nil {
		c.answered()
	}
	return err
}

// collect takes the request with this id out of those that wait, nil for none. line is
// what is to be written now: the answer, or all of a batch, or nil while others of the
// batch are missing.
func (c *lineConn) collect(id jsonrpc.ID, answer []byte) (line []byte, w *waiting) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w = c.waiting[id]
	delete(c.waiting, id)
	if w == nil || w.batch == nil {
		return answer, w
	}
	b := w.batch
	b.answers = append(b.answers, answer)
	if b.missing--; b.missing > 0 {
		return nil, w
	}
	return b.join(), w
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

// writeLine writes a line. Once that has failed nothing more is written, for it would
// follow a part of a line, and Read ends the connection.
func (c *lineConn) writeLine(data []byte) error {
	c.output.Lock()
	defer c.output.Unlock()
	if c.failed != nil {
		return c.failed
	}
	o := outgoing{message: data, end: "\n"}
	if holdsError(data) {
		o.mask = c.mask
	}
	if c.failed = c.write(c.out, o); c.failed != nil {
		close(c.broken)
	}
	return c.failed
}

// Close implements [mcp.Connection]. It leaves the streams open: they are the process's.
func (c *lineConn) Close() error {
	c.closeOnce.Do(func() { close(c.closed) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping = true
	return nil
}
