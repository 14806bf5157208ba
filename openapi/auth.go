package openapi

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// auth is how the caller's credential travels with one operation.
type auth struct {
	kind   string // Bearer, Basic, Header, Query or Cookie, as the transport names them
	name   string // of the header, query parameter or cookie
	scopes []string
	// partial is set where the operation asks for further credentials at once, which
	// are not sent.
	partial bool
}

// authOf chooses among the alternatives of an operation the first that one
// credential satisfies, else the first of whose schemes any can be served: a caller
// has one credential. It is nil for an operation that asks for none.
func (a *api) authOf(op *operation) *auth {
	var some *auth
	for _, r := range op.security {
		for _, s := range r {
			kind, name := schemeKind(a.schemes[s.scheme])
			if kind == "" {
				continue
			}
			found := &auth{kind: kind, name: name, scopes: slices.Clone(s.scopes), partial: len(r) > 1}
			if !found.partial {
				return found
			}
			if some == nil {
				some = found
			}
		}
	}
	return some
}

// schemeKind says how a security scheme's credential travels, "" if it cannot be
// served: mutual TLS is the operator's, and digests need a challenge first.
func schemeKind(n *yaml.Node) (kind, name string) {
	switch typ := text(get(n, "type")); typ {
	case "oauth2", "openIdConnect":
		return "Bearer", ""
	case "basic":
		return "Basic", ""
	case "http":
		switch strings.ToLower(text(get(n, "scheme"))) {
		case "bearer":
			return "Bearer", ""
		case "basic":
			return "Basic", ""
		}
	case "apiKey":
		name := text(get(n, "name"))
		switch in := text(get(n, "in")); {
		case in == "header" && strings.EqualFold(name, "Authorization"):
			return "Header", "Authorization"
		case in == "header" && isHeaderName(name), in == "query" && name != "", in == "cookie" && isHeaderName(name):
			return strings.ToUpper(in[:1]) + in[1:], name
		}
	}
	return "", ""
}
