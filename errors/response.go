package errors

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Response is what [FromResponse] needs of an upstream's answer.
type Response struct {
	Status int
	Header http.Header
	// Body may be cut short; Truncated says so.
	Body      []byte
	Truncated bool
}

// Mapping is what an operation says about its own failures.
type Mapping struct {
	Codes []StatusCode
	Hints []StatusHint
}

// StatusCode replaces the code of one status (`error-codes` in a document).
type StatusCode struct {
	Status int
	Code   Code
}

// StatusHint replaces the hint of one status (`hints` in a document).
type StatusHint struct {
	Status int
	Hint   string
}

const (
	maxExamined = 256 << 10 // a larger error body is not searched for a message
	maxUpstream = 8 << 10   // a larger error body is not passed on
	maxNesting  = 64        // readers written in other languages recurse
)

// FromResponse returns the error for an answer that is not a success. It is
// total: 3xx, 4xx and 5xx give their code unless m maps the status, any other
// status is invalid_response. Of the header only Retry-After is used.
func FromResponse(r Response, m Mapping) *Error {
	body := bytes.TrimSpace(bytes.TrimPrefix(r.Body, []byte("\ufeff")))
	if len(body) > maxExamined {
		body = nil
	}
	e := &Error{
		Code:      codeOf(r.Status, m.Codes),
		Status:    r.Status,
		Reason:    reason(r.Status),
		Message:   message(r.Status, r.Header.Get("Content-Type"), body),
		Retryable: retryable(r.Status),
		Delivery:  Answered,
		Hint:      hint(r.Status, m.Hints),
	}
	// Whatever the status: some upstreams rate-limit with a 403.
	if wait, ok := RetryAfter(r.Header, time.Now()); ok {
		e.RetryAfterSeconds = int(wait / time.Second)
	}
	if !r.Truncated {
		e.Upstream = upstream(body)
	}
	return e
}

func codeOf(status int, mapped []StatusCode) Code {
	for _, m := range mapped {
		if m.Status == status {
			return m.Code
		}
	}
	switch status / 100 {
	case 3:
		return HTTP3xx
	case 4:
		return HTTP4xx
	case 5:
		return HTTP5xx
	}
	return InvalidResponse
}

func retryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return status/100 == 5
}

// reason is the status in snake case: "Not Found" is not_found.
func reason(status int) string {
	text := http.StatusText(status)
	if text == "" {
		return "http_" + strconv.Itoa(status)
	}
	return strings.NewReplacer(" ", "_", "-", "_", "'", "").Replace(strings.ToLower(text))
}

// upstream returns body compacted when it is JSON that is small and shallow
// enough to be passed on, else nil.
func upstream(body []byte) json.RawMessage {
	// encoding/json lets invalid UTF-8 through; RFC 8259 (section 8.1) does not.
	if len(body) == 0 || !utf8.Valid(body) || nesting(body) > maxNesting {
		return nil
	}
	var buf bytes.Buffer
	if json.Compact(&buf, body) != nil || buf.Len() > maxUpstream {
		return nil
	}
	return buf.Bytes()
}

// nesting returns how deep the arrays and objects of a JSON text go.
func nesting(body []byte) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deepest
}
