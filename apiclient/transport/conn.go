package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
)

// conn is a connection that knows when net/http writes a request to it, because
// net/http does not say: it repeats requests on its own, and takes bytes that came
// before a request for the answer to it. Only HTTP/1.1 is spoken, where a connection
// has one request at a time.
type conn struct {
	net.Conn

	mu      sync.Mutex
	closed  bool  // no further byte may be written
	written int64 // bytes whose writing has begun
	read    int64 // bytes that were read
	// Of the request under way: what was written and read before it.
	mark   int64
	before int64
	begun  bool // the first byte of it was written
}

// errSealed is what net/http gets that would write a request which must not leave.
var errSealed = errors.New("this request is not to be sent again")

// Write implements [net.Conn].
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return 0, errSealed
	}
	if !c.begun {
		c.begun, c.before = true, c.read
	}
	c.written += int64(len(p))
	c.mu.Unlock()
	return c.Conn.Write(p)
}

// Read implements [net.Conn].
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	c.read += int64(n)
	c.mu.Unlock()
	return n, err
}

// begin notes that a request is about to be written.
func (c *conn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mark, c.begun = c.written, false
}

// seal lets nothing more be written, and reports whether any byte of the request was.
func (c *conn) seal() (sent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return c.written > c.mark
}

// early reports whether all that was read was there before the request: then what
// seems to be the answer to it is none.
func (c *conn) early() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.begun || c.read <= c.before
}

// connOf is the connection below what net/http says it got.
func connOf(c net.Conn) *conn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	own, _ := c.(*conn)
	return own
}

// dialing returns a dial function whose connections are ours.
func dialing(dialer *net.Dialer) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &conn{Conn: c}, nil
	}
}
