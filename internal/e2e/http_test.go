package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ask sends a tools/call to list_projects with further headers and returns the
// status, the headers and the body.
func ask(t testing.TB, p *peer, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", p.endpoint, strings.NewReader(p.message("tools/call", callParams("list_projects", "{}"))))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = p.headers("tools/call", "list_projects")
	if change != nil {
		change(req)
	}
	return p.exchange(t, req)
}

// exchange sends a request and reads the whole answer.
func (p *peer) exchange(t testing.TB, req *http.Request) (*http.Response, string) {
	t.Helper()
	resp, err := p.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// web dials over HTTP at the legacy revision.
func web(t testing.TB, args ...string) (*peer, *recorder) {
	t.Helper()
	up := record(t, nil)
	return dial(t, way{"http", legacy}, settings{api: up.url, token: "any", args: args}), up
}

func TestHangingUpCancelsTheUpstreamRequest(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{legacy, modern, "2025-06-18", "2025-03-26"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			up := newSlow(t)
			_, endpoint := serve(t, settings{api: up.url})
			p := &peer{way: way{"http", revision}, endpoint: endpoint, token: "any", http: httpClient(t)}
			ctx, cancel := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, "POST", endpoint, strings.NewReader(p.message("tools/call", callParams("list_projects", "{}"))))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = p.headers("tools/call", "list_projects")
			ended := make(chan error, 1)
			go func() {
				resp, err := p.http.Do(req)
				if err == nil {
					resp.Body.Close()
				}
				ended <- err
			}()
			within(t, patience, up.started, "the request")
			cancel()
			within(t, 500*time.Millisecond, up.canceled, "the end of the request")
			<-ended
		})
	}
}

func TestSIGTERMFinishesWhatIsInFlightAndExitsZero(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{legacy, modern} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			up := newSlow(t)
			p := dial(t, way{"http", revision}, settings{api: up.url, token: "any"})
			answer := make(chan string, 1)
			go func() {
				_, body := ask(t, p, nil)
				answer <- body
			}()
			within(t, patience, up.started, "the request")
			p.process.signal(syscall.SIGTERM)
			p.process.stderr.match(t, `(stopping)`)
			close(up.release)
			if body := <-answer; !strings.Contains(body, `{\"late\":true}`) {
				t.Errorf("answer %s", body)
			}
			if status := p.process.wait(t); status != 0 {
				t.Errorf("exit status %d: %s", status, p.process.stderr)
			}
		})
	}
}

// A load balancer must be able to hear that the gateway is going away while
// calls are still in flight.
func TestReadyzSaysUnavailableWhileDraining(t *testing.T) {
	t.Parallel()
	up := newSlow(t)
	p := dial(t, way{"http", legacy}, settings{api: up.url, token: "any"})
	root := strings.TrimSuffix(p.endpoint, "/mcp")
	get := func(path string) (int, error) {
		req, err := http.NewRequestWithContext(t.Context(), "GET", root+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := httpClient(t).Do(req)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		return resp.StatusCode, nil
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, err := get(path); status != 200 {
			t.Errorf("%s: %d %v", path, status, err)
		}
	}
	answer := make(chan struct{})
	go func() {
		ask(t, p, nil)
		close(answer)
	}()
	within(t, patience, up.started, "the request")
	p.process.signal(syscall.SIGTERM)
	p.process.stderr.match(t, `(stopping)`)
	status, err := get("/readyz")
	for deadline := time.Now().Add(patience); status == 200 && time.Now().Before(deadline); status, err = get("/readyz") {
		time.Sleep(time.Millisecond) // from the log line to the next statement
	}
	if status != 503 {
		t.Errorf("/readyz while draining: %d %v", status, err)
	}
	if status, err := get("/healthz"); status != 200 {
		t.Errorf("/healthz while draining: %d %v", status, err)
	}
	close(up.release)
	<-answer
}

func TestAMethodOtherThanPOSTIsNotAllowed(t *testing.T) {
	t.Parallel()
	p, up := web(t)
	for _, method := range []string{"GET", "DELETE", "PUT", "PATCH", "OPTIONS", "HEAD"} {
		resp, _ := ask(t, p, func(r *http.Request) { r.Method = method })
		if resp.StatusCode != 405 || resp.Header.Get("Allow") != "POST" {
			t.Errorf("%s: %d, Allow %q", method, resp.StatusCode, resp.Header.Get("Allow"))
		}
	}
	if sent := up.take(); len(sent) != 0 {
		t.Errorf("sent %+v", sent)
	}
}

func TestHostAndOriginAllowLists(t *testing.T) {
	t.Parallel()
	p, up := web(t, "--allow-host=mcp.example.com", "--allow-origin=https://app.example.com")
	for _, c := range []struct {
		host, origin string
		status       int
	}{
		{"", "", 200},
		{"localhost", "", 200},
		{"LOCALHOST:8080", "", 200},
		{"[::1]:8080", "", 200},
		{"127.0.0.9", "", 200},
		{"mcp.example.com", "", 200}, // as a proxy on this machine forwards it
		{"MCP.example.com:443", "https://app.example.com", 200},
		{"evil.example", "", 403},
		{"mcp.example.com.evil.example", "", 403},
		{"localhost.evil.example", "", 403},
		{"127.0.0.1.evil.example", "", 403},
		{"", "https://app.example.com", 200},
		{"", "http://localhost:3000", 200},
		{"", "http://127.0.0.1:3000", 200},
		{"", "https://evil.example", 403},
		{"", "http://app.example.com", 403},
		{"", "https://app.example.com:444", 403},
		{"", "https://app.example.com.evil.example", 403},
		{"", "https://localhost.evil.example", 403},
		{"", "http://localhost@evil.example", 403},
		{"", "file://localhost", 403},
		{"", "null", 403},
		{"", "garbage", 403},
	} {
		resp, body := ask(t, p, func(r *http.Request) {
			r.Host = orElse(c.host, r.Host)
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
		})
		if sent := up.take(); resp.StatusCode != c.status || (len(sent) == 1) != (c.status == 200) {
			t.Errorf("%+v: %d %s, sent %d", c, resp.StatusCode, body, len(sent))
		}
	}
}

func TestTwoOriginHeadersAreAsStrictAsTheWorse(t *testing.T) {
	t.Parallel()
	p, _ := web(t)
	resp, _ := ask(t, p, func(r *http.Request) { r.Header["Origin"] = []string{"http://localhost", "https://evil.example"} })
	if resp.StatusCode != 403 {
		t.Errorf("status %d", resp.StatusCode)
	}
}

func TestABodyOverTheLimitIsTooLarge(t *testing.T) {
	t.Parallel()
	p, up := web(t, "--max-request-bytes=2000")
	for _, chunked := range []bool{false, true} {
		for size, status := range map[int]int{2000: 200, 2001: 413, 100_000: 413} {
			resp, body := ask(t, p, func(r *http.Request) {
				message := p.message("tools/call", callParams("list_projects", "{}"))
				message += strings.Repeat(" ", size-len(message))
				r.Body, r.ContentLength, r.GetBody = io.NopCloser(strings.NewReader(message)), int64(size), nil
				if chunked {
					r.ContentLength = -1
				}
			})
			if resp.StatusCode != status {
				t.Errorf("%d bytes, chunked %v: %d %s", size, chunked, resp.StatusCode, body)
			}
		}
	}
	if sent := up.take(); len(sent) != 2 {
		t.Errorf("sent %d", len(sent))
	}
}

func TestAcceptMayNameJSONAlone(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{legacy, modern} {
		p := dial(t, way{"http", revision}, settings{api: record(t, nil).url, token: "any"})
		for _, accept := range [][]string{{"application/json"}, {"application/json, text/event-stream"}, {"*/*"}, {"application/*"}, {"text/event-stream", "application/json;q=0.9"}, nil} {
			resp, body := ask(t, p, func(r *http.Request) { r.Header["Accept"] = accept })
			if resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") || !strings.Contains(body, `"isError":false`) {
				t.Errorf("%s, Accept %q: %d %s", revision, accept, resp.StatusCode, body)
			}
		}
		if resp, _ := ask(t, p, func(r *http.Request) { r.Header.Set("Accept", "text/html") }); resp.StatusCode != 406 && resp.StatusCode != 400 {
			t.Errorf("Accept text/html: %d", resp.StatusCode)
		}
	}
}

func TestTheRateLimitCountsCallsAlsoInABatch(t *testing.T) {
	t.Parallel()
	p, up := web(t, "--rate-limit=0.51") // bursts of two
	p.revision = "2025-03-26"            // the last one with batches
	refused := func(what string, resp *http.Response, body string) {
		t.Helper()
		wait, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		if resp.StatusCode != 429 || err != nil || wait < 1 {
			t.Errorf("%s: %d, Retry-After %q: %s", what, resp.StatusCode, resp.Header.Get("Retry-After"), body)
			return
		}
		if f := readEnvelope(t, body); f.Code != "rate_limited" || !*f.Retryable || f.RetryAfter != wait || f.Delivery != "not_sent" {
			t.Errorf("%s: %s", what, body)
		}
	}
	batch := func(calls int) func(*http.Request) {
		var messages []string
		for range calls {
			messages = append(messages, p.message("tools/call", callParams("list_projects", "{}")))
		}
		body := "[" + strings.Join(messages, ",") + "]"
		return func(r *http.Request) {
			r.Body, r.ContentLength, r.GetBody = io.NopCloser(strings.NewReader(body)), int64(len(body)), nil
		}
	}
	if resp, body := ask(t, p, batch(3)); resp.StatusCode != 400 || *readEnvelope(t, body).Retryable || resp.Header.Get("Retry-After") != "" {
		t.Errorf("a batch that is never let through: %d %s", resp.StatusCode, body)
	}
	if resp, body := ask(t, p, nil); resp.StatusCode != 200 {
		t.Errorf("the first call: %d %s", resp.StatusCode, body)
	}
	resp, body := ask(t, p, batch(2))
	refused("a batch of two", resp, body)
	if resp, body := ask(t, p, nil); resp.StatusCode != 200 {
		t.Errorf("the second call: %d %s", resp.StatusCode, body)
	}
	resp, body = ask(t, p, nil)
	refused("the third call", resp, body)
	if list := p.request(t, "tools/list", "{}"); !strings.Contains(list, `"tools":[`) {
		t.Errorf("a list is no call: %.200s", list)
	}
	p.token = "another"
	if resp, body := ask(t, p, batch(2)); resp.StatusCode != 200 || !strings.HasPrefix(body, "[") {
		t.Errorf("another token: %d %s", resp.StatusCode, body)
	}
	if sent := up.take(); len(sent) != 4 {
		t.Errorf("sent %d", len(sent))
	}
}

func TestTheGlobalRateLimitHoldsForAllTokens(t *testing.T) {
	t.Parallel()
	p, _ := web(t, "--global-rate-limit=0.5")
	for i, want := range []int{200, 429, 429} {
		p.token = fmt.Sprintf("token-%d", i)
		if resp, body := ask(t, p, nil); resp.StatusCode != want {
			t.Errorf("call %d: %d %s", i, resp.StatusCode, body)
		}
	}
}

func TestStdioRateLimitIsAnEnvelope(t *testing.T) {
	t.Parallel()
	p := dial(t, way{"stdio", legacy}, settings{api: record(t, nil).url, token: "any", args: []string{"--rate-limit=0.5"}})
	p.ok(t, "list_projects", "{}")
	if f := p.call(t, "list_projects", "{}").failure; f.Code != "rate_limited" || f.RetryAfter < 1 || !*f.Retryable {
		t.Errorf("%+v", f)
	}
}

func TestAStalledConnectionDoesNotHinderAnother(t *testing.T) {
	t.Parallel()
	p, _ := web(t)
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(p.endpoint, "http://"), "/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\nContent-Length: 100\r\n\r\n{")
	p.ok(t, "list_projects", "{}")
}
