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
	advice   string
}{
	{ProjectRequired, never, NotSent, "A default such as the project could not be resolved; candidates lists values the token can see.", "Choose one of the candidates and pass it."},
	{InvalidArguments, never, NotSent, "The arguments break the tool's schema, or the operation maps the upstream's status to this code.", "Mend the argument that pointer names; expected says how."},
	{Unauthorized, never, NotSent, "There is no token to send, or the operation maps the upstream's 401 to this code.", "Ask for a token; calling again is of no use."},
	{HTTP3xx, never, Answered, "The upstream answered with a redirect, which is never followed.", "None; the API has moved, which is for the operator."},
	{HTTP4xx, byCase, Answered, "The upstream refused the request; status, reason and message say why.", "By status: read what there is (404, 409), mend the arguments (400, 422), ask for access (401, 403), wait (429)."},
	{HTTP5xx, byCase, Answered, "The upstream failed; status, reason and message say how.", "Wait, then repeat a reading call; read the state before repeating another."},
	{NetworkError, always, Unknown, "The upstream could not be reached, or the connection broke before an answer.", "Wait, then repeat a reading call; read the state before repeating another unless delivery is not_sent."},
	{Timeout, always, Unknown, "No complete answer came within the time allowed.", "Ask for less, or repeat; read the state before repeating a call that changes things."},
	{Canceled, never, Unknown, "The caller gave the call up.", "None; read the state if the call changes things."},
	{RateLimited, always, NotSent, "The gateway itself refused the call: too many at once or too fast.", "Wait retry_after_seconds, make fewer calls at once, repeat."},
	{CircuitOpen, always, NotSent, "The gateway refused the call because the upstream has been failing.", "Wait retry_after_seconds, repeat; do something else meanwhile."},
	{ResponseTooLarge, never, Answered, "The answer is larger than the gateway passes on; ask for less.", "Ask for less: a smaller limit, a narrower filter."},
	{InvalidResponse, byCase, Answered, "The answer broke off, is malformed or has an impossible status, so it was not passed on.", "Repeat a reading call if retryable; after a change read the state."},
	{Internal, never, Unknown, "A defect in the gateway, logged with the request id.", "Report it with the request id; do not repeat a call that changes things."},
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

// Advice returns what an agent should do, in one sentence for documentation, "" for an
// unknown code.
func (c Code) Advice() string {
	for _, p := range properties {
		if p.code == c {
			return p.advice
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
