package errors

// Code says what went wrong, in a word that a program can act on.
type Code string

// The codes. Their strings are part of the tool contract: a code is added,
// never renamed.
const (
	ProjectRequired  Code = "project_required"
	InvalidArguments Code = "invalid_arguments"
	Unauthorized     Code = "unauthorized"
	HTTP3xx          Code = "http_3xx"
	HTTP4xx          Code = "http_4xx"
	HTTP5xx          Code = "http_5xx"
	NetworkError     Code = "network_error"
	Timeout          Code = "timeout"
	Canceled         Code = "canceled"
	RateLimited      Code = "rate_limited"
	CircuitOpen      Code = "circuit_open"
	ResponseTooLarge Code = "response_too_large"
	InvalidResponse  Code = "invalid_response"
	Internal         Code = "internal"
)

// whether says how a code decides retryable; byCase leaves it to each error.
type whether int

const (
	never whether = iota
	always
	byCase
)

// properties is the one table that everything about a code is derived from.
var properties = []struct {
	code     Code
	retry    whether
	delivery Delivery
	meaning  string
}{
	{ProjectRequired, never, NotSent, "A default such as the project could not be resolved; candidates lists values the token can see."},
	{InvalidArguments, never, NotSent, "The arguments break the tool's schema, or the operation maps the upstream's status to this code."},
	{Unauthorized, never, NotSent, "There is no token to send, or the operation maps the upstream's 401 to this code."},
	{HTTP3xx, never, Answered, "The upstream answered with a redirect, which is never followed."},
	{HTTP4xx, byCase, Answered, "The upstream refused the request; status, reason and message say why."},
	{HTTP5xx, byCase, Answered, "The upstream failed; status, reason and message say how."},
	{NetworkError, always, Unknown, "The upstream could not be reached, or the connection broke before an answer."},
	{Timeout, always, Unknown, "No complete answer came within the time allowed."},
	{Canceled, never, Unknown, "The caller gave the call up."},
	{RateLimited, always, NotSent, "The gateway itself refused the call: too many at once or too fast."},
	{CircuitOpen, always, NotSent, "The gateway refused the call because the upstream has been failing."},
	{ResponseTooLarge, never, Answered, "The answer is larger than the gateway passes on; ask for less."},
	{InvalidResponse, byCase, Answered, "The answer broke off, is malformed or has an impossible status, so it was not passed on."},
	{Internal, never, Unknown, "A defect in the gateway, logged with the request id."},
}

// Codes returns every code, in the order of the documentation.
func Codes() []Code {
	codes := make([]Code, len(properties))
	for i, p := range properties {
		codes[i] = p.code
	}
	return codes
}

// Meaning returns one sentence for documentation, "" for an unknown code.
func (c Code) Meaning() string {
	for _, p := range properties {
		if p.code == c {
			return p.meaning
		}
	}
	return ""
}

// Retryable says whether an error of this code may succeed later unchanged.
// When fixed is false the code alone does not decide: the status does, or
// whether the answer broke off.
func (c Code) Retryable() (retryable, fixed bool) {
	for _, p := range properties {
		if p.code == c {
			return p.retry == always, p.retry != byCase
		}
	}
	return false, false
}

// delivery is what a code implies until somebody who saw the request knows better.
func (c Code) delivery() Delivery {
	for _, p := range properties {
		if p.code == c {
			return p.delivery
		}
	}
	return Unknown
}

// Delivery says how far the request to the upstream got. It is what a writer
// needs before repeating a call, which retryable alone does not tell.
type Delivery string

// NotSent: the upstream cannot have seen the request. Answered: it began an
// answer. Unknown: it may or may not have acted.
const (
	NotSent  Delivery = "not_sent"
	Answered Delivery = "answered"
	Unknown  Delivery = "unknown"
)
