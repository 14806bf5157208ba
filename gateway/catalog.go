package gateway

import (
	"context"
	"net/http"

	"github.com/postern-mcp/postern/apiclient/encode"
	"github.com/postern-mcp/postern/apiclient/transport"
	apierrors "github.com/postern-mcp/postern/errors"
)

// CatalogV1 is everything a gateway knows about the API in front of which it
// stands. It is written by postern-gen and never by hand. The version is part of
// the type's name so that a catalogue written for another version of this package
// fails to compile instead of misbehaving.
type CatalogV1 struct {
	// Server is what the gateway says of itself to an MCP client.
	Server ServerV1
	// EnvPrefix starts the name of every environment variable the gateway
	// reads: VIAT gives VIAT_API_URL, VIAT_TOKEN and so on.
	EnvPrefix string
	// ContractVersion is the version of the tool contract, for example 1.1.0.
	ContractVersion string
	// BasePath is the path of the document's first server, appended to the
	// operator's URL: /v1. Empty for none.
	BasePath string
	// Defaults are the arguments that may be left out of a call because the
	// request, the environment or the configuration can supply them.
	Defaults []DefaultV1
	// Identity is how to find out whose token it is.
	Identity IdentityV1
	// Tools holds one row per tool, sorted by name.
	Tools []ToolV1
}

// ServerV1 identifies a gateway to MCP clients (MCP 2025-11-25, Implementation).
type ServerV1 struct {
	Name, Title  string
	Instructions string // shown to the model once per conversation
}

// DefaultV1 says where an argument's value comes from when a call leaves it
// out: the header of the request, then the environment, then the configuration file.
type DefaultV1 struct {
	Argument  string // project
	Header    string // Viat-Project; HTTP only
	Env       string // VIAT_PROJECT
	ConfigKey string // current_project
	// Missing is the code of the envelope when none of them has a value.
	Missing apierrors.Code
	// CandidateTool lists the values to choose from; CandidatePath finds them in
	// its answer, as keys with "*" for every element: ["*", "slug"].
	CandidateTool string
	CandidatePath []string
}

// IdentityV1 names the tool that answers whose token it is, if there is one, and
// where in its answer to find what; each path is one of keys, "*" for every element.
type IdentityV1 struct {
	Tool                     string
	Subject, Scopes, Expires []string
}

// ToolV1 is one tool: what a client is shown, how its arguments are checked and
// placed, what its answers mean, and the request it makes.
type ToolV1 struct {
	// Name is the tool's name, unique in the catalogue.
	Name string
	// Title is for people.
	Title string
	// Definition is the tool as tools/list shows it, as a JSON object without its
	// inputSchema; InputSchema is that schema; Contract holds the further members
	// of the tool's entry in the contract (method, path, scopes, errors). Together
	// they are every byte the tool publishes, so nothing is serialised at run time.
	Definition, InputSchema, Contract string
	// Operation is the request's identity: what its URL must look like, which
	// headers it may carry and when it may be repeated.
	Operation transport.Operation
	// ReadOnly tools stay when the gateway is started read-only.
	ReadOnly bool
	// Args are the tool's arguments in the order of its schema.
	Args []ArgV1
	// Body says how the request's body is made.
	Body BodyV1
	// Codes and Hints refine how a status becomes an envelope.
	Codes []apierrors.StatusCode
	Hints []apierrors.StatusHint
	// Redact lists members removed from every answer, each as a path of keys.
	Redact [][]string
	// Invoke makes the request through the generated REST client. The arguments
	// have been validated. Its error is what the client could not build.
	Invoke func(ctx context.Context, client Client, args *Args) (*http.Response, error)
}

// Client is what a generated REST client is made of: its Server and its Client.
type Client struct {
	// Server is the operator's URL with the document's base path, without a final slash.
	Server string
	// Doer sends the request; it is the transport's call.
	Doer interface {
		Do(*http.Request) (*http.Response, error)
	}
}

// ArgV1 is one argument of a tool.
type ArgV1 struct {
	Name string
	// Key is the argument's name upstream: the parameter's or the body property's.
	Key string
	In  Place
	// Required arguments must be present. One with a default is not required.
	Required bool
	// SendNull marks the body property that declares null upstream: only there is
	// a JSON null sent; for every other optional argument it means omission.
	SendNull bool
}

// Place says where in the request an argument goes.
type Place uint8

// Places of an argument. The zero value is InPath.
const (
	InPath Place = iota
	InQuery
	InHeader
	InCookie
	InBody        // a property of the body, or the body itself
	InContentType // chooses the body's media type
)

// BodyV1 says how a body is made of arguments.
type BodyV1 struct {
	Kind BodyKind
	// ContentTypes are the media types to choose from, the default first.
	ContentTypes []string
	// Parts are the fields of a form that are not written in the default way.
	Parts []PartV1
	// Required bodies are sent even when no argument belongs to them.
	Required bool
}

// PartV1 is one field of a form (OpenAPI 3.1, Encoding Object).
type PartV1 struct {
	Key         string
	Style       encode.Style // of a field in a urlencoded form
	Explode     bool
	ContentType string // of a part in a multipart form; "" follows the value
	File        bool   // base64 in the argument, bytes in the form
}

// BodyKind is how arguments become a body.
type BodyKind uint8

const (
	// NoBody is the zero value: the operation takes none.
	NoBody BodyKind = iota
	// ObjectBody is a JSON object of the arguments that are InBody.
	ObjectBody
	// WholeBody is the one argument that is InBody, as it was given.
	WholeBody
)
