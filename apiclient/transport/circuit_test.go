package transport

import (
	"context"
	"errors"
	"fmt"
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

func TestACircuitOpensByShareAndClosesByProbes(t *testing.T) {
	t.Parallel()
	api := newHealth(t)
	up := newUpstream(t, api.URL, func(c *Config) { c.CircuitCooldown = 200 * time.Millisecond })
	code := func() apierrors.Code {
		if _, e := do(t.Context(), t, up, post, "/things/1", ""); e != nil {
			return e.Code
		}
		return ""
	}
	// Ten failures of more than twenty are not enough. What succeeded before the first
	// failure does not count: then there was no circuit.
	api.down.Store(true)
	code()
	api.down.Store(false)
	for range 12 {
		code()
	}
	api.down.Store(true)
	for i := range 11 {
		if got := code(); got != "" {
			t.Fatalf("call %d: %s", i, got)
		}
	}
	if got := code(); got != apierrors.CircuitOpen {
		t.Fatalf("12 of 24 failed: %q", got)
	}
	received := api.received.Load()
	for range 50 {
		code()
	}
	if api.received.Load() != received {
		t.Error("an open circuit let calls through")
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
	for range minFailures {
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
	for range 3 * minFailures {
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
	for range 3 * minFailures {
		if _, e := do(t.Context(), t, up, post, "/things/1", ""); e != nil {
			t.Fatal(e)
		}
	}
}

// However calls end, what is under way is counted down again.
func TestWhatIsUnderWayIsCountedDown(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Millisecond)
		if r.URL.Path == "/v1/things/0" {
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	up := newUpstream(t, server.URL, func(c *Config) { c.MaxInFlight, c.MaxInFlightPerToken = 4, 4 })
	var calls sync.WaitGroup
	var shed atomic.Int32
	for i := range 200 {
		calls.Go(func() {
			if _, e := do(t.Context(), t, up, getThing, fmt.Sprintf("/things/%d", i%3), ""); e != nil && e.Code == apierrors.RateLimited {
				shed.Add(1)
			}
		})
	}
	calls.Wait()
	if up.inFlight.all != 0 || len(up.inFlight.byToken) != 0 || shed.Load() == 0 {
		t.Errorf("%d under way, %v, %d were refused", up.inFlight.all, up.inFlight.byToken, shed.Load())
	}
}
