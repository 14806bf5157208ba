package transport

import (
	"net/http"

	apierrors "github.com/postern-mcp/postern/errors"
)

// authorize puts the caller's token on out (RFC 6750, section 2.1). Nothing
// else sets Authorization, out's headers are never the caller's own object,
// and the token goes to the base URL's origin or nowhere.
func (c *Call) authorize(out *http.Request) error {
	if c.token.IsZero() {
		return apierrors.New(apierrors.Unauthorized, "there is no token to send")
	}
	if !c.up.sameOrigin(out.URL) {
		return defect("the token is bound to the base URL's origin")
	}
	out.Header["Authorization"] = c.token.reveal().header
	return nil
}
