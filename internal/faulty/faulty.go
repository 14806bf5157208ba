// Package faulty is an API that misbehaves on demand: a real TCP listener that
// speaks HTTP/1.1 by hand, so that a test decides about every byte and every moment,
// and that remembers what it received.
//
//	api, err := faulty.New(faulty.Script(faulty.ResetAfterRequest, faulty.Echo))
//	defer api.Close()
//	// call something that talks to api.URL
//	for _, r := range api.Received() { … }
//
// A request counts as received once its last byte was read: from then on a real API
// may act on it. Faults that read no request receive nothing.
package faulty

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Request is a request as it was received.
type Request struct {
	Method, Target string
	Header         http.Header
	Body           string
}

// Server is the API. Close it after use.
type Server struct {
	// URL is where it listens, without a final slash.
	URL string

	listener net.Listener
	next     func(n int) Fault
	done     chan struct{} // closed by Close: stalled connections end
	conns    sync.WaitGroup

	mu       sync.Mutex
	begun    int
	received []Request
	open     map[net.Conn]bool
}

// New starts a server. next chooses what becomes of the n-th request that arrives,
// from 1; it may be called by several connections at once.
func New(next func(n int) Fault) (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{
		URL: "http://" + listener.Addr().String(), listener: listener, next: next,
		done: make(chan struct{}), open: map[net.Conn]bool{},
	}
	bomb() // made once, not while somebody waits for an answer
	s.conns.Go(s.accept)
	return s, nil
}

// Script chooses the faults in turn, and the last of them for ever.
func Script(faults ...Fault) func(int) Fault {
	return func(n int) Fault { return faults[min(n, len(faults))-1] }
}

// Received lists the requests that were read to their end.
func (s *Server) Received() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request{}, s.received...)
}

// Forget empties the list of what was received.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received = nil
}

// Refuse stops listening, so that connections are refused from now on; those there
// are stay.
func (s *Server) Refuse() { _ = s.listener.Close() }

// Close ends the server and every connection.
func (s *Server) Close() {
	s.Refuse()
	close(s.done)
	s.Hangup()
	s.conns.Wait()
}

// Hangup closes every connection there is.
func (s *Server) Hangup() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		_ = c.Close()
	}
}

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.open[c] = true
		select {
		case <-s.done:
			_ = c.Close()
		default:
		}
		s.mu.Unlock()
		s.conns.Go(func() {
			defer func() {
				_ = c.Close()
				s.mu.Lock()
				delete(s.open, c)
				s.mu.Unlock()
			}()
			s.serve(c)
		})
	}
}

// serve answers requests on a connection until a fault ends it.
func (s *Server) serve(c net.Conn) {
	in := bufio.NewReader(c)
	for {
		if _, err := in.Peek(1); err != nil {
			return // an idle connection's end is no request
		}
		s.mu.Lock()
		s.begun++
		n := s.begun
		s.mu.Unlock()
		fault := s.next(n)
		x := &exchange{server: s, conn: c}
		if fault.unread {
			fault.act(x)
			return
		}
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		x.request = Request{req.Method, req.RequestURI, req.Header, string(body)}
		s.mu.Lock()
		s.received = append(s.received, x.request)
		s.mu.Unlock()
		if !fault.act(x) {
			return
		}
	}
}

// exchange is one request and the connection it came on.
type exchange struct {
	server  *Server
	conn    net.Conn
	request Request
}

// write sends text; after an error the next read of the connection fails too.
func (x *exchange) write(text string) { _, _ = io.WriteString(x.conn, text) }

// stall waits until the other side or the server gives up.
func (x *exchange) stall() {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, x.conn) // ends with the connection
	}()
	select {
	case <-gone:
	case <-x.server.done:
		_ = x.conn.Close()
		<-gone
	}
}

// slowly sends text a piece at a time until it ends or nobody reads it.
func (x *exchange) slowly(text string, pause time.Duration) {
	for i := range len(text) {
		if _, err := x.conn.Write([]byte{text[i]}); err != nil {
			return
		}
		select {
		case <-time.After(pause):
		case <-x.server.done:
			return
		}
	}
}

func (x *exchange) reset() {
	if c, ok := x.conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
	_ = x.conn.Close()
}
