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
	if c.op.Auth.Kind == AuthNone {
		return nil
	}
	if c.token.IsZero() {
		return apierrors.New(apierrors.Unauthorized, "there is no token to send")
	}
	if !c.up.sameOrigin(out.URL) {
		return defect("the token is bound to the base URL's origin")
	}
	secret, name := c.token.reveal(), c.op.Auth.Name
	switch c.op.Auth.Kind {
	case AuthBearer:
		out.Header["Authorization"] = secret.header
	case AuthBasic:
		out.Header["Authorization"] = []string{"Basic " + secret.value}
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
