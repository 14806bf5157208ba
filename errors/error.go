// Package errors holds the one error of the gateway: a Go error that is also
// the envelope an agent reads.
//
// Whatever goes wrong between a tool call and its answer ends as an [*Error]:
// made with [New] where the gateway itself refuses, with [FromResponse] where
// the upstream answered with anything but success. [Error.Envelope] is the
// text that travels:
//
//	{"error":{"code":"http_4xx","status":404,"reason":"not_found",
//	          "message":"no trigger of this name","retryable":false,
//	          "delivery":"answered","request_id":"…","hint":"…","upstream":{…}}}
//
// Callers ask with [CodeOf] or errors.As, never by text. The package is
// imported as apierrors and depends on the standard library alone.
//
//	refusal ──── New ───────────┐
//	                            ├─► *Error ─► Envelope ─► agent
//	non-2xx ──── FromResponse ──┘       └───► Unwrap ───► log
package errors

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// Error is an error and its wire form. Fields that are zero are left out of
// the envelope; retryable is always there. The cause is for the log and
// errors.As only: it never reaches the wire or Error().
type Error struct {
	// Code is the kind of failure.
	Code Code `json:"code"`
	// Status is the upstream's exact HTTP status, 0 when it did not answer.
	Status int `json:"status,omitempty"`
	// Reason is the status in words, such as not_found.
	Reason string `json:"reason,omitempty"`
	// Message says what happened, in the upstream's words where it has any.
	Message string `json:"message"`
	// Retryable says that the same call may succeed later unchanged. It does
	// not promise that repeating is harmless; see Delivery.
	Retryable bool `json:"retryable"`
	// Delivery says how far the request got.
	Delivery Delivery `json:"delivery,omitempty"`
	// RetryAfterSeconds is how long to wait before another try.
	RetryAfterSeconds int `json:"retry_after_seconds,omitempty"`
	// Attempts counts the requests made for this call.
	Attempts int `json:"attempts,omitempty"`
	// IdempotencyKey is what the request's idempotency header held, where repeating
	// the call with it is safe although its delivery is unknown.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	// RequestID is the gateway's own, as in its log; set by the caller.
	RequestID string `json:"request_id,omitempty"`
	// Hint is the next step worth trying.
	Hint string `json:"hint,omitempty"`
	// Pointer is the JSON pointer (RFC 6901) of the argument at fault, and
	// Expected what should have been there.
	Pointer  string `json:"pointer,omitempty"`
	Expected string `json:"expected,omitempty"`
	// Candidates are values that would resolve what is missing.
	Candidates []string `json:"candidates,omitempty"`
	// Upstream is the upstream's own error body, when it is JSON and small.
	Upstream json.RawMessage `json:"upstream,omitempty"`

	cause error
}

// New returns an error of the given code, with the retryable and the delivery
// that the code implies: not_sent for what the gateway refuses by itself.
func New(code Code, message string) *Error {
	retryable, _ := code.Retryable()
	return &Error{
		Code:      code,
		Message:   clean(message),
		Retryable: retryable,
		Delivery:  code.delivery(),
	}
}

// WithCause records what led to e, for the log and errors.As, and returns e.
func (e *Error) WithCause(err error) *Error {
	e.cause = err
	return e
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Error returns the code and the message. The cause is left out because the
// text of foreign errors may hold URLs.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Envelope returns {"error":{…}}: always valid JSON (RFC 8259) in UTF-8 on one
// line, equal for equal errors, HTML characters as they are.
func (e *Error) Envelope() []byte {
	type fields Error // without methods, so that encoding does not recurse
	f := fields(*e)
	if !utf8.Valid(f.Upstream) || !json.Valid(f.Upstream) {
		f.Upstream = nil // one bad field must not cost the whole envelope
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(struct {
		Error fields `json:"error"`
	}{f}); err != nil {
		return []byte(`{"error":{"code":"internal","message":"the error could not be encoded","retryable":false}}`)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// MarshalJSON implements [json.Marshaler] with the envelope.
func (e *Error) MarshalJSON() ([]byte, error) { return e.Envelope(), nil }

// CodeOf returns the code of the first [*Error] in err's tree: "" for nil and
// [Internal] for an error that is not ours.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}
