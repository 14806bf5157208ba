package mcpserver

import (
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/time/rate"

	"github.com/postern-mcp/postern/apiclient/transport"
	apierrors "github.com/postern-mcp/postern/errors"
)

// maxCallers bounds the table of buckets. A caller that falls out of it starts
// with a full bucket again; the global limit holds all the same.
const maxCallers = 10_000

// bucket is a token bucket of calls. The nil bucket lets everything through.
type bucket struct{ limiter *rate.Limiter }

// newBucket lets perSecond calls through and bursts of two seconds' worth, at
// least one; 0 or less is no limit.
func newBucket(perSecond float64) *bucket {
	if perSecond <= 0 {
		return nil
	}
	return &bucket{rate.NewLimiter(rate.Limit(perSecond), max(1, int(math.Ceil(2*perSecond))))}
}

// take takes n calls, all or none, and returns how long to wait if there are too few.
func (b *bucket) take(n int, now time.Time) time.Duration {
	if b == nil || n == 0 || b.limiter.AllowN(now, n) {
		return 0
	}
	missing := float64(n) - b.limiter.TokensAt(now)
	return max(time.Millisecond, time.Duration(missing/float64(b.limiter.Limit())*float64(time.Second)))
}

// rateLimits are one bucket per caller and one for all of them together.
type rateLimits struct {
	perCaller float64
	all       *bucket

	mu      sync.Mutex
	callers *simplelru.LRU[[32]byte, *bucket]
}

func newRateLimits(perCaller, all float64) *rateLimits {
	callers, err := simplelru.NewLRU[[32]byte, *bucket](maxCallers, nil)
	if err != nil {
		panic(err) // the size is positive
	}
	return &rateLimits{perCaller: perCaller, all: newBucket(all), callers: callers}
}

// take takes n calls for a caller. Callers are known by a hash of their token.
func (l *rateLimits) take(token transport.Token, n int) (wait time.Duration, whose string) {
	now := time.Now()
	if l.perCaller > 0 {
		l.mu.Lock()
		key := token.Key()
		b, ok := l.callers.Get(key)
		if !ok {
			b = newBucket(l.perCaller)
			l.callers.Add(key, b)
		}
		l.mu.Unlock()
		if wait := b.take(n, now); wait > 0 {
			return wait, "this token"
		}
	}
	return l.all.take(n, now), "this gateway"
}

// rateLimited is the envelope of a call that a limit refused.
func rateLimited(whose string, wait time.Duration) *apierrors.Error {
	e := apierrors.New(apierrors.RateLimited, "too many calls for the rate limit of "+whose)
	e.RetryAfterSeconds = seconds(wait)
	return e
}

// seconds rounds up, because a client that comes early is refused again.
func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

func retryAfter(d time.Duration) string { return strconv.Itoa(seconds(d)) }
