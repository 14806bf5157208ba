package transport

// Operation is what the transport must know of one operation of the document:
// everything else about a request is refused or dropped. It is written by the
// generator, shared by all calls and never changed.
type Operation struct {
	// ID is the operation's id, for the log.
	ID string
	// Method is the HTTP method (RFC 9110, section 9).
	Method string
	// Path is the template below the base URL, such as
	// /projects/{project}/queue-triggers/{name}.
	Path string
	// Headers are the header parameters the operation may send, in canonical
	// form (http.CanonicalHeaderKey).
	Headers []string
	// Auth is how the caller's credential travels.
	Auth Auth
	// Cookies lets cookie parameters through.
	Cookies bool
	// Retry says whether a request may be sent again.
	Retry Retry
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
	// RetryByMethod repeats GET and HEAD.
	RetryByMethod Retry = iota
	// RetryNever repeats nothing, whatever the method.
	RetryNever
	// RetrySafe repeats any method: the document declares that it does no harm.
	RetrySafe
)

// repeatable reports whether the operation itself allows a second request.
func (op *Operation) repeatable() bool {
	switch op.Retry {
	case RetryNever:
		return false
	case RetrySafe:
		return true
	}
	return op.Method == "GET" || op.Method == "HEAD"
}
