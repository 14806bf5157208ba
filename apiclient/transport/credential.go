package transport

import (
	"net/http"
	"net/url"

	apierrors "github.com/postern-mcp/postern/errors"
)

// authorize puts the caller's credential on out, where the operation wants it.
// Nothing else sets it, out's headers are never the caller's own object, and the
// credential goes to the base URL's origin or nowhere.
func (c *Call) authorize(out *http.Request) error {
	if c.op.Auth.Kind == AuthNone || c.token.IsZero() && c.op.AuthOptional {
		return nil
	}
	if c.token.IsZero() {
		return apierrors.New(apierrors.Unauthorized, "there is no token to send")
	}
	secret := c.token.reveal()
	auth, ok := c.op.authFor(secret)
	switch {
	case !ok && c.op.AuthOptional:
		return nil
	case !ok && secret.value == "":
		return apierrors.New(apierrors.Unauthorized, "this operation takes a token, not a user and a password")
	case !ok:
		return apierrors.New(apierrors.Unauthorized, "this operation takes a user and a password, not a token")
	case !c.up.sameOrigin(out.URL):
		return defect("the token is bound to the base URL's origin")
	}
	name := auth.Name
	switch auth.Kind {
	case AuthBearer:
		out.Header["Authorization"] = secret.header
	case AuthBasic:
		out.Header["Authorization"] = []string{"Basic " + secret.basic}
	case AuthHeader:
		out.Header.Set(name, secret.value)
	case AuthCookie:
		cookie := name + "=" + secret.value
		if others := out.Header.Get("Cookie"); others != "" {
			cookie = others + "; " + cookie
		}
		out.Header.Set("Cookie", cookie)
	case AuthQuery:
		u := *out.URL
		if u.RawQuery != "" {
			u.RawQuery += "&"
		}
		u.RawQuery += url.QueryEscape(name) + "=" + url.QueryEscape(secret.value)
		out.URL = &u
	}
	return nil
}

// authFor is the first way to send a credential that the caller has one for.
func (op *Operation) authFor(s *secret) (Auth, bool) {
	fits := func(a Auth) bool {
		if a.Kind == AuthBasic {
			return s.basic != ""
		}
		return s.value != ""
	}
	if fits(op.Auth) {
		return op.Auth, true
	}
	for _, a := range op.OtherAuth {
		if fits(a) {
			return a, true
		}
	}
	return Auth{}, false
}
