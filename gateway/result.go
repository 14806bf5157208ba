package gateway

import (
	"bufio"
	"bytes"
	"net/http"
	"slices"
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
	// and otherwise untouched, or its text. It is valid UTF-8.
	Text []byte
	// Data and MIMEType are an answer that is neither JSON nor text.
	Data     []byte
	MIMEType string

	lease transport.Lease
}

// Release ends what the call takes of the bounds on calls under way; call it once the
// result has been written, for until then it takes memory.
func (r *Result) Release() { r.lease.Release() }

// AppendText appends the text of the result's block, which is the envelope for
// an error, as a JSON string.
func (r *Result) AppendText(b []byte) []byte {
	if r.Err != nil {
		return appendJSON(b, r.Err.Envelope())
	}
	return appendJSON(b, r.Text)
}

// WriteText writes what AppendText appends, in parts, so that it is never held as a
// whole. What goes wrong is w's to say when it is flushed.
func (r *Result) WriteText(w *bufio.Writer) {
	text := r.Text
	if r.Err != nil {
		text = r.Err.Envelope()
	}
	_ = w.WriteByte('"')
	for part := range slices.Chunk(text, 4<<10) {
		if w.Available() < 2*len(part) {
			_ = w.Flush()
		}
		_, _ = w.Write(appendEscaped(w.AvailableBuffer(), part))
	}
	_ = w.WriteByte('"')
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
	mask := c.upstream.Mask
	if a.Truncated {
		mask = c.upstream.MaskCut
	}
	body := bytes.TrimPrefix(mask(a.Body), byteOrderMark)
	mediaType, charset := plainJSON, ""
	if contentType := a.Header.Get("Content-Type"); contentType != plainJSON {
		mediaType, charset = mediaTypeOf(c.mask(contentType))
	}
	body, decoded := toUTF8(body, charset, mask)
	tidied, isJSON := tidy(body, c.tool.Redact)
	switch {
	case isJSON:
		body = tidied
	case len(c.tool.Redact) > 0 && a.Status/100 != 2:
		body = nil // what cannot be read cannot be redacted
	}
	if a.Status/100 != 2 {
		e := apierrors.FromResponse(apierrors.Response{Status: a.Status, Header: a.Header, Body: body, Truncated: a.Truncated},
			apierrors.Mapping{Codes: c.tool.Codes, Hints: c.tool.Hints})
		e.Attempts = a.Attempts
		if a.Repeated && c.tool.Operation.Method == http.MethodDelete && (a.Status == http.StatusNotFound || a.Status == http.StatusGone) {
			e.Hint = "An earlier attempt of this call may have deleted it; read the state to be sure."
		}
		return failure(e)
	}
	switch {
	case a.Status == http.StatusPartialContent && !slices.Contains(c.tool.Operation.Headers, "Range"):
		return failure(c.unusable(a, "the API's answer is only a part, which was not asked for"))
	case isJSON:
		return &Result{Text: body}
	case len(bytes.TrimSpace(body)) == 0:
		return &Result{Text: []byte(`{"status":` + strconv.Itoa(a.Status) + `}`)}
	case declaresJSON(mediaType):
		return failure(c.unusable(a, "the API's answer says it is JSON but is not valid JSON"+c.excerpt(body)))
	case len(c.tool.Redact) > 0:
		return failure(c.unusable(a, "the API's answer is not JSON, so what must be removed from it cannot be found"))
	case isText(mediaType) && !decoded:
		return failure(c.unusable(a, "the API's answer is in a charset that is not converted: "+charset))
	case isText(mediaType) && utf8.Valid(body):
		return &Result{Text: body}
	case mediaType == "":
		return &Result{Data: body, MIMEType: "application/octet-stream"}
	case isText(mediaType):
		return failure(c.unusable(a, "the API's answer says it is text but is not valid UTF-8"))
	}
	return &Result{Data: body, MIMEType: mediaType}
}

// maxExcerpt bounds, in bytes, what is shown of an answer that is of no use.
const maxExcerpt = 200

// excerpt is how an answer begins, to tell what came instead of what was expected;
// nothing where something would have to be removed from it.
func (c *call) excerpt(body []byte) string {
	// What is no text cannot be searched for a token, which may be spelled in any way.
	if body = bytes.TrimSpace(body); len(body) == 0 || len(c.tool.Redact) > 0 || !utf8.Valid(body) || bytes.IndexByte(body, 0) >= 0 {
		return ""
	}
	return "; it begins with " + strconv.Quote(strings.ToValidUTF8(string(body[:min(len(body), maxExcerpt)]), ""))
}

// byteOrderMark precedes the JSON of some servers; a reader may ignore it (RFC
// 8259, section 8.1).
var byteOrderMark = []byte("\ufeff")

// unusable is the envelope of a success whose body cannot be passed on.
func (c *call) unusable(a transport.Answer, message string) *apierrors.Error {
	e := apierrors.New(apierrors.InvalidResponse, message)
	e.Status, e.Delivery, e.Attempts = a.Status, apierrors.Answered, a.Attempts
	if !c.tool.ReadOnly {
		return accepted(e)
	}
	return e
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

// accepted marks the error of a change that the API made although its answer is of
// no use: to repeat the call would make it twice.
func accepted(e *apierrors.Error) *apierrors.Error {
	e.Retryable = false
	e.Hint = "The API accepted the request; read the state before repeating it."
	return e
}

// advise adds what the operation knows to an error of the transport's.
func (c *call) advise(e *apierrors.Error) *apierrors.Error {
	if c.upstream != nil && e.Code == apierrors.InvalidResponse {
		e.Message += c.excerpt(c.upstream.MaskCut(c.upstream.Answer().Body))
	}
	if !c.tool.ReadOnly && e.Delivery == apierrors.Answered && e.Status/100 == 2 {
		return accepted(e)
	}
	if e.Hint == "" && e.Delivery == apierrors.Unknown && !c.tool.ReadOnly {
		e.Hint = "It is not known whether the API acted on this request; read the state before repeating it."
	}
	return e
}
