package mcpserver

import (
	"bytes"
	"context"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/postern-mcp/postern/gateway"
)

// unanswered are the requests of a connection that were accepted and whose answer is not
// yet written, guarded by its mu.
type unanswered struct {
	waiting  map[jsonrpc.ID]*waiting // those not yet answered
	inFlight int                     // those and the ones whose answer waits to be written
	idle     chan struct{}           // closed when inFlight gets to 0; nil until somebody waits for that
	room     chan struct{}           // gets a value when an answer was written

	held     map[int]*gateway.Result // the results that are not yet written, by their number
	results  int                     // how many there have been
	released bool                    // nothing is held any more
}

// waiting is what is known of a request that is not yet answered.
type waiting struct {
	batch  *batch             // that it is part of; nil for none
	lesson *express           // the request, if a template is to be learned from its answer
	cancel context.CancelFunc // ends a call that a template answers; nil for the SDK's
}

// batch collects the answers to an array of requests (JSON-RPC 2.0, section 6),
// which revision 2025-03-26 has.
type batch struct {
	requests int // accepted
	missing  int // of those
	answers  [][]byte
}

// join is the batch's answers as an array.
func (b *batch) join() []byte {
	return append(append([]byte{'['}, bytes.Join(b.answers, []byte{','})...), ']')
}

// await notes a request that wants an answer. It is false if its id is in use, and for one
// that a template would answer once the end has begun, since the end waits for no later one.
func (c *lineConn) await(id jsonrpc.ID, w *waiting) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting[id] != nil || w.cancel != nil && c.hasEnded() {
		return false
	}
	c.waiting[id] = w
	c.inFlight++
	if w.batch != nil {
		w.batch.requests++
		w.batch.missing++
	}
	return true
}

// owe notes a line that is refused as a request whose answer waits to be written.
func (c *lineConn) owe() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight++
}

// remove takes the request with this id out of those that wait; nil if there is none.
func (c *lineConn) remove(id jsonrpc.ID) *waiting {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.waiting[id]
	delete(c.waiting, id)
	return w
}

// collect adds an answer to its batch. With the last one it returns the line that answers
// the batch and how many requests that answers; before, 0.
func (c *lineConn) collect(b *batch, answer []byte) (line []byte, requests int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b.answers = append(b.answers, answer)
	if b.missing--; b.missing > 0 {
		return nil, 0
	}
	return b.join(), b.requests
}

// answered notes that the answer to so many requests was written, or that nobody waits for
// it any longer.
func (c *lineConn) answered(requests int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inFlight -= requests; c.inFlight == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
	select {
	case c.room <- struct{}{}:
	default:
	}
}

// allAnswered is closed once no request is unanswered.
func (c *lineConn) allAnswered() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inFlight == 0 {
		none := make(chan struct{})
		close(none)
		return none
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	return c.idle
}

// maxUnanswered bounds the requests accepted and not yet answered: with a peer that does
// not read its answers they would take memory without end.
const maxUnanswered = 1024

func (c *lineConn) full() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inFlight >= maxUnanswered
}

// hold keeps a result, and so its part of the bounds on calls under way, until it is
// written. It returns its number.
func (c *lineConn) hold(r *gateway.Result) (number int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.released {
		r.Release()
	}
	c.results++
	c.held[c.results] = r
	return c.results
}

// heldAt is the result of a number.
func (c *lineConn) heldAt(number int) *gateway.Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[number]
}

// release ends the holding of a result that was written, or was to be.
func (c *lineConn) release(number int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.held[number]; r != nil {
		r.Release()
		delete(c.held, number)
	}
}

// releaseAll gives back what the results take that nobody will see written.
func (c *lineConn) releaseAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.released = true
	for _, r := range c.held { // they stay, for some may be being written
		r.Release()
	}
}
