package transport

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/sony/gobreaker/v2"

	apierrors "github.com/postern-mcp/postern/errors"
)

const (
	// maxFailures in a row open a circuit.
	maxFailures = 10
	// probes are let through at a time while it is half open, and close it.
	probes = 3
	// maxCircuits bounds the table; what falls out of it is closed again.
	maxCircuits = 10_000
)

// circuits shed calls to what keeps failing: one circuit for the API as a whole, which
// opens when it cannot be reached, and one for each operation and token, so that an
// operation that always fails takes no other with it, and a caller who insists on
// failing nobody else. A circuit is made by a failure and dropped by a success.
type circuits struct {
	cooldown time.Duration // how long an open circuit refuses; 0 turns circuits off
	log      *slog.Logger
	api      atomic.Pointer[circuit]

	count atomic.Int64 // of those in own, to pass over the lock on the healthy path
	mu    sync.Mutex
	own   *simplelru.LRU[circuitKey, *circuit]
}

type circuitKey struct {
	op    *Operation
	token uint64
}

type circuit struct {
	name    string // for the log; "" for the API as a whole
	breaker *gobreaker.TwoStepCircuitBreaker[any]
	until   atomic.Int64 // when it stops refusing, in nanoseconds since 1970
}

// verdict is what a finished call says of the API and of its operation.
type verdict struct{ api, op error }

var (
	errFailed     = errors.New("failed")
	errSaysLittle = errors.New("says nothing about health")
)

func newCircuits(cooldown time.Duration, log *slog.Logger) circuits {
	own, err := simplelru.NewLRU[circuitKey, *circuit](maxCircuits, nil)
	if err != nil {
		panic(err) // the size is positive
	}
	return circuits{cooldown: cooldown, log: log, own: own}
}

func newCircuit(name string, cooldown time.Duration, log *slog.Logger) *circuit {
	c := &circuit{name: name}
	c.breaker = gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		MaxRequests: probes, Timeout: cooldown,
		ReadyToTrip: func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= maxFailures },
		IsExcluded:  func(err error) bool { return errors.Is(err, errSaysLittle) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				c.until.Store(time.Now().Add(cooldown).UnixNano())
			}
			attrs := []slog.Attr{slog.String("state", to.String())}
			if name != "" {
				attrs = append(attrs, slog.String("operation", name))
			}
			log.LogAttrs(context.Background(), slog.LevelWarn, "circuit", attrs...)
		},
	})
	return c
}

// of returns the circuits that there are for a call; nil is closed.
func (cs *circuits) of(key circuitKey) (api, own *circuit) {
	if cs.count.Load() > 0 {
		cs.mu.Lock()
		own, _ = cs.own.Get(key)
		cs.mu.Unlock()
	}
	return cs.api.Load(), own
}

// admission is what a call was let through by; done takes it back.
type admission struct {
	key             circuitKey
	own             *circuit
	apiDone, opDone func(error) // nil where there is no circuit
}

// admit lets a call through, with what done must be given, or says why it is refused.
func (cs *circuits) admit(op *Operation, token Token) (a admission, refusal *apierrors.Error) {
	if cs.cooldown <= 0 {
		return a, nil
	}
	a.key = circuitKey{op, token.hash()}
	var api *circuit
	api, a.own = cs.of(a.key)
	if a.apiDone, refusal = api.allow("the API could not be reached lately"); refusal != nil {
		return a, refusal
	}
	if a.opDone, refusal = a.own.allow("calls of this operation have been failing lately"); refusal != nil && a.apiDone != nil {
		a.apiDone(errSaysLittle)
	}
	return a, refusal
}

// done takes account of how a call that was let through has ended.
func (cs *circuits) done(a admission, v verdict) {
	if cs.cooldown <= 0 {
		return
	}
	if a.apiDone == nil && errors.Is(v.api, errFailed) {
		cs.api.CompareAndSwap(nil, newCircuit("", cs.cooldown, cs.log))
		a.apiDone, _ = cs.api.Load().allow("")
	}
	if a.opDone == nil && errors.Is(v.op, errFailed) {
		a.opDone, _ = cs.make(a.key).allow("")
	}
	if a.apiDone != nil {
		a.apiDone(v.api)
	}
	if a.opDone != nil {
		a.opDone(v.op)
	}
	cs.drop(a.key, a.own, v)
}

// make returns the circuit of a call that failed.
func (cs *circuits) make(key circuitKey) *circuit {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c, ok := cs.own.Get(key)
	if !ok {
		c = newCircuit(key.op.ID, cs.cooldown, cs.log)
		cs.own.Add(key, c)
		cs.count.Store(int64(cs.own.Len()))
	}
	return c
}

// drop forgets a circuit that a success has left closed: it is as good as none.
func (cs *circuits) drop(key circuitKey, own *circuit, v verdict) {
	if own == nil || v.op != nil || own.breaker.State() != gobreaker.StateClosed {
		return
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.own.Remove(key)
	cs.count.Store(int64(cs.own.Len()))
}

// allow asks a circuit; what it returns is called with the call's outcome.
func (c *circuit) allow(why string) (func(error), *apierrors.Error) {
	if c == nil {
		return nil, nil
	}
	done, err := c.breaker.Allow()
	if err == nil {
		return done, nil
	}
	e := apierrors.New(apierrors.CircuitOpen, why+", so they are refused for a moment")
	e.RetryAfterSeconds = max(1, int(math.Ceil(time.Until(time.Unix(0, c.until.Load())).Seconds())))
	return nil, e
}

// open reports whether a call would be refused now.
func (cs *circuits) open(op *Operation, token Token) bool {
	if cs.cooldown <= 0 {
		return false
	}
	api, own := cs.of(circuitKey{op, token.hash()})
	return slices.ContainsFunc([]*circuit{api, own}, func(c *circuit) bool { return c != nil && c.breaker.State() == gobreaker.StateOpen })
}

// judge says what a call's outcome means: err is what it failed with, nil for an
// answer of any status.
func judge(status int, err *apierrors.Error, callerGone bool) verdict {
	switch {
	case callerGone:
		return verdict{errSaysLittle, errSaysLittle}
	case err == nil:
		switch status {
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return verdict{op: errFailed}
		}
		return verdict{}
	}
	switch err.Code {
	case apierrors.NetworkError, apierrors.Timeout:
		if err.Delivery == apierrors.NotSent {
			return verdict{api: errFailed, op: errSaysLittle}
		}
		return verdict{op: errFailed}
	case apierrors.InvalidResponse:
		return verdict{op: errFailed}
	case apierrors.ResponseTooLarge:
		return verdict{}
	}
	return verdict{errSaysLittle, errSaysLittle}
}

// OpenCircuits lists what calls are refused to for now: "" for the API as a whole,
// else operations, each once however many tokens that concerns, sorted.
func (u *Upstream) OpenCircuits() []string {
	var names []string
	add := func(c *circuit) {
		if c != nil && c.breaker.State() != gobreaker.StateClosed {
			names = append(names, c.name)
		}
	}
	add(u.circuits.api.Load())
	u.circuits.mu.Lock()
	for _, c := range u.circuits.own.Values() {
		add(c)
	}
	u.circuits.mu.Unlock()
	slices.Sort(names)
	return slices.Compact(names)
}
