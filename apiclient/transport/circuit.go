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

	"github.com/sony/gobreaker/v2"

	apierrors "github.com/postern-mcp/postern/errors"
)

// A circuit opens once at least minFailures calls of the last window failed and
// they were at least half of all. While half open it lets a few probes through.
const (
	circuitWindow = 10 * time.Second
	circuitBucket = time.Second
	minFailures   = 10
	probes        = 3
)

// circuits shed calls to what keeps failing: one circuit for the API as a whole,
// which opens when it cannot be reached, and one for each operation, so that one
// that always fails, or a caller who insists on it, takes no other with it. A
// circuit is made by the first failure; the healthy path costs two look-ups.
type circuits struct {
	cooldown time.Duration // how long an open circuit refuses; 0 turns circuits off
	log      *slog.Logger
	api      atomic.Pointer[circuit]
	ops      sync.Map // of *Operation to *circuit
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

func newCircuit(name string, cooldown time.Duration, log *slog.Logger) *circuit {
	c := &circuit{name: name}
	c.breaker = gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		MaxRequests: probes, Interval: circuitWindow, BucketPeriod: circuitBucket, Timeout: cooldown,
		ReadyToTrip: func(n gobreaker.Counts) bool {
			return n.TotalFailures >= minFailures && 2*n.TotalFailures >= n.TotalFailures+n.TotalSuccesses
		},
		IsExcluded: func(err error) bool { return errors.Is(err, errSaysLittle) },
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

// of returns the circuits that there are for an operation; nil is closed.
func (cs *circuits) of(op *Operation) (api, own *circuit) {
	if found, ok := cs.ops.Load(op); ok {
		own = found.(*circuit)
	}
	return cs.api.Load(), own
}

// admit returns what must be called with the verdict on the call, or why it is refused.
func (cs *circuits) admit(op *Operation) (func(verdict), *apierrors.Error) {
	api, own := cs.of(op)
	apiDone, refusal := api.allow("the API could not be reached lately")
	if refusal != nil {
		return nil, refusal
	}
	opDone, refusal := own.allow("this operation of the API has been failing lately")
	if refusal != nil {
		apiDone(errSaysLittle)
		return nil, refusal
	}
	return func(v verdict) {
		if api == nil && errors.Is(v.api, errFailed) && cs.cooldown > 0 {
			cs.api.CompareAndSwap(nil, newCircuit("", cs.cooldown, cs.log))
			apiDone, _ = cs.api.Load().allow("")
		}
		if own == nil && errors.Is(v.op, errFailed) && cs.cooldown > 0 {
			made, _ := cs.ops.LoadOrStore(op, newCircuit(op.ID, cs.cooldown, cs.log))
			opDone, _ = made.(*circuit).allow("")
		}
		for _, d := range []struct {
			done func(error)
			err  error
		}{{apiDone, v.api}, {opDone, v.op}} {
			if d.done != nil {
				d.done(d.err)
			}
		}
	}, nil
}

// allow asks a circuit; what it returns is called with the call's outcome.
func (c *circuit) allow(why string) (func(error), *apierrors.Error) {
	if c == nil {
		return func(error) {}, nil
	}
	done, err := c.breaker.Allow()
	if err == nil {
		return done, nil
	}
	e := apierrors.New(apierrors.CircuitOpen, why+", so calls are refused for a moment")
	e.RetryAfterSeconds = max(1, int(math.Ceil(time.Until(time.Unix(0, c.until.Load())).Seconds())))
	return nil, e
}

// open reports whether a call of the operation would be refused now.
func (cs *circuits) open(op *Operation) bool {
	api, own := cs.of(op)
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
// else ids of operations, sorted.
func (u *Upstream) OpenCircuits() []string {
	var names []string
	add := func(c *circuit) {
		if c != nil && c.breaker.State() != gobreaker.StateClosed {
			names = append(names, c.name)
		}
	}
	add(u.circuits.api.Load())
	u.circuits.ops.Range(func(_, c any) bool { add(c.(*circuit)); return true })
	slices.Sort(names)
	return names
}
