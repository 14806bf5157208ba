package transport

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "github.com/postern-mcp/postern/errors"
)

func TestWhatACallSaysOfHealth(t *testing.T) {
	t.Parallel()
	failed := func(code apierrors.Code, delivery apierrors.Delivery) *apierrors.Error {
		e := apierrors.New(code, "")
		e.Delivery = delivery
		return e
	}
	little := verdict{errSaysLittle, errSaysLittle}
	for _, c := range []struct {
		status int
		err    *apierrors.Error
		gone   bool
		want   verdict
	}{
		{200, nil, false, verdict{}},
		{404, nil, false, verdict{}},
		{429, nil, false, verdict{}},
		{500, nil, false, verdict{}}, // a defect of one request, as likely as not
		{502, nil, false, verdict{op: errFailed}},
		{503, nil, false, verdict{op: errFailed}},
		{504, nil, false, verdict{op: errFailed}},
		{0, failed(apierrors.NetworkError, apierrors.NotSent), false, verdict{errFailed, errSaysLittle}},
		{0, failed(apierrors.Timeout, apierrors.NotSent), false, verdict{errFailed, errSaysLittle}},
		{0, failed(apierrors.NetworkError, apierrors.Unknown), false, verdict{op: errFailed}},
		{0, failed(apierrors.Timeout, apierrors.Unknown), false, verdict{op: errFailed}},
		{0, failed(apierrors.InvalidResponse, apierrors.Answered), false, verdict{op: errFailed}},
		{0, failed(apierrors.ResponseTooLarge, apierrors.Answered), false, verdict{}},
		{0, failed(apierrors.Canceled, apierrors.Unknown), false, little},
		{0, failed(apierrors.InvalidArguments, apierrors.NotSent), false, little},
		{0, failed(apierrors.Timeout, apierrors.Unknown), true, little},
	} {
		if got := judge(c.status, c.err, c.gone); !errors.Is(got.api, c.want.api) || !errors.Is(got.op, c.want.op) {
			t.Errorf("%d %v %v: %v, want %v", c.status, c.err, c.gone, got, c.want)
		}
	}
}

// health is an API that is down or up, and counts what reaches it.
type health struct {
	*httptest.Server
	down     atomic.Bool
	received atomic.Int32
}

func newHealth(t *testing.T) *health {
	h := &health{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.received.Add(1)
		if h.down.Load() {
			w.WriteHeader(503)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

var post = &Operation{ID: "post", Method: "POST", Path: "/things/{id}"}

func TestACircuitOpensAfterFailuresInARowAndClosesByProbes(t *testing.T) {
	t.Parallel()
	api := newHealth(t)
	up := newUpstream(t, api.URL, func(c *Config) { c.CircuitCooldown = 200 * time.Millisecond })
	code := func() apierrors.Code {
		if _, e := do(t.Context(), t, up, post, "/things/1", ""); e != nil {
			return e.Code
		}
		return ""
	}
	for range 5 { // a success in between makes it no row
		api.down.Store(true)
		for range maxFailures - 1 {
			code()
		}
		api.down.Store(false)
		if got := code(); got != "" || up.circuits.count.Load() != 0 {
			t.Fatalf("%q, %d circuits are kept", got, up.circuits.count.Load())
		}
	}
	api.down.Store(true)
	for i := range maxFailures {
		if got := code(); got != "" {
			t.Fatalf("call %d: %s", i, got)
		}
	}
	if got := code(); got != apierrors.CircuitOpen {
		t.Fatalf("after %d failures: %q", maxFailures, got)
	}
	received := api.received.Load()
	for range 50 {
		code()
	}
	if api.received.Load() != received {
		t.Error("an open circuit let calls through")
	}
	// Another caller's calls are another matter.
	other, err := NewToken("another-token")
	if err != nil {
		t.Fatal(err)
	}
	if err := ask(t, up, other, post, "/things/1"); err != nil {
		t.Errorf("another caller: %v", err)
	}
	// Still down after the cooldown: one probe opens it again.
	time.Sleep(250 * time.Millisecond)
	if got := code(); got != "" {
		t.Errorf("the probe: %s", got)
	}
	if got := code(); got != apierrors.CircuitOpen {
		t.Errorf("after a probe that failed: %q", got)
	}
	api.down.Store(false)
	time.Sleep(250 * time.Millisecond)
	for range probes {
		if got := code(); got != "" {
			t.Errorf("a probe: %s", got)
		}
	}
	if open := up.OpenCircuits(); open != nil {
		t.Errorf("still open: %v", open)
	}
}

// While half open, no more than the probes are under way.
func TestProbesAreFew(t *testing.T) {
	t.Parallel()
	var stalling atomic.Bool
	release := make(chan struct{})
	var received atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if stalling.Load() {
			received.Add(1)
			<-release
			return
		}
		w.WriteHeader(503)
	}))
	defer server.Close()
	up := newUpstream(t, server.URL, func(c *Config) { c.CircuitCooldown = 100 * time.Millisecond })
	for range maxFailures {
		do(t.Context(), t, up, post, "/things/1", "")
	}
	stalling.Store(true)
	time.Sleep(150 * time.Millisecond)
	var calls sync.WaitGroup
	var refused atomic.Int32
	for range 20 {
		calls.Go(func() {
			if _, e := do(t.Context(), t, up, post, "/things/1", ""); e != nil && e.Code == apierrors.CircuitOpen && e.RetryAfterSeconds == 1 {
				if refused.Add(1) == 20-probes {
					close(release)
				}
			}
		})
	}
	calls.Wait()
	if received.Load() != probes || refused.Load() != 20-probes {
		t.Errorf("%d probes, %d refused", received.Load(), refused.Load())
	}
}

func TestCallersWhoGiveUpOpenNoCircuit(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	up := newUpstream(t, server.URL)
	for range 3 * maxFailures {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		if _, e := do(ctx, t, up, getThing, "/things/1", ""); e == nil || e.Code != apierrors.Timeout {
			t.Fatalf("%+v", e)
		}
		cancel()
	}
	if open := up.OpenCircuits(); open != nil {
		t.Errorf("open: %v", open)
	}
}

func TestCircuitsCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	api := newHealth(t)
	api.down.Store(true)
	up := newUpstream(t, api.URL, func(c *Config) { c.CircuitCooldown = -1 })
	for range 3 * maxFailures {
		if _, e := do(t.Context(), t, up, post, "/things/1", ""); e != nil {
			t.Fatal(e)
		}
	}
}

func TestWhatIsUnderWayIsBoundedAndCountedDown(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, "http://127.0.0.1:1", func(c *Config) { c.MaxInFlight, c.MaxInFlightPerToken = 3, 2 })
	other, err := NewToken("another-token")
	if err != nil {
		t.Fatal(err)
	}
	admit := func(token Token, want bool) *Lease {
		t.Helper()
		lease, refusal := up.Admit(token)
		if (refusal == nil) != want || refusal != nil && (refusal.Code != apierrors.RateLimited || refusal.RetryAfterSeconds != 1) {
			t.Errorf("%v", refusal)
		}
		return &lease
	}
	mine := newToken(t)
	first, second := admit(mine, true), admit(mine, true)
	admit(mine, false)
	third := admit(other, true)
	admit(other, false)
	first.Release()
	first.Release() // a second time means nothing
	admit(mine, true).Release()
	second.Release()
	third.Release()
	if up.inFlight.all != 0 || len(up.inFlight.byToken) != 0 {
		t.Errorf("%d under way, %v", up.inFlight.all, up.inFlight.byToken)
	}
}
