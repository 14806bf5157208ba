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
	others []*auth // further ways, of other requirements
	// optional is set where the operation can be asked without.
	optional bool
	// partial is set where the operation asks for further credentials at once, which
	// are not sent.
	partial bool
}

// authOf lists the ways to send an operation's credential: the alternatives that one
// credential satisfies, in the document's order; if there are none, the first scheme
// that can be served of one that asks for several. It is nil for an operation that
// asks for none.
func (a *api) authOf(op *operation) *auth {
	var found, some *auth
	optional := false
	for _, r := range op.security {
		optional = optional || len(r) == 0
		for _, s := range r {
			kind, name := schemeKind(a.schemes[s.scheme])
			if kind == "" {
				continue
			}
			way := &auth{kind: kind, name: name, scopes: slices.Clone(s.scopes), partial: len(r) > 1}
			switch {
			case way.partial && some == nil:
				some = way
			case way.partial:
			case found == nil:
				found = way
			case !slices.ContainsFunc(append(found.others, found), func(o *auth) bool { return o.kind == kind && o.name == name }):
				found.others = append(found.others, way)
			}
		}
	}
	if found == nil {
		found = some
	}
	if found != nil {
		found.optional = optional
	}
	return found
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
