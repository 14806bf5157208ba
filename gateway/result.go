package gateway

import (
	"bytes"
	"encoding/json"
	"mime"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/postern-mcp/postern/apiclient/transport"
	apierrors "github.com/postern-mcp/postern/errors"
)

// Result is what a call came to: exactly one content block, or an envelope.
type Result struct {
	// Err is the failure; the other fields are then empty.
	Err *apierrors.Error
	// Text is the block's text when MIMEType is empty: the API's JSON, compacted
	// and otherwise untouched, or its text.
	Text []byte
	// Data and MIMEType are an answer that is neither JSON nor text.
	Data     []byte
	MIMEType string
}

// Size is the result's length in bytes, for the log.
func (r *Result) Size() int {
	if r.Err != nil {
		return len(r.Err.Envelope())
	}
	return len(r.Text) + len(r.Data)
}

func failure(e *apierrors.Error) *Result { return &Result{Err: e} }

// result turns an answer of any status into a result.
func (c *call) result(a transport.Answer) *Result {
	body := c.caller.Token.Mask(a.Body)
	isJSON := json.Valid(body)
	if len(c.tool.Redact) > 0 {
		if isJSON {
			body = redact(body, c.tool.Redact)
		} else if len(body) > 0 && a.Status >= 300 {
			body = nil // what cannot be read cannot be redacted
		}
	}
	if a.Status < 200 || a.Status >= 300 {
		e := apierrors.FromResponse(apierrors.Response{Status: a.Status, Header: a.Header, Body: body, Truncated: a.Truncated},
			apierrors.Mapping{Codes: c.tool.Codes, Hints: c.tool.Hints})
		e.Attempts = a.Attempts
		return failure(e)
	}
	mediaType, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return &Result{Text: []byte(`{"status":` + strconv.Itoa(a.Status) + `}`)}
	case isJSON && utf8.Valid(body):
		return &Result{Text: compact(body)}
	case declaresJSON(mediaType), len(c.tool.Redact) > 0:
		return failure(c.unusable(a, "the API's answer says it is JSON but is not valid JSON"))
	case isText(mediaType) && utf8.Valid(body):
		return &Result{Text: body}
	case isText(mediaType):
		return failure(c.unusable(a, "the API's answer says it is text but is not valid UTF-8"))
	}
	return &Result{Data: body, MIMEType: mediaType}
}

// unusable is the envelope of a success whose body cannot be passed on.
func (c *call) unusable(a transport.Answer, message string) *apierrors.Error {
	e := apierrors.New(apierrors.InvalidResponse, message)
	e.Status, e.Delivery, e.Attempts = a.Status, apierrors.Answered, a.Attempts
	if !c.tool.ReadOnly {
		e.Hint = "The API accepted the request; read the state before repeating it."
	}
	return e
}

// compact removes insignificant white space; it writes nothing else anew.
func compact(body []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(body))
	_ = json.Compact(&b, body) // body is valid
	return b.Bytes()
}

func declaresJSON(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}

// isText reports media types whose content a model reads as text. No type at all
// counts, because that is how small servers answer.
func isText(mediaType string) bool {
	switch mediaType {
	case "", "application/xml", "application/yaml", "application/x-yaml", "application/x-ndjson", "application/jsonl",
		"application/javascript", "application/toml", "application/x-www-form-urlencoded":
		return true
	}
	return strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "+xml") || strings.HasSuffix(mediaType, "+yaml")
}

// advise adds what the operation knows to an error of the transport's.
func (c *call) advise(e *apierrors.Error) *apierrors.Error {
	if e.Hint == "" && e.Delivery == apierrors.Unknown && !c.tool.ReadOnly {
		e.Hint = "It is not known whether the API acted on this request; read the state before repeating it."
	}
	return e
}
