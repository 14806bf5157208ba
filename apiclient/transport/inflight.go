package transport

import (
	"hash/maphash"
	"strconv"
	"sync"

	apierrors "github.com/postern-mcp/postern/errors"
)

// Admit counts a call in that is about to be made and has not been answered before
// the lease is released: by the caller's token, and in all. It refuses with
// rate_limited what exceeds a bound.
func (u *Upstream) Admit(token Token) (Lease, *apierrors.Error) {
	key, refusal := u.inFlight.enter(token)
	if refusal != nil {
		return Lease{}, refusal
	}
	return Lease{&u.inFlight, key}, nil
}

// Lease is a place among the calls under way. The zero value is none.
type Lease struct {
	of  *inFlight
	key uint64
}

// Release gives the place back, once.
func (l *Lease) Release() {
	if l.of != nil {
		l.of.leave(l.key)
		l.of = nil
	}
}

// inFlight bounds the calls under way, in all and for each token, so that what the
// API is slow to answer neither piles up nor keeps others from being answered.
type inFlight struct {
	max, perToken int

	mu      sync.Mutex
	all     int
	byToken map[uint64]int // by a hash with a seed of this process
}

var tokenSeed = maphash.MakeSeed()

// hash tells tokens apart within this process; 0 is none.
func (t Token) hash() uint64 {
	if t.IsZero() {
		return 0
	}
	return maphash.Comparable(tokenSeed, [2]string{t.reveal().value, t.reveal().basic})
}

// enter counts a call in; leave must follow unless it is refused.
func (f *inFlight) enter(token Token) (key uint64, refusal *apierrors.Error) {
	key = token.hash()
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.all >= f.max:
		return 0, busy("this gateway has " + strconv.Itoa(f.max) + " calls under way, which is as many as it takes on")
	case f.byToken[key] >= f.perToken:
		return 0, busy("this token has " + strconv.Itoa(f.perToken) + " calls under way, which is as many as one may have")
	}
	f.all++
	f.byToken[key]++
	return key, nil
}

func (f *inFlight) leave(key uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all--
	if f.byToken[key]--; f.byToken[key] == 0 {
		delete(f.byToken, key)
	}
}

func busy(message string) *apierrors.Error {
	e := apierrors.New(apierrors.RateLimited, message)
	e.RetryAfterSeconds = 1
	return e
}
