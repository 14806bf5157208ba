package corpus

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
)

// limit says why the library cannot tell whether a request is valid, "" where it
// can:
//
//	what is sent                            what the library makes of it
//	a parameter whose schema, or a branch   an empty value
//	of its allOf, has no type
//	a parameter of one of several schemas   the last that can be read, oneOf; the first, anyOf
//	a free-form object, form and exploded   a missing value: it looks for known properties only
//	nothing, for a path parameter that the  a missing value: the document is at fault
//	path does not have
//	an object in a media type of bytes      a string, which is no object
//	a number or a boolean as text/plain     a string, which is neither
//	a list in the style deepObject          "invalid serialization method"
//	a list of objects as a parameter        "non primitive type"
//	a form field whose schema has no type   null
//	a required form field that the schema   a missing property
//	does not list
//	a list field in the style deepObject    a missing property: it looks for name[key]
//	a form without fields                   a missing body: it has no bytes
//	a form field with anyOf or a free-form  "unsupported schema"
//	object in it
func limit(err error) string {
	for _, message := range []string{"unsupported schema", "unsupported content type", "invalid serialization method", "non primitive type", "cannot compile pattern", "unresolved ref"} {
		if strings.Contains(err.Error(), message) {
			return message
		}
	}
	var re *openapi3filter.RequestError
	if !errors.As(err, &re) {
		return ""
	}
	if p := re.Parameter; p != nil && p.In == "path" && errors.Is(err, openapi3filter.ErrInvalidRequired) {
		return "a path parameter that the path does not have"
	}
	if p := re.Parameter; p != nil && p.Schema != nil && p.Schema.Value != nil {
		return parameterLimit(re, p.Schema.Value)
	}
	if re.RequestBody != nil && bytesAsObject(re) {
		return "an object in a media type that is read as bytes"
	}
	if re.RequestBody != nil && scalarAsText(re) {
		return "a number or a boolean as text"
	}
	if re.RequestBody != nil && formLimit(re) {
		return "a form field that is not listed, has no type, or is a list in the style deepObject"
	}
	if re.RequestBody != nil && errors.Is(err, openapi3filter.ErrInvalidRequired) &&
		strings.HasPrefix(re.Input.Request.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		return "a form without fields"
	}
	return ""
}

// bytesAsObject reports a body of a media type such as application/octet-stream
// that is an object, or is described as one.
func bytesAsObject(re *openapi3filter.RequestError) bool {
	contentType := re.Input.Request.Header.Get("Content-Type")
	media := re.RequestBody.Content.Get(contentType)
	if media == nil || media.Schema == nil || !asBytes[contentType] {
		return false
	}
	return media.Schema.Value.Type.Is("object") || strings.HasPrefix(sentBody(re), "{")
}

func scalarAsText(re *openapi3filter.RequestError) bool {
	contentType := re.Input.Request.Header.Get("Content-Type")
	media := re.RequestBody.Content.Get(contentType)
	if media == nil || media.Schema == nil || !strings.HasPrefix(contentType, "text/") {
		return false
	}
	types := media.Schema.Value.Type
	return types.Includes("integer") || types.Includes("number") || types.Includes("boolean")
}

func sentBody(re *openapi3filter.RequestError) string {
	body, err := re.Input.Request.GetBody()
	if err != nil {
		return ""
	}
	data, _ := io.ReadAll(body)
	return string(data)
}

// formLimit reports a field of a form that was sent and that the library does not
// find.
func formLimit(re *openapi3filter.RequestError) bool {
	var se *openapi3.SchemaError
	if !errors.As(re, &se) || !strings.HasPrefix(re.Input.Request.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		return false
	}
	form, _ := url.ParseQuery(sentBody(re))
	at := se.JSONPointer()
	if len(at) == 0 {
		return false
	}
	_, sent := form[at[0]]
	_, listed := form[at[0]+"[]"]
	return se.SchemaField == "nullable" && sent || se.SchemaField == "required" && (sent || listed)
}

func parameterLimit(re *openapi3filter.RequestError, s *openapi3.Schema) string {
	switch {
	case len(s.OneOf)+len(s.AnyOf) > 1:
		return "a parameter of one of several schemas"
	case errors.Is(re, openapi3filter.ErrInvalidEmptyValue) && (re.Parameter.In != "query" || re.Input.Request.URL.Query().Get(re.Parameter.Name) != ""):
		return "a parameter whose schema, or a part of it, has no type"
	case s.Type.Is("object") && len(s.Properties) == 0:
		return "a free-form object as a parameter"
	}
	return ""
}

// fault is the kind of an error: where the request is at fault and by which
// keyword.
func fault(err error) string {
	where := ""
	var re *openapi3filter.RequestError
	if errors.As(err, &re) {
		switch p := re.Parameter; {
		case p != nil:
			where = p.In + " parameter"
			if p.Style != "" {
				where += " style " + p.Style
			}
			if p.Explode != nil {
				where += fmt.Sprint(" explode ", *p.Explode)
			}
			if p.Schema != nil && p.Schema.Value != nil && p.Schema.Value.Type != nil {
				where += fmt.Sprint(" type ", p.Schema.Value.Type.Slice())
			}
		case re.RequestBody != nil:
			base, _, _ := strings.Cut(re.Input.Request.Header.Get("Content-Type"), ";")
			where = "body " + base
		}
		where += ": " + kindOf(re.Reason) + " "
	}
	var se *openapi3.SchemaError
	if errors.As(err, &se) {
		return where + se.SchemaField + ": " + kindOf(se.Reason)
	}
	if re != nil && re.Err != nil {
		return where + kindOf(re.Err.Error())
	}
	return where + kindOf(err.Error())
}
