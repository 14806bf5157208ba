// Package encode puts requests together as an OpenAPI document describes them:
// where each parameter goes and how its value is written there (OpenAPI 3.1,
// Parameter Object, "style" and "explode"; RFC 6570).
//
// Generated clients are made of its calls. It exists because the serialisation
// that comes with the client generator resolves a path as a URL reference, so
// that a value of ".." reaches another operation, writes an empty list like a
// list of one empty string, ignores allowReserved and loses bytes of cookies. Here
// every byte of a value that is not unreserved (RFC 3986, section 2.3) is
// percent-encoded where it stands in a URL, and a path is only ever appended to.
//
//	r := encode.New(c.Server)
//	r.Literal("/projects/")
//	r.Path("project", encode.Simple, false, encode.String(project))
//	r.Literal("/logs")
//	r.Query("level", encode.Form, true, encode.String(level))
//	req, err := r.Build(ctx, http.MethodGet)
package encode

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Style is how a value is written (OpenAPI 3.1, Parameter Object, "Style Values").
type Style uint8

// The styles. Tabs is Swagger 2.0's collectionFormat tsv, which later versions
// no longer have; Spaces, Pipes and Tabs outside of a query are too.
const (
	Simple Style = iota
	Label
	Matrix
	Form
	Spaces
	Pipes
	Tabs
	DeepObject
)

// Value is a parameter's value: a String, a List or an Object.
type Value interface{ isValue() }

// String is a primitive value, as it was spelled.
type String string

// List is an array of primitive values.
type List []string

// Object is an object's members in their order.
type Object []Field

// Field is one member of an Object. Path has one key; in style DeepObject it has
// one for each level, and "" for an element of an array.
type Field struct {
	Path  []string
	Value string
}

func (String) isValue() {}
func (List) isValue()   {}
func (Object) isValue() {}

// Request is a request being put together. Methods are called in the order in
// which their parts appear in the URL.
type Request struct {
	url     []byte // server and path
	query   []byte // without its question mark
	header  http.Header
	cookies []string
}

// New starts a request below server, a URL without query and final slash.
func New(server string) *Request {
	return &Request{url: append(make([]byte, 0, len(server)+128), server...), header: http.Header{}}
}

// Literal appends a piece of the path template as the document has it.
func (r *Request) Literal(s string) {
	for i := range len(s) {
		if c := s[i]; isPathChar(c) || c == '/' || c == '%' {
			r.url = append(r.url, c)
		} else {
			r.url = appendEscaped(r.url, c)
		}
	}
}

// Path appends a path parameter.
func (r *Request) Path(name string, style Style, explode bool, v Value) {
	w := writer{b: r.url, keep: unreserved}
	w.write(name, style, explode, v)
	r.url = w.b
}

// Query appends a query parameter. Nothing is sent for an empty List or Object:
// a query cannot tell them from a list of one empty string.
func (r *Request) Query(name string, style Style, explode bool, v Value) {
	r.appendQuery(name, style, explode, v, unreserved)
}

// QueryReserved is Query for a parameter with allowReserved: the reserved
// characters of RFC 3986 stay as they are, but for those that would end the
// value or the query on one server or another: # & ; = + and %.
func (r *Request) QueryReserved(name string, style Style, explode bool, v Value) {
	r.appendQuery(name, style, explode, v, reserved)
}

func (r *Request) appendQuery(name string, style Style, explode bool, v Value, keep *[256]bool) {
	before := len(r.query)
	if before > 0 {
		r.query = append(r.query, '&')
	}
	w := writer{b: r.query, keep: keep, query: true}
	w.write(name, style, explode, v)
	if r.query = w.b; len(r.query) == before+1 && before > 0 {
		r.query = r.query[:before]
	}
}

// QueryString appends a query string that is spelled in a path template.
func (r *Request) QueryString(s string) {
	if len(r.query) > 0 {
		r.query = append(r.query, '&')
	}
	r.query = append(r.query, s...)
}

// Header sets a header parameter. Its value is written as it is: a header has no
// escapes, and what it must not hold the transport refuses.
func (r *Request) Header(name string, style Style, explode bool, v Value) {
	w := writer{keep: everything}
	w.write(name, style, explode, v)
	r.header.Set(name, string(w.b))
}

// Cookie adds a cookie parameter, percent-encoded, because a cookie has no room
// for spaces, commas, semicolons and quotes (RFC 6265, section 4.1.1).
func (r *Request) Cookie(name string, explode bool, v Value) {
	w := writer{keep: unreserved, query: true}
	w.write(name, Form, explode, v)
	if len(w.b) > 0 {
		r.cookies = append(r.cookies, strings.ReplaceAll(string(w.b), "&", "; "))
	}
}

// FormBody is a body of the media type application/x-www-form-urlencoded: fields
// written like query parameters.
type FormBody struct{ r Request }

// Add appends a field.
func (f *FormBody) Add(name string, style Style, explode bool, v Value) {
	f.r.Query(name, style, explode, v)
}

// Bytes is the body.
func (f *FormBody) Bytes() []byte { return f.r.query }

// Build returns the request without a body.
func (r *Request) Build(ctx context.Context, method string) (*http.Request, error) {
	return r.BuildWithBody(ctx, method, "", nil)
}

// BuildWithBody returns the request with a body; a nil body is none.
func (r *Request) BuildWithBody(ctx context.Context, method, contentType string, body io.Reader) (*http.Request, error) {
	if len(r.query) > 0 {
		r.url = append(append(r.url, '?'), r.query...)
	}
	// Parsed here and not by NewRequest, whose error would quote the URL.
	u, err := url.Parse(string(r.url))
	if err != nil {
		return nil, fmt.Errorf("the request's URL is malformed")
	}
	req, err := http.NewRequestWithContext(ctx, method, "", body)
	if err != nil {
		return nil, err
	}
	req.URL, req.Host, req.Header = u, u.Host, r.header
	if body != nil {
		req.Header.Set("Content-Type", contentType)
	}
	if len(r.cookies) > 0 {
		req.Header.Set("Cookie", strings.Join(r.cookies, "; "))
	}
	return req, nil
}
