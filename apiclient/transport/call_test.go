package transport

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "github.com/postern-mcp/postern/errors"
)

// raw listens and hands each connection to serve, numbered from 1, after one
// request was read from it.
func raw(t *testing.T, serve func(n int, c net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.SetDeadline(time.Now().Add(5 * time.Second))
			c.Read(make([]byte, 4096))
			serve(n, c)
			c.Close()
		}
	}()
	return "http://" + l.Addr().String()
}

func reset(c net.Conn) {
	c.(*net.TCPConn).SetLinger(0)
	c.Close()
}

const ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"

// TestFaults declares what each misbehaviour of an upstream becomes.
func TestFaults(t *testing.T) {
	get := getThing
	post := &Operation{ID: "do", Method: "POST", Path: "/things/{id}"}
	safe := &Operation{ID: "do", Method: "POST", Path: "/things/{id}", Retry: RetrySafe}
	never := &Operation{ID: "do", Method: "GET", Path: "/things/{id}", Retry: RetryNever}
	say := func(answers ...string) func(int, net.Conn) {
		return func(n int, c net.Conn) { io.WriteString(c, answers[min(n, len(answers))-1]) }
	}
	unavailable := func(header string) string {
		return "HTTP/1.1 503 Service Unavailable\r\n" + header + "Content-Length: 4\r\nConnection: close\r\n\r\nbusy"
	}
	for name, tc := range map[string]struct {
		op       *Operation
		serve    func(int, net.Conn)
		status   int // of the answer
		code     apierrors.Code
		delivery apierrors.Delivery
		attempts int
	}{
		"reset, get":               {get, func(_ int, c net.Conn) { reset(c) }, 0, "network_error", "unknown", 3},
		"reset, post":              {post, func(_ int, c net.Conn) { reset(c) }, 0, "network_error", "unknown", 1},
		"reset, never":             {never, func(_ int, c net.Conn) { reset(c) }, 0, "network_error", "unknown", 1},
		"closed then fine":         {get, say("", ok), 200, "", "answered", 2},
		"closed then fine, safe":   {safe, say("", ok), 200, "", "answered", 2},
		"503 then fine":            {get, say(unavailable(""), ok), 200, "", "answered", 2},
		"503 then fine, post":      {post, say(unavailable(""), ok), 503, "", "answered", 1},
		"503 for ever":             {get, say(unavailable("")), 503, "", "answered", 3},
		"503, zero seconds":        {get, say(unavailable("Retry-After: 0\r\n"), ok), 200, "", "answered", 2},
		"503, too long":            {get, say(unavailable("Retry-After: 3600\r\n"), ok), 503, "", "answered", 1},
		"503, date too far":        {get, say(unavailable("Retry-After: Fri, 01 Jan 2100 00:00:00 GMT\r\n"), ok), 503, "", "answered", 1},
		"503, date gone by":        {get, say(unavailable("Retry-After: Fri, 01 Jan 1999 00:00:00 GMT\r\n"), ok), 200, "", "answered", 2},
		"503, past the deadline":   {get, say(unavailable("Retry-After: 5\r\n"), ok), 503, "", "answered", 1},
		"500":                      {get, say("HTTP/1.1 500 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"), 500, "", "answered", 1},
		"truncated then fine":      {get, say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", ok), 200, "", "answered", 2},
		"truncated for ever":       {get, say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"), 0, "invalid_response", "answered", 3},
		"truncated, post":          {post, say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"), 0, "invalid_response", "answered", 1},
		"truncated chunk":          {post, say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}"), 0, "invalid_response", "answered", 1},
		"truncated error":          {get, say("HTTP/1.1 404 X\r\nContent-Length: 9\r\n\r\nnope"), 404, "", "answered", 1},
		"length too small":         {get, say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}and more"), 200, "", "answered", 1},
		"length too large to hold": {get, say("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{}"), 0, "response_too_large", "answered", 1},
		"garbage":                  {post, say("what?\r\n\r\n"), 0, "invalid_response", "unknown", 1},
		"bad gzip":                 {post, say("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\nConnection: close\r\n\r\nnope"), 0, "invalid_response", "answered", 1},
		"huge header":              {post, say("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 300<<10) + "\r\n\r\n"), 0, "invalid_response", "unknown", 1},
		"redirect":                 {get, say("HTTP/1.1 302 Found\r\nLocation: /v1/things/2\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"), 302, "", "answered", 1},
		"redirect, bad location":   {get, say("HTTP/1.1 301 X\r\nLocation: http://[::1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"), 301, "", "answered", 1},
		"redirect, post":           {post, say("HTTP/1.1 307 X\r\nLocation: /elsewhere\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"), 307, "", "answered", 1},
		"switching protocols":      {get, say("HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"), 101, "", "answered", 1},
		"early hints":              {get, say("HTTP/1.1 103 X\r\n\r\n" + ok), 200, "", "answered", 1},
		"no content":               {post, say("HTTP/1.1 204 X\r\nConnection: close\r\n\r\n"), 204, "", "answered", 1},
		"odd status":               {post, say("HTTP/1.1 799 X\r\nConnection: close\r\n\r\nx"), 799, "", "answered", 1},
	} {
		t.Run(name, func(t *testing.T) {
			body := ""
			if tc.op.Method == "POST" {
				body = "{}"
			}
			var received atomic.Int32
			up := newUpstream(t, raw(t, func(n int, c net.Conn) { received.Add(1); tc.serve(n, c) }))
			answer, e := do(t.Context(), t, up, tc.op, "/things/1", body)
			if e == nil {
				e = &apierrors.Error{Message: "no error"}
			}
			if answer.Status != tc.status || e.Code != tc.code || answer.Delivery != tc.delivery || answer.Attempts != tc.attempts {
				t.Errorf("got status %d, code %q (%s), %s, %d attempts", answer.Status, e.Code, e.Message, answer.Delivery, answer.Attempts)
			}
			if int(received.Load()) != tc.attempts {
				t.Errorf("the upstream received %d requests", received.Load())
			}
			if strings.Contains(e.Message, "things") {
				t.Errorf("the message shows the path: %s", e.Message)
			}
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	for _, form := range []func() string{
		func() string { return "1" },
		func() string { return time.Now().Add(1500 * time.Millisecond).UTC().Format(http.TimeFormat) },
	} {
		var first, second time.Time
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if first.IsZero() {
				first = time.Now()
				w.Header().Set("Retry-After", form())
				w.WriteHeader(429)
				return
			}
			second = time.Now()
		}))
		defer server.Close()
		answer, e := do(t.Context(), t, newUpstream(t, server.URL), getThing, "/things/1", "")
		if e != nil || answer.Status != 200 || second.Sub(first) < 500*time.Millisecond {
			t.Errorf("got %v, %d after %v", e, answer.Status, second.Sub(first))
		}
	}
}

// TestBodyIsSentOnceOrRewound repeats a write whose body can be read again,
// and none whose body cannot.
func TestBodyIsSentOnceOrRewound(t *testing.T) {
	op := &Operation{Method: "PUT", Path: "/things/{id}", Retry: RetrySafe}
	for _, rewindable := range []bool{true, false} {
		var bodies []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			bodies = append(bodies, string(body))
			w.WriteHeader(503)
		}))
		defer server.Close()
		up := newUpstream(t, server.URL, func(c *Config) { c.MaxAttempts = 2 })
		req, _ := http.NewRequest("PUT", up.BaseURL()+"/things/1", strings.NewReader("{}"))
		want := "[{} {}]"
		if !rewindable {
			req.GetBody, want = nil, "[{}]"
		}
		resp, err := up.NewCall(newToken(t), op).Do(req)
		if err != nil || resp.StatusCode != 503 || fmt.Sprint(bodies) != want {
			t.Errorf("got %v, bodies %v, want %s", err, bodies, want)
		}
	}
}

func TestNotSent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	for _, tc := range []struct {
		op       *Operation
		attempts int
	}{{getThing, 3}, {&Operation{Method: "POST", Path: "/things/{id}"}, 3},
		{&Operation{Method: "POST", Path: "/things/{id}", Retry: RetryNever}, 1}, {&Operation{Method: "DELETE", Path: "/things/{id}", Retry: RetryUnsent}, 3}} {
		answer, e := do(t.Context(), t, newUpstream(t, "http://"+l.Addr().String()), tc.op, "/things/1?q=hidden", "")
		if e == nil || e.Code != apierrors.NetworkError || e.Delivery != apierrors.NotSent || !e.Retryable || answer.Attempts != tc.attempts {
			t.Fatalf("got %+v, %d attempts", e, answer.Attempts)
		}
		if want := "cannot connect to " + l.Addr().String() + ": connection refused"; e.Message != want {
			t.Errorf("message is %q, want %q", e.Message, want)
		}
	}

	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	for server, want := range map[string]string{
		"https" + strings.TrimPrefix(plain.URL, "http"): "it does not speak TLS",
		secure.URL:                      "its certificate is signed by an unknown authority",
		"http://does-not-exist.invalid": "the host name ",
	} {
		_, e := do(t.Context(), t, newUpstream(t, server, func(c *Config) { c.MaxAttempts = 1 }), getThing, "/things/1", "")
		if e == nil || e.Code != apierrors.NetworkError || e.Delivery != apierrors.NotSent || !strings.Contains(e.Message, want) {
			t.Errorf("%s: got %v", server, e)
		}
	}
}

func TestRefusedBeforeDialling(t *testing.T) {
	up := newUpstream(t, raw(t, func(int, net.Conn) { t.Error("the upstream was called") }))
	request := func(method, path string, header http.Header) *http.Request {
		req, err := http.NewRequest(method, up.BaseURL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header
		return req
	}
	for name, tc := range map[string]struct {
		token Token
		req   *http.Request
		code  apierrors.Code
	}{
		"no token":     {Token{}, request("GET", "/things/1", nil), apierrors.Unauthorized},
		"wrong method": {newToken(t), request("PUT", "/things/1", nil), apierrors.Internal},
		"dot segment":  {newToken(t), request("GET", "/things/%2e%2e", nil), apierrors.InvalidArguments},
		"line break":   {newToken(t), request("GET", "/things/1", http.Header{"X-Wanted": {"a\r\nAuthorization: x"}}), apierrors.InvalidArguments},
		"nul":          {newToken(t), request("GET", "/things/1", http.Header{"Content-Type": {"a\x00"}}), apierrors.InvalidArguments},
	} {
		call := up.NewCall(tc.token, getThing)
		_, err := call.Do(tc.req)
		if code := apierrors.CodeOf(err); code != tc.code {
			t.Errorf("%s: code %q, want %q", name, code, tc.code)
		}
		if a := call.Answer(); a.Delivery != apierrors.NotSent || a.Attempts != 0 {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestHeaders(t *testing.T) {
	var got http.Header
	var host string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, host = r.Header, r.Host
		w.Header().Set("X-Answer", "yes")
	}))
	defer server.Close()
	up := newUpstream(t, server.URL)
	req, _ := http.NewRequest("GET", up.BaseURL()+"/things/1", nil)
	req.Host = "evil.example.com"
	req.Header = http.Header{
		"Accept": {"application/json"}, "X-Wanted": {"w"}, "X-Other": {"o"}, "Cookie": {"c=1"},
		"Authorization": {"Bearer other"}, "Accept-Encoding": {"br"}, "Connection": {"close"},
	}
	before := len(req.Header)
	op := &Operation{Method: "GET", Path: "/things/{id}", Headers: []string{"X-Wanted", "Authorization", "Cookie", "Connection"}}
	call := up.NewCall(newToken(t), op)
	if _, err := call.Do(req); err != nil {
		t.Fatal(err)
	}
	want := http.Header{"Accept": {"application/json"}, "X-Wanted": {"w"}, "Authorization": {"Bearer " + marked}, "User-Agent": {"postern/test"}, "Accept-Encoding": {"gzip"}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("sent %v, want %v", got, want)
	}
	if host == req.Host || len(req.Header) != before || req.Header.Get("Authorization") != "Bearer other" {
		t.Errorf("host %q, the caller's header %v", host, req.Header)
	}
	if call.Answer().Header.Get("X-Answer") != "yes" {
		t.Error("the answer's header is missing")
	}
}

func TestBodies(t *testing.T) {
	const limit = 64 << 10
	send := func(n int, status int, length, zip bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			data := bytes.Repeat([]byte("x"), n)
			if length {
				w.Header().Set("Content-Length", fmt.Sprint(n))
			}
			var out io.Writer = w
			if zip {
				w.Header().Set("Content-Encoding", "gzip")
			}
			w.WriteHeader(status)
			if zip {
				z := gzip.NewWriter(w)
				defer z.Close()
				out = z
			}
			if !length {
				w.(http.Flusher).Flush()
			}
			out.Write(data)
		}
	}
	for name, tc := range map[string]struct {
		handler   http.HandlerFunc
		size      int
		truncated bool
		code      apierrors.Code
	}{
		"empty":             {send(0, 200, true, false), 0, false, ""},
		"announced":         {send(3000, 200, true, false), 3000, false, ""},
		"at the limit":      {send(limit, 200, true, false), limit, false, ""},
		"over the limit":    {send(limit+1, 200, true, false), 0, false, "response_too_large"},
		"chunked":           {send(30000, 200, false, false), 30000, false, ""},
		"chunked, at limit": {send(limit, 200, false, false), limit, false, ""},
		"chunked, over":     {send(limit+1, 200, false, false), 0, false, "response_too_large"},
		"gzip":              {send(limit, 200, false, true), limit, false, ""},
		"gzip bomb":         {send(4<<20, 200, false, true), 0, false, "response_too_large"},
		"error over":        {send(limit+1, 400, true, false), limit, true, ""},
		"error bomb":        {send(4<<20, 500, false, true), limit, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tc.handler)
			defer server.Close()
			up := newUpstream(t, server.URL, func(c *Config) { c.MaxResponseBytes = limit })
			answer, e := do(t.Context(), t, up, getThing, "/things/1", "")
			if e != nil && e.Code != tc.code || e == nil && tc.code != "" {
				t.Fatalf("got %v, want %q", e, tc.code)
			}
			if len(answer.Body) != tc.size || cap(answer.Body) != tc.size || answer.Truncated != tc.truncated {
				t.Errorf("got %d bytes (capacity %d), truncated %v", len(answer.Body), cap(answer.Body), answer.Truncated)
			}
			if answer.Attempts != 1 || answer.Delivery != apierrors.Answered {
				t.Errorf("%d attempts, %s", answer.Attempts, answer.Delivery)
			}
		})
	}
}

func TestHead(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Length", "999999999") }))
	defer server.Close()
	answer, e := do(t.Context(), t, newUpstream(t, server.URL), &Operation{Method: "HEAD", Path: "/things/{id}"}, "/things/1", "")
	if e != nil || answer.Status != 200 || answer.Truncated {
		t.Errorf("got %v, %+v", e, answer)
	}
}

// TestDeadlines stalls at each phase, and ends the call from either side.
func TestDeadlines(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "body") {
			io.WriteString(w, "data: 1\n\n")
			w.(http.Flusher).Flush()
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(release)
	quick := func(c *Config) { c.Timeout = 100 * time.Millisecond }
	header := func(c *Config) { c.ResponseHeaderTimeout = 100 * time.Millisecond }
	for name, tc := range map[string]struct {
		config   func(*Config)
		path     string
		caller   time.Duration // its deadline
		cancel   time.Duration
		code     apierrors.Code
		delivery apierrors.Delivery
		message  string
	}{
		"own":              {quick, "/things/head", 0, 0, "timeout", "unknown", "within 100ms"},
		"own, in body":     {quick, "/things/body", 0, 0, "timeout", "answered", "within 100ms"},
		"first byte":       {header, "/things/head", 0, 0, "timeout", "unknown", "in time"},
		"caller's":         {func(*Config) {}, "/things/head", 100 * time.Millisecond, 0, "timeout", "unknown", "the caller's deadline"},
		"canceled":         {func(*Config) {}, "/things/head", 0, 100 * time.Millisecond, "canceled", "unknown", "canceled"},
		"canceled in body": {func(*Config) {}, "/things/body", 0, 100 * time.Millisecond, "canceled", "answered", "canceled"},
		"canceled before":  {func(*Config) {}, "/things/body", 0, 1, "canceled", "not_sent", "canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tc.caller > 0 {
				ctx, cancel = context.WithTimeout(ctx, tc.caller)
				defer cancel()
			}
			switch {
			case tc.cancel == 1:
				cancel()
			case tc.cancel > 0:
				defer time.AfterFunc(tc.cancel, cancel).Stop()
			}
			start := time.Now()
			_, e := do(ctx, t, newUpstream(t, server.URL, tc.config), getThing, tc.path, "")
			if e == nil || e.Code != tc.code || e.Delivery != tc.delivery || !strings.Contains(e.Message, tc.message) {
				t.Errorf("got %+v", e)
			}
			if took := time.Since(start); took > 300*time.Millisecond {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestSilentReplay lets the server drop a kept-alive connection on the second
// request, which net/http answers by sending some requests again.
func TestSilentReplay(t *testing.T) {
	for name, tc := range map[string]struct {
		op       Operation
		received int32
		attempts int
		ok       bool
	}{
		"get":                    {Operation{Method: "GET"}, 2, 2, true},
		"get, never":             {Operation{Method: "GET", Retry: RetryNever}, 1, 1, false},
		"post":                   {Operation{Method: "POST"}, 1, 1, false},
		"post, key":              {Operation{Method: "POST", Headers: []string{"Idempotency-Key"}}, 1, 1, false},
		"post, declared":         {Operation{Method: "POST", IdempotencyHeader: "Idempotency-Key"}, 2, 2, true},
		"delete":                 {Operation{Method: "DELETE"}, 2, 2, true},
		"delete, not idempotent": {Operation{Method: "DELETE", Retry: RetryUnsent}, 1, 1, false},
		"post, empty":            {Operation{Method: "POST", ID: "empty"}, 1, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			var received atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v1/things/warm" {
					return
				}
				if received.Add(1) == 1 {
					c, _, _ := w.(http.Hijacker).Hijack()
					reset(c)
				}
			}))
			defer server.Close()
			up := newUpstream(t, server.URL, func(c *Config) { c.MaxAttempts = 2 })
			if _, e := do(t.Context(), t, up, getThing, "/things/warm", ""); e != nil {
				t.Fatal(e)
			}
			tc.op.Path = "/things/{id}"
			req, _ := http.NewRequest(tc.op.Method, up.BaseURL()+"/things/1", nil)
			if tc.op.Method == "POST" && tc.op.ID != "empty" {
				req, _ = http.NewRequest(tc.op.Method, up.BaseURL()+"/things/1", strings.NewReader("{}"))
			}
			req.Header.Set("Idempotency-Key", "k")
			call := up.NewCall(newToken(t), &tc.op)
			_, err := call.Do(req)
			if (err == nil) != tc.ok || received.Load() != tc.received || call.Answer().Attempts != tc.attempts {
				t.Errorf("got %v, %d received, %d attempts", err, received.Load(), call.Answer().Attempts)
			}
		})
	}
}

// HTTP/2 would repeat requests on its own.
func TestHTTP1IsSpokenToAServerThatOffersHTTP2(t *testing.T) {
	var n atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 {
			t.Errorf("protocol %s", r.Proto)
		}
		if n.Add(1) == 1 {
			w.WriteHeader(503)
		}
		io.WriteString(w, "answer")
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	up := newUpstream(t, server.URL)
	up.pool.TLSClientConfig.RootCAs = server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	answer, e := do(t.Context(), t, up, getThing, "/things/1", "")
	if e != nil || answer.Status != 200 || string(answer.Body) != "answer" || answer.Attempts != 2 {
		t.Errorf("got %v, %+v", e, answer)
	}
}

// TestSharedPool checks that a failed call leaves the connections of others alone.
func TestSharedPool(t *testing.T) {
	var conns atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(503)
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	up := newUpstream(t, server.URL, func(c *Config) { c.MaxAttempts = 2 })
	for range 3 {
		if answer, e := do(t.Context(), t, up, getThing, "/things/1", ""); e != nil || answer.Attempts != 2 {
			t.Fatal(e, answer.Attempts)
		}
	}
	if conns.Load() != 1 {
		t.Errorf("%d connections for one caller", conns.Load())
	}
}
