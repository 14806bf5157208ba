package errors

import (
	"net/http"
	"strings"
	"time"
)

// maxRetryAfter bounds what an upstream can ask for: no agent plans further
// ahead, and a number that long is a mistake or an attack.
const maxRetryAfter = 24 * time.Hour

// RetryAfter reads Retry-After (RFC 9110, section 10.2.3) in both its forms,
// seconds and HTTP-date. The wait is in whole seconds, rounded up, between 0
// and a day; ok is false when the header is absent or neither form.
func RetryAfter(h http.Header, now time.Time) (wait time.Duration, ok bool) {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if value == "" {
		return 0, false
	}
	if strings.Trim(value, "0123456789") == "" {
		for _, digit := range value {
			wait = min(wait*10+time.Duration(digit-'0')*time.Second, maxRetryAfter)
		}
		return wait, true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	// Compared before subtracting, which saturates for a date far away.
	wait = min(max(at.Sub(now), 0), maxRetryAfter)
	return (wait + time.Second - 1).Truncate(time.Second), true
}
