package mcpserver

import (
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/postern-mcp/postern/apiclient/transport"
	apierrors "github.com/postern-mcp/postern/errors"
)

// maxCallers bounds the table of buckets. A caller that falls out of it starts
// with a full bucket again; the global limit holds all the same.
const maxCallers = 10_000

// rate is how many calls per second a bucket lets through; 0 or less is no limit.
type rate float64

// burst is how many calls a full bucket holds: two seconds' worth, at least one.
func (r rate) burst() float64 { return max(1, math.Ceil(2*float64(r))) }

// bucket is a token bucket. Its zero value is full.
type bucket struct {
	spent float64 // as of at
	at    time.Time
}

// wait brings the bucket up to date and returns how long it takes until it holds
// n calls.
func (b *bucket) wait(r rate, n int, now time.Time) time.Duration {
	if r <= 0 {
		return 0
	}
	if passed := now.Sub(b.at); passed > 0 {
		b.spent = max(0, b.spent-passed.Seconds()*float64(r))
		b.at = now
	}
	missing := b.spent + float64(n) - r.burst()
	if missing < 1e-6 { // what is left of a wait is rounding
		return 0
	}
	return time.Duration(math.Ceil(missing / float64(r) * float64(time.Second)))
}

// rateLimits are one bucket per caller and one for all of them together.
// golang.org/x/time/rate has no way to take from two buckets or from neither.
type rateLimits struct {
	perCaller, overall rate

	mu      sync.Mutex
	all     bucket
	callers *simplelru.LRU[uint64, *bucket]
}

func newRateLimits(perCaller, overall float64) *rateLimits {
	callers, err := simplelru.NewLRU[uint64, *bucket](maxCallers, nil)
	if err != nil {
		panic(err) // the size is positive
	}
	return &rateLimits{perCaller: rate(perCaller), overall: rate(overall), callers: callers}
}

// take takes n calls for a caller, all or none, and returns the refusal if there
// are too few. Callers are known by a hash of their token.
func (l *rateLimits) take(token transport.Token, n int, now time.Time) *apierrors.Error {
	if n == 0 || l.perCaller <= 0 && l.overall <= 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	own := &bucket{}
	if l.perCaller > 0 {
		key := token.Key()
		if b, ok := l.callers.Get(key); ok {
			own = b
		} else {
			l.callers.Add(key, own)
		}
	}
	for _, limit := range [...]struct {
		whose string
		rate  rate
		of    *bucket
	}{{"this token", l.perCaller, own}, {"this gateway", l.overall, &l.all}} {
		if burst := limit.rate.burst(); limit.rate > 0 && float64(n) > burst {
			return tooManyAtOnce(limit.whose, n, int(burst))
		}
		if wait := limit.of.wait(limit.rate, n, now); wait > 0 {
			return rateLimited(limit.whose, wait)
		}
	}
	own.spent += float64(n)
	l.all.spent += float64(n)
	return nil
}

// rateLimited is the envelope of a call that a limit refused for now.
func rateLimited(whose string, wait time.Duration) *apierrors.Error {
	e := apierrors.New(apierrors.RateLimited, "too many calls for the rate limit of "+whose)
	// Rounded up, because a client that comes early is refused again.
	e.RetryAfterSeconds = int(math.Ceil(wait.Seconds()))
	return e
}

// tooManyAtOnce is the envelope of a batch that no waiting lets through.
func tooManyAtOnce(whose string, n, burst int) *apierrors.Error {
	e := apierrors.New(apierrors.RateLimited, "a batch of "+strconv.Itoa(n)+" calls is more than the rate limit of "+whose+" ever lets through at once")
	e.Retryable = false
	e.Hint = "Send batches of at most " + strconv.Itoa(burst) + " calls."
	return e
}
