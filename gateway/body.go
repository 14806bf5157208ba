package gateway

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"mime"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"

	"github.com/postern-mcp/postern/apiclient/encode"
	apierrors "github.com/postern-mcp/postern/errors"
	"github.com/postern-mcp/postern/gateway/schema"
)

// field is a member of a body that is an object.
type field struct {
	key  string
	name string // of the argument, for errors
	raw  []byte
}

// buildBody makes the body of the arguments that belong to it, in the media type
// that was chosen.
func (a *Args) buildBody() *apierrors.Error {
	if a.tool.Body.Kind == NoBody {
		return nil
	}
	a.contentType = a.tool.Body.ContentTypes[0]
	var whole []byte
	var fields []field
	for i := range a.tool.Args {
		arg, raw := &a.tool.Args[i], a.values[i]
		switch {
		case raw == nil:
		case arg.In == InContentType:
			a.contentType = textOf(raw)
		case arg.In == InBody && a.tool.Body.Kind == WholeBody:
			whole = raw
		case arg.In == InBody:
			fields = append(fields, field{arg.Key, arg.Name, raw})
		}
	}
	if whole == nil && len(fields) == 0 && (a.tool.Body.Kind == WholeBody || !a.tool.Body.Required) {
		return nil
	}
	base, _, _ := mime.ParseMediaType(a.contentType)
	switch {
	case base == "application/x-www-form-urlencoded":
		return a.formBody(append(fields, membersOf(whole)...))
	case strings.HasPrefix(base, "multipart/"):
		return a.multipartBody(append(fields, membersOf(whole)...))
	case whole == nil:
		a.body = objectOf(fields)
	case declaresJSON(base) || base == "text/json" || isStructured(whole):
		a.body = whole // an object or a list is JSON, whatever the media type is called
	case isText(base):
		a.body = []byte(textOf(whole))
	default:
		data, err := decodeFile("body", whole)
		a.body = data
		return err
	}
	return nil
}

// membersOf are the members of a body that was given as one argument.
func membersOf(whole []byte) []field {
	var fields []field
	_ = schema.SplitObject(whole, func(key string, value []byte) bool {
		fields = append(fields, field{key, "body", value})
		return true
	})
	return fields
}

func objectOf(fields []field) []byte {
	b := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendKey(b, f.key), f.raw...)
	}
	return append(b, '}')
}

// part says how a form writes a field: by default a list as repeated fields and
// an object as JSON. It is styled if the document says so: then the style alone
// counts (OpenAPI 3.1, Encoding Object).
func (a *Args) part(key string) (p PartV1, styled bool) {
	if i := slices.IndexFunc(a.tool.Body.Parts, func(p PartV1) bool { return p.Key == key }); i >= 0 {
		p = a.tool.Body.Parts[i]
		return p, !p.File && p.ContentType == ""
	}
	return PartV1{Key: key, Style: encode.Form, Explode: true}, false
}

func (a *Args) formBody(fields []field) *apierrors.Error {
	var form encode.FormBody
	for _, f := range fields {
		p, styled := a.part(f.key)
		v := styledValue(p.Style, f.raw)
		if _, isObject := v.(encode.Object); v != nil && (isObject && !styled || isStructured(f.raw) && declaresJSON(p.ContentType)) {
			v = encode.String(f.raw)
		}
		if p.File && v != nil {
			data, err := decodeFile(f.name, f.raw)
			if err != nil {
				return err
			}
			v = encode.String(data)
		}
		form.Add(f.key, p.Style, p.Explode, v)
	}
	a.body = append([]byte{}, form.Bytes()...)
	return nil
}

func (a *Args) multipartBody(fields []field) *apierrors.Error {
	var b bytes.Buffer
	w := multipart.NewWriter(&b) // writes to memory, so that nothing in it fails
	write := func(name string, file bool, contentType string, data []byte) {
		if part, err := w.CreatePart(partHeader(name, file, contentType)); err == nil {
			_, _ = part.Write(data)
		}
	}
	for _, f := range fields {
		p, styled := a.part(f.key)
		if styled {
			for _, pair := range encode.Pairs(f.key, p.Style, p.Explode, styledValue(p.Style, f.raw)) {
				write(pair.Name, false, "", []byte(pair.Value))
			}
			continue
		}
		values := [][]byte{f.raw}
		if p.ContentType == "" || p.File {
			var elements [][]byte
			if schema.SplitArray(f.raw, func(e []byte) bool { elements = append(elements, e); return true }) == nil {
				values = elements
			}
		}
		for _, raw := range values {
			data, contentType := []byte(textOf(raw)), p.ContentType
			switch {
			case schema.IsNull(raw):
				continue // a form has no null
			case p.File:
				var err *apierrors.Error
				if data, err = decodeFile(f.name, raw); err != nil {
					return err
				}
			case contentType == "" && isStructured(raw):
				contentType = "application/json"
			}
			write(f.key, p.File, contentType, data)
		}
	}
	_ = w.Close()
	base, _, _ := mime.ParseMediaType(a.contentType)
	a.body, a.contentType = b.Bytes(), base+"; boundary="+w.Boundary()
	return nil
}

// partHeader is the head of one part (RFC 7578, section 4.2).
func partHeader(key string, file bool, contentType string) textproto.MIMEHeader {
	escaped := strings.NewReplacer("\\", "\\\\", `"`, "%22", "\r", "%0D", "\n", "%0A").Replace(key)
	disposition := fmt.Sprintf(`form-data; name="%s"`, escaped)
	if file {
		disposition += fmt.Sprintf(`; filename="%s"`, escaped)
		if contentType == "" {
			contentType = "application/octet-stream"
		}
	}
	h := textproto.MIMEHeader{"Content-Disposition": {disposition}}
	if contentType, _, _ = strings.Cut(contentType, ","); contentType != "" {
		h.Set("Content-Type", contentType)
	}
	return h
}

// decodeFile returns the bytes of a file, which is base64 in its argument (RFC
// 4648, section 4, with or without padding).
func decodeFile(name string, raw []byte) ([]byte, *apierrors.Error) {
	text := strings.TrimRight(textOf(raw), "=")
	data, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		e := apierrors.New(apierrors.InvalidArguments, name+" is not base64")
		e.Pointer, e.Expected = pointer(name), "the file's bytes in base64 (RFC 4648)"
		return nil, e
	}
	return data, nil
}
