package faulty

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Fault is what becomes of one request. A fault that ends the connection after an
// answer that is whole says so in it (Connection: close); else the next request would
// race with the end.
type Fault struct {
	Name string
	// unread faults act before the request is read.
	unread bool
	// act answers, or does not; it reports whether the connection stays.
	act func(x *exchange) bool
}

// String is the fault's name.
func (f Fault) String() string { return f.Name }

// Unsent reports a fault before which the API has certainly not got the request.
func (f Fault) Unsent() bool { return f.unread }

func ends(name string, act func(x *exchange)) Fault {
	return Fault{Name: name, act: func(x *exchange) bool { act(x); return false }}
}

func unread(name string, act func(x *exchange)) Fault {
	f := ends(name, act)
	f.unread = true
	return f
}

// Echo is no fault: it answers with what it received (see [Echoed]).
var Echo = Fault{Name: "echo", act: func(x *exchange) bool {
	x.write(message("200 OK", "application/json", "", x.echo()))
	return true
}}

// The faults. What they do stands in their names: each before or after the request
// was read, or within the answer.
var (
	ResetBeforeRequest = unread("reset before the request was read", (*exchange).reset)
	CloseBeforeRequest = unread("close before the request was read", func(*exchange) {})
	StallBeforeRequest = unread("stall before the request was read", (*exchange).stall)

	ResetAfterRequest = ends("reset after the request", (*exchange).reset)
	CloseAfterRequest = ends("close after the request", func(*exchange) {})
	StallAfterRequest = ends("stall after the request", (*exchange).stall)

	StallInHeader = ends("stall in the header", func(x *exchange) { x.write("HTTP/1.1 200 OK\r\nContent-"); x.stall() })
	StallInBody   = ends("stall in the body", func(x *exchange) {
		x.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{\"a\":")
		x.stall()
	})
	Truncated      = ends("truncated body", func(x *exchange) { x.write("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"a\":") })
	TruncatedChunk = ends("truncated chunk", func(x *exchange) { x.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{\"a\"") })
	ResetInBody    = ends("reset in the body", func(x *exchange) {
		x.write("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"a\":")
		time.Sleep(150 * time.Millisecond) // a reset takes with it what was not read yet
		x.reset()
	})
	// ShortLength announces less than it sends. What is announced is an answer of its own.
	ShortLength = ends("length too small", func(x *exchange) {
		x.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}and more")
	})
	HugeLength = ends("length too large to hold", func(x *exchange) { x.write("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{}") })
	Garbage    = ends("garbage", func(x *exchange) { x.write("what?\r\n\r\n") })
	BadGzip    = ends("bad gzip", func(x *exchange) {
		x.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\nConnection: close\r\n\r\nnope")
	})
	Bomb = ends("compression bomb", func(x *exchange) {
		x.write(message("200 OK", "application/json", "Content-Encoding: gzip\r\n", bomb()))
	})
	HugeHeader = ends("huge header", func(x *exchange) { x.write("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 300<<10) + "\r\n\r\n") })
	Events     = ends("endless events", func(x *exchange) {
		x.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
		x.slowly(strings.Repeat("data: x\n\n", 1<<20), 5*time.Millisecond)
	})
	Drip      = ends("slow drip", func(x *exchange) { x.slowly(message("200 OK", "application/json", "", `{"a":1}`), 50*time.Millisecond) })
	Malformed = Status(200, "application/json", `{"a":`)
	HTMLPage  = Status(502, "text/html", "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>")
	NotFound  = Status(404, "application/problem+json", `{"detail":"nothing here"}`)
	Trailers  = Fault{Name: "trailers", act: func(x *exchange) bool {
		x.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\n{}\r\n0\r\nX-Sum: 1\r\n\r\n")
		return true
	}}
	EarlyHints = Fault{Name: "early hints", act: func(x *exchange) bool {
		x.write("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + message("200 OK", "application/json", "", x.echo()))
		return true
	}}
)

// Unasked answers, and answers again: the second is for nobody. It is meant to be taken
// for the answer to the next request on the connection.
var Unasked = Fault{Name: "an answer too many", act: func(x *exchange) bool {
	answer := message("200 OK", "application/json", "", x.echo())
	x.write(answer + answer)
	return true
}}

// NoContentUnasked is the same after an answer without content.
var NoContentUnasked = Fault{Name: "an answer after no content", act: func(x *exchange) bool {
	x.write("HTTP/1.1 204 No Content\r\n\r\n" + message("200 OK", "application/json", "", x.echo()))
	return true
}}

// Parrot repeats the request's Authorization header wherever a fault can: in text that is
// called JSON, cut off within it, in a broken header, in a length that is wrong.
func Parrot() []Fault {
	credential := func(x *exchange) string { return x.request.Header.Get("Authorization") }
	raw := func(name, format string) Fault {
		return ends("repeats the credential in "+name, func(x *exchange) { x.write(strings.ReplaceAll(format, "%s", credential(x))) })
	}
	return []Fault{
		raw("malformed JSON", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{\"a\":\"%s"),
		raw("a truncated answer", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n{\"a\":\"%s"),
		raw("a status line", "HTTP/1.1 %s OK\r\n\r\n"),
		raw("a reason", "HTTP/1.1 404 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
		raw("a header", "HTTP/1.1 503 X\r\nRetry-After: %s\r\nContent-Type: %s\r\nX: %s\r\nContent-Length: 2\r\nConnection: close\r\n\r\n%s"),
		raw("a broken header", "HTTP/1.1 200 OK\r\n%s\r\n\r\n"),
		raw("a length", "HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n"),
		raw("garbage", "%s\r\n\r\n"),
		raw("a chunk's length", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s\r\n"),
		raw("a page", "HTTP/1.1 502 X\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html><title>%s</title>"),
		ends("repeats half of the credential", func(x *exchange) {
			c := credential(x)
			x.write("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n{\"a\":\"" + c[:len(c)/2+len("Bearer ")])
		}),
	}
}

// All lists every fault that has no parameters.
func All() []Fault {
	return []Fault{
		ResetBeforeRequest, CloseBeforeRequest, StallBeforeRequest, ResetAfterRequest, CloseAfterRequest, StallAfterRequest,
		StallInHeader, StallInBody, Truncated, TruncatedChunk, ResetInBody, ShortLength, HugeLength, Garbage, BadGzip, Bomb,
		HugeHeader, Events, Drip, Malformed, HTMLPage, NotFound, Trailers, EarlyHints,
	}
}

// Status answers with a status and a body; headers are whole lines, such as
// "Retry-After: 1".
func Status(status int, mediaType, body string, headers ...string) Fault {
	return Fault{Name: fmt.Sprintf("status %d %s", status, strings.Join(headers, ", ")), act: func(x *exchange) bool {
		lines := ""
		for _, h := range headers {
			lines += h + "\r\n"
		}
		x.write(message(fmt.Sprintf("%d X", status), mediaType, lines, body))
		return true
	}}
}

func message(status, mediaType, headers, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: %s\r\n%sContent-Length: %d\r\n\r\n%s", status, mediaType, headers, len(body), body)
}

// bomb is 8 MiB of spaces in some 8 KiB.
var bomb = sync.OnceValue(func() string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	space := bytes.Repeat([]byte(" "), 1<<20)
	for range 8 {
		_, _ = w.Write(space)
	}
	_ = w.Close()
	return b.String()
})

// Echoed is the answer of [Echo].
type Echoed struct {
	Method, Target, Body string
	// Caller tells credentials apart without repeating them.
	Caller string
}

func (x *exchange) echo() string {
	r := x.request
	b, _ := json.Marshal(Echoed{r.Method, r.Target, r.Body, CallerOf(r.Header.Get("Authorization"))})
	return string(b)
}

// CallerOf is what [Echoed] says of an Authorization header.
func CallerOf(authorization string) string {
	sum := sha256.Sum256([]byte(authorization))
	return hex.EncodeToString(sum[:8])
}
