package transport

import "slices"

// Operation is what the transport must know of one operation of the document:
// everything else about a request is refused or dropped. It is written by the
// generator, shared by all calls and never changed.
type Operation struct {
	// ID names the operation in the log: its tool's name.
	ID string
	// Method is the HTTP method (RFC 9110, section 9).
	Method string
	// Path is the template below the base URL, such as
	// /projects/{project}/queue-triggers/{name}.
	Path string
	// Headers are the header parameters the operation may send, in canonical
	// form (http.CanonicalHeaderKey).
	Headers []string
	// Auth is how the caller's credential travels; OtherAuth are further ways, of which
	// the first is taken that the caller has a credential for.
	Auth      Auth
	OtherAuth []Auth
	// AuthOptional operations are asked without a credential too, by who has none.
	AuthOptional bool
	// Cookies lets cookie parameters through.
	Cookies bool
	// Retry says whether a request may be sent again.
	Retry Retry
	// IdempotencyHeader is the header by which the API tells a repeated request from
	// a new one (draft-ietf-httpapi-idempotency-key-header); "" if it has none. The
	// same value goes with each attempt of a call, so that any method is repeatable.
	IdempotencyHeader string
}

// Auth is how a credential travels with an operation (OpenAPI 3.1, Security
// Scheme Object). The zero value is a bearer token.
type Auth struct {
	Kind AuthKind
	Name string // of the header, query parameter or cookie
}

// AuthKind is where a credential stands in a request.
type AuthKind uint8

const (
	// AuthBearer is Authorization: Bearer (RFC 6750, section 2.1).
	AuthBearer AuthKind = iota
	// AuthBasic is Authorization: Basic (RFC 7617); the token is the encoded pair.
	AuthBasic
	// AuthHeader is an API key in the header of that name.
	AuthHeader
	// AuthQuery is an API key in the query parameter of that name.
	AuthQuery
	// AuthCookie is an API key in the cookie of that name.
	AuthCookie
	// AuthNone sends no credential, whatever the caller has.
	AuthNone
)

// Retry says whether a request may be sent again after a failure.
type Retry uint8

const (
	// RetryByMethod repeats the methods that RFC 9110 (section 9.2.2) calls
	// idempotent, and any other request that was provably not sent.
	RetryByMethod Retry = iota
	// RetryNever repeats nothing, whatever the method.
	RetryNever
	// RetrySafe repeats any method: the document declares that it does no harm.
	RetrySafe
	// RetryUnsent repeats only what was provably not sent: the document declares that
	// the operation is not idempotent, although its method is.
	RetryUnsent
)

// TakesBasic reports whether some way to send a credential is a user and a password,
// TakesToken whether some other is; neither for an operation that needs none.
func (op *Operation) TakesBasic() bool {
	return op.takes(func(k AuthKind) bool { return k == AuthBasic })
}

// TakesToken is the counterpart of TakesBasic.
func (op *Operation) TakesToken() bool {
	return op.takes(func(k AuthKind) bool { return k != AuthBasic && k != AuthNone })
}

func (op *Operation) takes(is func(AuthKind) bool) bool {
	return is(op.Auth.Kind) || slices.ContainsFunc(op.OtherAuth, func(a Auth) bool { return is(a.Kind) })
}

// NeedsNone reports an operation that can be asked without a credential.
func (op *Operation) NeedsNone() bool { return op.Auth.Kind == AuthNone || op.AuthOptional }

// TellsRepeats reports whether a call that is repeated does no harm if it carries
// the same idempotency key, because of the key or without it.
func (op *Operation) TellsRepeats() bool {
	return op.IdempotencyHeader != "" || op.Retry != RetryNever && op.repeatable()
}

// repeatable reports whether a request may be sent again that the API may have got.
func (op *Operation) repeatable() bool {
	switch {
	case op.Retry == RetryNever:
		return false
	case op.Retry == RetrySafe || op.IdempotencyHeader != "":
		return true
	case op.Retry == RetryUnsent:
		return false
	}
	switch op.Method {
	case "GET", "HEAD", "OPTIONS", "PUT", "DELETE":
		return true
	}
	return false
}
