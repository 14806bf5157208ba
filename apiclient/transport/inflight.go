package transport

import (
	"hash/maphash"
	"strconv"
	"sync"

	apierrors "github.com/postern-mcp/postern/errors"
)

// inFlight bounds the calls under way, in all and for each token, so that what the
// API is slow to answer neither piles up nor keeps others from being answered.
type inFlight struct {
	max, perToken int

	mu      sync.Mutex
	all     int
	byToken map[uint64]int // by a hash with a seed of this process
}

var tokenSeed = maphash.MakeSeed()

// enter counts a call in; leave must follow unless it is refused.
func (f *inFlight) enter(token Token) (key uint64, refusal *apierrors.Error) {
	if !token.IsZero() {
		key = maphash.Comparable(tokenSeed, [2]string{token.reveal().value, token.reveal().basic})
	}
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
