package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/postern-mcp/postern/apiclient/transport"
	apierrors "github.com/postern-mcp/postern/errors"
	"github.com/postern-mcp/postern/gateway"
	"github.com/postern-mcp/postern/internal/faulty"
)

// kinds of operations, by whether a request that may have arrived is sent again.
var kinds = []struct {
	name       string
	operation  transport.Operation
	repeatable bool
}{
	{"get", transport.Operation{Method: http.MethodGet}, true},
	{"get_never", transport.Operation{Method: http.MethodGet, Retry: transport.RetryNever}, false},
	{"put", transport.Operation{Method: http.MethodPut}, true},
	{"delete", transport.Operation{Method: http.MethodDelete}, true},
	{"delete_once", transport.Operation{Method: http.MethodDelete, Retry: transport.RetryUnsent}, false},
	{"post", transport.Operation{Method: http.MethodPost}, false},
	{"post_key", transport.Operation{Method: http.MethodPost, IdempotencyHeader: "Idempotency-Key"}, true},
	{"post_safe", transport.Operation{Method: http.MethodPost, Retry: transport.RetrySafe}, true},
	{"post_never", transport.Operation{Method: http.MethodPost, Retry: transport.RetryNever}, false},
	{"patch", transport.Operation{Method: http.MethodPatch}, false},
}

// faultyGateway has a tool of each kind in front of a faulty API.
func faultyGateway(t testing.TB, server string, timeout time.Duration) *gateway.Gateway {
	var tools []gateway.ToolV1
	for _, k := range kinds {
		args := []gateway.ArgV1{{Name: "id", Key: "id", In: gateway.InPath, Required: true}}
		schema := `{"type":"object","properties":{"id":{"type":"string"}},"required":["id"],"additionalProperties":false}`
		if k.operation.Method != http.MethodGet && k.operation.Method != http.MethodDelete {
			args = append(args, gateway.ArgV1{Name: "n", Key: "n", In: gateway.InBody})
			schema = `{"type":"object","properties":{"id":{"type":"string"},"n":{"type":"integer"}},"required":["id"],"additionalProperties":false}`
		}
		tool := row(k.name, k.operation.Method, "/things/{id}", schema, args...)
		tool.Operation.Retry, tool.Operation.IdempotencyHeader = k.operation.Retry, k.operation.IdempotencyHeader
		if len(args) > 1 {
			tool.Body = gateway.BodyV1{Kind: gateway.ObjectBody, ContentTypes: []string{"application/json"}}
		}
		tools = append(tools, tool)
	}
	return newGateway(t, server, gateway.CatalogV1{Tools: tools}, func(_ *gateway.Options, c *transport.Config) {
		c.Timeout, c.MaxAttempts, c.RetryWait, c.CircuitCooldown = timeout, 3, time.Millisecond, -1
	})
}

func faultyAPI(t testing.TB, next func(int) faulty.Fault) *faulty.Server {
	t.Helper()
	api, err := faulty.New(next)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	return api
}

func argumentsOf(tool, id string) string {
	if strings.HasPrefix(tool, "get") || strings.HasPrefix(tool, "delete") {
		return fmt.Sprintf(`{"id":%q}`, id)
	}
	return fmt.Sprintf(`{"id":%q,"n":7}`, id)
}

// TestFaults declares what becomes of a call of each kind when the API does the same
// thing to each of its requests.
func TestFaults(t *testing.T) {
	t.Parallel()
	const brief = 250 * time.Millisecond // of calls that only a deadline ends
	for _, c := range []struct {
		fault    faulty.Fault
		code     apierrors.Code // "" for success
		status   int
		delivery apierrors.Delivery
		again    bool // a repeatable request is sent again
	}{
		{faulty.Echo, "", 0, "", false},
		{faulty.Trailers, "", 0, "", false},
		{faulty.EarlyHints, "", 0, "", false},
		{faulty.ShortLength, "", 0, "", false},

		{faulty.ResetBeforeRequest, "network_error", 0, "unknown", true},
		{faulty.CloseBeforeRequest, "network_error", 0, "unknown", true},
		{faulty.ResetAfterRequest, "network_error", 0, "unknown", true},
		{faulty.CloseAfterRequest, "network_error", 0, "unknown", true},
		// A server that is slow to answer gets no second request on top.
		{faulty.StallBeforeRequest, "timeout", 0, "unknown", false},
		{faulty.StallAfterRequest, "timeout", 0, "unknown", false},
		{faulty.StallInHeader, "timeout", 0, "unknown", false},
		{faulty.StallInBody, "timeout", 200, "answered", false},
		{faulty.Events, "timeout", 200, "answered", false},
		{faulty.Drip, "timeout", 0, "unknown", false},

		{faulty.Truncated, "invalid_response", 200, "answered", true},
		{faulty.TruncatedChunk, "invalid_response", 200, "answered", true},
		{faulty.ResetInBody, "invalid_response", 200, "answered", true},
		{faulty.BadGzip, "invalid_response", 200, "answered", true},
		{faulty.Garbage, "invalid_response", 0, "unknown", true},
		{faulty.HugeHeader, "invalid_response", 0, "unknown", true},
		{faulty.Malformed, "invalid_response", 200, "answered", false}, // it is complete, and so it will be again
		{faulty.HugeLength, "response_too_large", 200, "answered", false},
		{faulty.Bomb, "response_too_large", 200, "answered", false},

		{faulty.NotFound, "http_4xx", 404, "answered", false},
		{faulty.HTMLPage, "http_5xx", 502, "answered", true},
		{faulty.Status(500, "text/plain", "oops"), "http_5xx", 500, "answered", false},
		{faulty.Status(503, "application/json", `{}`), "http_5xx", 503, "answered", true},
		{faulty.Status(504, "application/json", ``), "http_5xx", 504, "answered", true},
		{faulty.Status(429, "application/json", `{}`, "Retry-After: 0"), "http_4xx", 429, "answered", true},
		{faulty.Status(429, "application/json", `{}`, "Retry-After: 3600"), "http_4xx", 429, "answered", false},
		{faulty.Status(503, "text/plain", ``, "Retry-After: Fri, 01 Jan 2100 00:00:00 GMT"), "http_5xx", 503, "answered", false},
		{faulty.Status(302, "text/html", "<a href=/elsewhere>", "Location: /elsewhere"), "http_3xx", 302, "answered", false},
		{faulty.Status(304, "text/html", ""), "http_3xx", 304, "answered", false},
		{faulty.Status(206, "application/json", `{}`), "invalid_response", 206, "answered", false},
		{faulty.Status(101, "text/plain", ""), "invalid_response", 101, "answered", false},
		{faulty.Status(799, "text/plain", "x"), "invalid_response", 799, "answered", false},
	} {
		t.Run(c.fault.Name, func(t *testing.T) {
			t.Parallel()
			api := faultyAPI(t, faulty.Script(c.fault))
			timeout := 10 * time.Second
			if c.code == "timeout" {
				timeout = brief
			}
			g := faultyGateway(t, api.URL, timeout)
			for _, k := range kinds {
				api.Forget()
				start := time.Now()
				r := call(t.Context(), t, g, caller(t), k.name, argumentsOf(k.name, "the-id"))
				took := time.Since(start)
				attempts := 1
				if c.again && k.repeatable {
					attempts = 3
				}
				got := &apierrors.Error{}
				if r.Err != nil {
					got = r.Err
				}
				if got.Code != c.code || got.Status != c.status || got.Delivery != c.delivery || r.Err != nil && got.Attempts != attempts {
					t.Errorf("%s: %s %s, want %s %d %s after %d attempts", k.name, r.Text, got.Envelope(), c.code, c.status, c.delivery, attempts)
				}
				if strings.Contains(got.Message, "the-id") && c.code != "invalid_response" {
					t.Errorf("%s: the message repeats the arguments: %s", k.name, got.Message)
				}
				checkReceived(t, k.name, api.Received(), attempts, c.fault.Unsent())
				if slack := time.Second; c.code == "timeout" && (took < brief || took > brief+slack) || c.code != "timeout" && took > 3*slack {
					t.Errorf("%s: it took %v", k.name, took)
				}
			}
		})
	}
}

// checkReceived checks that the API got each attempt whole and nothing else, and the
// same idempotency key with each.
func checkReceived(t testing.TB, kind string, received []faulty.Request, attempts int, unread bool) {
	t.Helper()
	if unread {
		attempts = 0
	}
	if len(received) != attempts {
		t.Errorf("%s: the API received %d requests, want %d", kind, len(received), attempts)
	}
	for _, r := range received {
		if key := r.Header.Get("Idempotency-Key"); r.Body != received[0].Body || key != received[0].Header.Get("Idempotency-Key") || (key != "") != (kind == "post_key") {
			t.Errorf("%s: attempts differ: %+v", kind, received)
		}
	}
}

// A connection that cannot be made is proof that nothing was sent, so that every
// operation but those that say never is tried again.
func TestWhatWasNotSentIsSentAgain(t *testing.T) {
	t.Parallel()
	api := faultyAPI(t, faulty.Script(faulty.Echo))
	plain := faultyAPI(t, faulty.Script(faulty.Garbage))
	for _, server := range []string{api.URL, strings.Replace(plain.URL, "http:", "https:", 1)} {
		api.Refuse()
		g := faultyGateway(t, server, 10*time.Second)
		for _, k := range kinds {
			attempts := 3
			if k.operation.Retry == transport.RetryNever {
				attempts = 1
			}
			e := fails(t, call(t.Context(), t, g, caller(t), k.name, argumentsOf(k.name, "x")), apierrors.NetworkError)
			if e.Delivery != apierrors.NotSent || e.Attempts != attempts || !e.Retryable {
				t.Errorf("%s: %s", k.name, e.Envelope())
			}
		}
	}
	if len(api.Received())+len(plain.Received()) != 0 {
		t.Error("something was received")
	}
}

// An idle connection that the API has closed in the meantime takes no call with it:
// net/http then writes nothing, so that the request can go on another one.
func TestAnIdleConnectionThatWasClosedCostsNothing(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		closing := faulty.Status(200, "application/json", `{}`, "Keep-Alive: timeout=1")
		api := faultyAPI(t, faulty.Script(closing, faulty.Echo))
		g := faultyGateway(t, api.URL, 10*time.Second)
		if r := call(t.Context(), t, g, caller(t), k.name, argumentsOf(k.name, "warm")); r.Err != nil {
			t.Fatal(r.Err)
		}
		api.Hangup()
		time.Sleep(50 * time.Millisecond) // the client sees the end of the connection
		if r := call(t.Context(), t, g, caller(t), k.name, argumentsOf(k.name, "x")); r.Err != nil || len(api.Received()) != 2 {
			t.Errorf("%s: %v, %d requests", k.name, r.Err, len(api.Received()))
		}
	}
}

// TestARepeatedDeleteThatFindsNothing says why that may be.
func TestARepeatedDeleteThatFindsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first faulty.Fault
		says  bool
	}{{faulty.ResetAfterRequest, true}, {faulty.NotFound, false}} {
		g := faultyGateway(t, faultyAPI(t, faulty.Script(c.first, faulty.NotFound)).URL, 10*time.Second)
		e := fails(t, call(t.Context(), t, g, caller(t), "delete", `{"id":"x"}`), apierrors.HTTP4xx)
		if says := strings.Contains(e.Hint, "may have deleted it"); says != c.says || says != (e.Attempts > 1) {
			t.Errorf("%s: %s", c.first, e.Envelope())
		}
	}
}

// A write whose key is known to the caller can be repeated by the caller.
func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	api := faultyAPI(t, faulty.Script(faulty.StallAfterRequest, faulty.Echo))
	g := faultyGateway(t, api.URL, 250*time.Millisecond)
	who := caller(t)
	e := fails(t, call(t.Context(), t, g, who, "post_key", `{"id":"x"}`), apierrors.Timeout)
	if e.IdempotencyKey == "" || e.Delivery != apierrors.Unknown {
		t.Fatalf("%s", e.Envelope())
	}
	who.IdempotencyKey = e.IdempotencyKey
	if r := call(t.Context(), t, g, who, "post_key", `{"id":"x"}`); r.Err != nil {
		t.Fatal(r.Err)
	}
	received := api.Received()
	if len(received) != 2 || received[0].Header.Get("Idempotency-Key") != received[1].Header.Get("Idempotency-Key") {
		t.Errorf("%+v", received)
	}
	// Each call has a key of its own unless the caller gives one.
	if r := call(t.Context(), t, g, caller(t), "post_key", `{"id":"x"}`); r.Err != nil || api.Received()[2].Header.Get("Idempotency-Key") == e.IdempotencyKey {
		t.Errorf("%v, %+v", r.Err, api.Received()[2])
	}
	for _, bad := range []string{"a b", "ü", "a\nb", strings.Repeat("k", 256)} {
		who.IdempotencyKey = bad
		fails(t, call(t.Context(), t, g, who, "post_key", `{"id":"x"}`), apierrors.InvalidArguments)
	}
	who.IdempotencyKey = "k"
	for _, k := range kinds { // taken where repeating does no harm, refused where it would
		takes := k.repeatable
		if r := call(t.Context(), t, g, who, k.name, argumentsOf(k.name, "x")); (r.Err == nil) != takes {
			t.Errorf("%s: %v", k.name, r.Err)
		}
	}
}

// TestNothingIsLostDoubledOrMadeUp holds for any sequence of faults.
func TestNothingIsLostDoubledOrMadeUp(t *testing.T) {
	t.Parallel()
	faults := []faulty.Fault{
		faulty.Echo, faulty.Echo, faulty.Echo, faulty.ResetBeforeRequest, faulty.CloseBeforeRequest, faulty.ResetAfterRequest, faulty.CloseAfterRequest,
		faulty.StallAfterRequest, faulty.StallInBody, faulty.Truncated, faulty.TruncatedChunk, faulty.ResetInBody, faulty.Garbage, faulty.BadGzip,
		faulty.Malformed, faulty.HTMLPage, faulty.NotFound, faulty.Trailers, faulty.EarlyHints, faulty.Status(503, "", ""), faulty.Status(500, "", ""),
	}
	rapid.Check(t, func(rt *rapid.T) {
		script := rapid.SliceOfN(rapid.SampledFrom(faults), 1, 8).Draw(rt, "faults")
		api, err := faulty.New(func(n int) faulty.Fault { return script[(n-1)%len(script)] })
		if err != nil {
			rt.Fatal(err)
		}
		defer api.Close()
		g := faultyGateway(t, api.URL, 60*time.Millisecond)
		methods := map[string]string{} // of what was called, by target
		for i := range rapid.IntRange(1, 5).Draw(rt, "calls") {
			k := rapid.SampledFrom(kinds).Draw(rt, "kind")
			id := fmt.Sprintf("id-%d", i)
			target := "/v1/things/" + id
			methods[target] = k.operation.Method
			r := call(t.Context(), t, g, caller(t), k.name, argumentsOf(k.name, id))
			// A call that was given up can be received after the next one has begun.
			var received []faulty.Request
			for _, got := range api.Received() {
				if got.Method != methods[got.Target] {
					rt.Fatalf("%s: received %+v, which nobody sent", k.name, got)
				}
				if got.Target == target {
					received = append(received, got)
				}
			}
			if !k.repeatable && len(received) > 1 {
				rt.Fatalf("%s was received %d times: %+v", k.name, len(received), received)
			}
			for _, got := range received {
				if got.Body != received[0].Body || got.Header.Get("Idempotency-Key") != received[0].Header.Get("Idempotency-Key") {
					rt.Fatalf("%s: received %+v", k.name, received)
				}
			}
			if r.Err == nil {
				if len(received) == 0 {
					rt.Fatalf("%s: a success that nobody answered: %s", k.name, r.Text)
				}
				var echoed faulty.Echoed
				if err := json.Unmarshal(r.Text, &echoed); err != nil || string(r.Text) != "{}" && echoed.Target != target {
					rt.Fatalf("%s: %v %s", k.name, err, r.Text)
				}
				continue
			}
			e := r.Err
			if !json.Valid(e.Envelope()) || e.Attempts < len(received) || e.Attempts > 3 {
				rt.Fatalf("%s: %d received, %s", k.name, len(received), e.Envelope())
			}
			if e.Delivery == apierrors.NotSent && len(received) > 0 || e.Delivery == apierrors.Answered && len(received) == 0 {
				rt.Fatalf("%s: %d received, but %s", k.name, len(received), e.Envelope())
			}
		}
	})
}

// An answer that came before its question is nobody's.
func TestNobodyGetsAnAnswerThatCameBeforeTheQuestion(t *testing.T) {
	t.Parallel()
	for _, fault := range []faulty.Fault{faulty.Unasked, faulty.NoContentUnasked} {
		api := faultyAPI(t, faulty.Script(fault))
		g := faultyGateway(t, api.URL, 10*time.Second)
		var callers sync.WaitGroup
		for i := range 16 {
			callers.Go(func() {
				token, err := transport.NewToken(fmt.Sprintf("caller-%02d", i))
				if err != nil {
					t.Error(err)
					return
				}
				for n := range 100 {
					id := fmt.Sprintf("id-%d-%d", i, n)
					r := call(t.Context(), t, g, gateway.Caller{Token: token}, "get", argumentsOf("get", id))
					if r.Err == nil && fault.Name == faulty.NoContentUnasked.Name && string(r.Text) == `{"status":204}` {
						continue
					}
					var got faulty.Echoed
					if r.Err == nil && (json.Unmarshal(r.Text, &got) != nil || got.Target != "/v1/things/"+id || got.Caller != faulty.CallerOf("Bearer "+fmt.Sprintf("caller-%02d", i))) {
						t.Errorf("%s: %s asked for %s and got %s", fault, token, id, r.Text)
					}
				}
			})
		}
		callers.Wait()
	}
}

// However many kept-alive connections turn out broken, a call is at most three requests.
func TestBrokenConnectionsAreNotTriedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var broken atomic.Bool
	var warm sync.WaitGroup
	api := faultyAPI(t, func(int) faulty.Fault {
		if broken.Load() {
			return faulty.ResetAfterRequest
		}
		<-release // so that each of the first requests has a connection of its own
		return faulty.Echo
	})
	g := faultyGateway(t, api.URL, 10*time.Second)
	for range 30 {
		warm.Go(func() { call(t.Context(), t, g, caller(t), "get", `{"id":"warm"}`) })
	}
	time.Sleep(200 * time.Millisecond)
	close(release)
	warm.Wait()
	broken.Store(true)
	for _, k := range kinds {
		api.Forget()
		most := 1
		if k.repeatable {
			most = 3
		}
		e := fails(t, call(t.Context(), t, g, caller(t), k.name, argumentsOf(k.name, "x")), apierrors.NetworkError)
		if n := len(api.Received()); n > most || e.Attempts > most || e.Delivery != apierrors.Unknown {
			t.Errorf("%s: %d received, %s", k.name, n, e.Envelope())
		}
	}
}

// renewing is a caller whose token is replaced once, when the API has refused it.
func renewing(t *testing.T) gateway.Caller {
	who := caller(t)
	who.Renewed = func() transport.Token {
		token, err := transport.NewToken("the-new-token")
		if err != nil {
			t.Error(err)
		}
		return token
	}
	return who
}

// With another token it is still one call: one key, one budget, one deadline, and
// neither token is shown.
func TestARenewedTokenIsStillOneCall(t *testing.T) {
	t.Parallel()
	refused := faulty.Status(401, "application/json", `{"detail":"revoked"}`)
	for name, c := range map[string]struct {
		tool     string
		script   []faulty.Fault
		received int
		code     apierrors.Code
		hint     string
	}{
		"write":                      {"post", []faulty.Fault{refused, faulty.Echo}, 2, "", ""},
		"never":                      {"post_never", []faulty.Fault{refused, faulty.Echo}, 1, "http_4xx", ""},
		"key":                        {"post_key", []faulty.Fault{faulty.ResetAfterRequest, refused, faulty.Echo}, 3, "", ""},
		"budget":                     {"get", []faulty.Fault{faulty.Status(503, "", ""), faulty.Status(503, "", ""), refused, faulty.Echo}, 3, "http_4xx", ""},
		"delete that may have been":  {"delete", []faulty.Fault{faulty.ResetAfterRequest, refused, faulty.NotFound}, 3, "http_4xx", "may have deleted it"},
		"delete that was only asked": {"delete", []faulty.Fault{refused, faulty.NotFound}, 2, "http_4xx", ""},
		"refused again":              {"get", []faulty.Fault{refused}, 2, "http_4xx", ""},
		"write that then breaks":     {"post", []faulty.Fault{refused, faulty.ResetAfterRequest}, 2, "network_error", "read the state"},
	} {
		api := faultyAPI(t, faulty.Script(c.script...))
		r := call(t.Context(), t, faultyGateway(t, api.URL, 10*time.Second), renewing(t), c.tool, argumentsOf(c.tool, "x"))
		got := &apierrors.Error{}
		if r.Err != nil {
			got = r.Err
		}
		received := api.Received()
		if len(received) != c.received || got.Code != c.code || r.Err != nil && got.Attempts != c.received || !strings.Contains(got.Hint, c.hint) || c.hint == "" && strings.Contains(got.Hint, "may have") {
			t.Errorf("%s: %d received, %s", name, len(received), got.Envelope())
		}
		for _, r := range received {
			if r.Header.Get("Idempotency-Key") != received[0].Header.Get("Idempotency-Key") {
				t.Errorf("%s: another key", name)
			}
		}
	}
	said := faulty.Status(200, "application/json", `{"old":"`+marked+`","new":"the-new-token"}`)
	r := call(t.Context(), t, faultyGateway(t, faultyAPI(t, faulty.Script(refused, said)).URL, 10*time.Second), renewing(t), "get", `{"id":"x"}`)
	if r.Err != nil || string(r.Text) != `{"old":"[redacted]","new":"[redacted]"}` {
		t.Errorf("%s %v", r.Text, r.Err)
	}
	g := faultyGateway(t, faultyAPI(t, faulty.Script(refused, faulty.StallAfterRequest)).URL, 300*time.Millisecond)
	start := time.Now()
	fails(t, call(t.Context(), t, g, renewing(t), "get", `{"id":"x"}`), apierrors.Timeout)
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A call that is given up while it waits to be repeated says what the API last said.
func TestACallGivenUpBetweenAttempts(t *testing.T) {
	t.Parallel()
	api := faultyAPI(t, faulty.Script(faulty.Status(503, "application/json", `{}`, "Retry-After: 3")))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	stopped, stop := context.WithCancel(t.Context())
	defer time.AfterFunc(300*time.Millisecond, stop).Stop()
	for _, ctx := range []context.Context{ctx, stopped} {
		r := call(ctx, t, faultyGateway(t, api.URL, 10*time.Second), caller(t), "delete", `{"id":"x"}`)
		if r.Err == nil || r.Err.Status != 503 || r.Err.Delivery != apierrors.Answered || strings.Contains(r.Err.Hint, "accepted") {
			t.Errorf("%v %s", r.Err, r.Err.Envelope())
		}
	}
}
