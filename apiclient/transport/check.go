package transport

import (
	"net/url"
	"strings"

	apierrors "github.com/postern-mcp/postern/errors"
)

// checkURL is the one chokepoint for where a request goes: the operator's
// origin and base path, then a path of the operation's own template.
// Whatever built the URL, a value such as ".." must not reach another operation.
func (u *Upstream) checkURL(op *Operation, got *url.URL) error {
	if !u.sameOrigin(got) {
		return defect("the request does not go to the base URL's origin")
	}
	path, ok := strings.CutPrefix(got.EscapedPath(), u.basePath)
	if !ok {
		return defect("the request does not go below the base URL's path")
	}
	if got.Fragment != "" || got.RawFragment != "" {
		return refuse("", "the URL holds a fragment")
	}
	for i := range len(got.RawQuery) {
		if c := got.RawQuery[i]; c <= ' ' || c >= 0x7f || c == '#' {
			return refuse("", "the query holds a character that must be escaped")
		}
	}
	template, _, _ := strings.Cut(op.Path, "?")
	if m, ok := match(template, path); !ok {
		if m.param == "" {
			return refuse("", "the path does not belong to this operation: "+m.why)
		}
		return refuse(m.param, "the value of "+m.param+" cannot stand in the path: "+m.why)
	}
	return nil
}

// sameOrigin compares scheme, host and port (RFC 6454, section 5), and refuses
// everything else that could lead elsewhere.
func (u *Upstream) sameOrigin(got *url.URL) bool {
	return got != nil && got.Scheme == u.base.Scheme && got.Host == u.base.Host && got.User == nil && got.Opaque == ""
}

// refuse is for what a value caused, defect for what only wrong code can.
func refuse(param, message string) error {
	e := apierrors.New(apierrors.InvalidArguments, message)
	if param != "" {
		e.Pointer = "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(param)
		e.Expected = "a value that is not empty and has no . or .. between slashes and no control characters"
	}
	return e
}

func defect(message string) error {
	e := apierrors.New(apierrors.Internal, message)
	e.Delivery = apierrors.NotSent
	return e
}
