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

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postern-mcp/postern/gateway"
)

// lineConn is one connection over a pair of streams. The SDK's own ends the
// server at the first line it cannot decode and loses answers once input is
// closed; this one answers such a line and waits for what is in flight.
type lineConn struct {
	messages chan []jsonrpc.Message // what a line holds, accepted in the order of the lines
	grace    time.Duration
	mask     func([]byte) []byte // takes the credential out of a text
	express  *expressLines       // nil for none
	write    func(io.Writer, outgoing) error
	expire   func() // ends the calls that are in flight

	// The end comes in two steps.
	ended             chan struct{} // closed when no further line is accepted
	over              chan struct{} // closed, after ended, when what is in flight is not waited for
	endOnce, overOnce sync.Once

	queue []jsonrpc.Message // read, not yet returned; only Read touches it

	mu sync.Mutex
	unanswered
	failed error // what output failed with, after which nothing is written

	output sync.Mutex // held while a line is written; mu is never held when it is taken
	out    io.Writer
}

func newLineConn(in io.Reader, out io.Writer, o StdioOptions, mask func([]byte) []byte, expire func(), write func(io.Writer, outgoing) error, templates *expressLines) *lineConn {
	c := &lineConn{
		messages: make(chan []jsonrpc.Message), ended: make(chan struct{}), over: make(chan struct{}),
		grace: o.Grace, mask: mask, expire: expire, write: write, express: templates, out: out,
		unanswered: unanswered{waiting: map[jsonrpc.ID]*waiting{}, held: map[int]*gateway.Result{}, room: make(chan struct{}, 1)},
	}
	go c.read(bufio.NewReaderSize(in, 64<<10), o.MaxLine)
	return c
}

// Connect implements [mcp.Transport].
func (c *lineConn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID implements [mcp.Connection].
func (c *lineConn) SessionID() string { return "" }

// line is one line of input, or why it cannot be one.
type line struct {
	data    []byte
	tooLong bool
}

// read accepts lines in their order until input ends. One that a template answers is
// answered by the goroutine that has read it, while another one reads on: to wake one up
// for the call would cost a good part of it.
func (c *lineConn) read(in *bufio.Reader, limit int) {
	for {
		l, err := readLine(in, limit)
		if c.hasEnded() {
			return
		}
		if l.tooLong || len(bytes.Trim(l.data, " \t\r\n")) > 0 {
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
				return
			}
		}
		if err != nil {
			c.endOfInput()
			return
		}
	}
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

// expressed is what answers a line from a template, nil for a line of the SDK's, from
// whose answer a template is to be learned if lesson is not nil.
func (c *lineConn) expressed(l line) (answer func(), lesson *express) {
	if c.express == nil || l.tooLong || c.full() || !json.Valid(l.data) {
		return nil, nil
	}
	return c.express.take(c, l.data)
}

// deliver hands what was accepted to Read. It is false once nobody takes any: then it is
// as if the line had not come.
func (c *lineConn) deliver(a accepted) bool {
	if len(a.messages) == 0 {
		return true
	}
	select {
	case c.messages <- a.messages:
		for _, cancel := range a.cancels {
			cancel()
		}
		return true
	case <-c.ended:
	}
	for _, m := range a.messages {
		if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
			c.remove(r.ID)
			c.answered(1)
		}
	}
	return false
}

// Read implements [mcp.Connection]. It reports the end of input once everything
// read has been answered or the grace time is over: the SDK cancels what is in
// flight when it sees the end, and writes no answer afterwards.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for len(c.queue) == 0 {
		if c.hasEnded() {
			c.drain(ctx)
			if err := c.failure(); err != nil {
				return nil, err
			}
			return nil, io.EOF
		}
		messages := c.messages
		if c.full() {
			messages = nil // until some answer has been written
		}
		select {
		case <-c.room:
		case c.queue = <-messages:
		case <-c.ended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	m := c.queue[0]
	c.queue = c.queue[1:]
	return m, nil
}

// drain waits until everything read is answered, at most for the grace time.
func (c *lineConn) drain(ctx context.Context) {
	idle := c.allAnswered()
	timer := time.NewTimer(c.grace)
	defer timer.Stop()
	select {
	case <-idle:
	case <-c.over:
	case <-ctx.Done():
	case <-timer.C:
		// Those that took too long are answered as well, with what they came to.
		c.expire()
		timer.Reset(lastAnswers)
		select {
		case <-idle:
		case <-c.over:
		case <-timer.C:
		}
	}
}

// Write implements [mcp.Connection].
func (c *lineConn) Write(_ context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	r, isResponse := m.(*jsonrpc.Response)
	switch {
	case !isResponse && err != nil:
		return fmt.Errorf("encode a message: %w", err)
	case err != nil:
		// The request must not stay in flight for ever, nor its sender in the dark.
		id, _ := json.Marshal(r.ID.Raw()) // a string or a number always encodes
		data = errorMessage(id, jsonrpc.CodeInternalError, "the answer could not be encoded")
	}
	if !isResponse {
		return c.writeLine(data)
	}
	w, requests := c.remove(r.ID), 1
	switch {
	case w == nil:
		requests = 0
	case w.batch != nil:
		if data, requests = c.collect(w.batch, data); requests == 0 {
			return nil
		}
	case w.lesson != nil:
		c.express.learn(w.lesson, data)
	}
	err = c.writeLine(data)
	c.answered(requests)
	return err
}

// writeLine writes a line. Once that has failed nothing more is written, for it would
// follow a part of a line.
func (c *lineConn) writeLine(data []byte) error {
	c.output.Lock()
	defer c.output.Unlock()
	if err := c.failure(); err != nil {
		return err
	}
	var written []int
	o := outgoing{message: data, end: "\n", result: func(number int) *gateway.Result {
		written = append(written, number)
		return c.heldAt(number)
	}}
	if holdsError(data) {
		o.mask = c.mask
	}
	err := c.write(c.out, o)
	for _, number := range written {
		c.release(number)
	}
	if err != nil {
		c.mu.Lock()
		c.failed = err
		c.mu.Unlock()
		_ = c.Close()
	}
	return err
}

// failure is what output failed with, nil while it works.
func (c *lineConn) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// Close implements [mcp.Connection]. It leaves the streams open: they are the process's.
func (c *lineConn) Close() error {
	c.endOfInput()
	c.overOnce.Do(func() { close(c.over) })
	return nil
}

func (c *lineConn) endOfInput() { c.endOnce.Do(func() { close(c.ended) }) }

func (c *lineConn) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}
