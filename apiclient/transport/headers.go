package transport

import (
	"net/http"

	apierrors "github.com/postern-mcp/postern/errors"
)

// headers returns what may leave of in: the content negotiation every request
// needs and the operation's own header parameters. The rest is dropped.
func (u *Upstream) headers(op *Operation, in http.Header) (http.Header, error) {
	out := make(http.Header, 4+len(op.Headers))
	out["User-Agent"] = u.userAgent
	out["Accept"] = preferJSON
	for _, name := range [...]string{"Accept", "Content-Type"} {
		if err := copyHeader(out, in, name); err != nil {
			return nil, err
		}
	}
	if op.Cookies {
		if err := copyHeader(out, in, "Cookie"); err != nil {
			return nil, err
		}
	}
	for _, name := range op.Headers {
		if transportOwned(name) {
			continue
		}
		if err := copyHeader(out, in, name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// preferJSON is what is asked for where the operation does not say (RFC 9110,
// section 12.5.1): JSON passes untouched, anything else as what it is.
var preferJSON = []string{"application/json, */*;q=0.5"}

func copyHeader(out, in http.Header, name string) error {
	values, ok := in[name]
	if !ok {
		return nil
	}
	for _, value := range values {
		if !validHeaderValue(value) {
			return apierrors.New(apierrors.InvalidArguments, "the value of the header "+name+" holds a line break or another control character")
		}
	}
	out[name] = values
	return nil
}

// transportOwned names the headers that no parameter may set, whatever the
// document says: credentials, and what steers connection and encoding (RFC
// 9110, sections 7.6.1, 7.8, 10.1.1 and 12.5.3).
func transportOwned(name string) bool {
	switch name {
	case "Authorization", "Proxy-Authorization", "Cookie", "User-Agent", "Accept-Encoding",
		"Connection", "Proxy-Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding",
		"Upgrade", "Expect", "Host", "Content-Length":
		return true
	}
	return false
}

// validHeaderValue reports whether value is a field value of RFC 9110, section
// 5.5: no control character but the tab.
func validHeaderValue(value string) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
