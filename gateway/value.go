package gateway

import (
	"strconv"

	"github.com/postern-mcp/postern/apiclient/encode"
	"github.com/postern-mcp/postern/gateway/schema"
)

// textOf is a JSON value as text: a string's characters, anything else as it was
// spelled.
func textOf(raw []byte) string {
	if s, ok := schema.String(raw); ok {
		return s
	}
	return string(raw)
}

// valueOf is a JSON value as a parameter or a field of a form; what is nested in it
// is JSON text. A null counts as undefined, alone and inside (RFC 6570, section 2.3).
func valueOf(raw []byte) encode.Value {
	if schema.IsNull(raw) {
		return nil
	}
	list := encode.List{}
	if schema.SplitArray(raw, func(e []byte) bool {
		if !schema.IsNull(e) {
			list = append(list, textOf(e))
		}
		return true
	}) == nil {
		return list
	}
	object := encode.Object{}
	if schema.SplitObject(raw, func(key string, value []byte) bool {
		if !schema.IsNull(value) {
			object = append(object, encode.Field{Path: []string{key}, Value: textOf(value)})
		}
		return true
	}) == nil {
		return object
	}
	return encode.String(textOf(raw))
}

// styledValue is valueOf for a style; in deepObject what is nested has a path.
func styledValue(style encode.Style, raw []byte) encode.Value {
	if style != encode.DeepObject || !isStructured(raw) {
		return valueOf(raw)
	}
	object := encode.Object{}
	appendDeep(&object, raw, nil)
	return object
}

// appendDeep appends a value under its path. OpenAPI does not say what a list is in
// deepObject: one of primitive values repeats [], which most servers read, and one
// that holds more numbers its elements, so that what belongs together stays together.
func appendDeep(o *encode.Object, raw []byte, path []string) {
	below := func(key string) []string { return append(path[:len(path):len(path)], key) }
	if schema.SplitObject(raw, func(key string, value []byte) bool { appendDeep(o, value, below(key)); return true }) == nil {
		return
	}
	numbered := false
	if schema.SplitArray(raw, func(e []byte) bool { numbered = isStructured(e); return !numbered }) != nil {
		if !schema.IsNull(raw) {
			*o = append(*o, encode.Field{Path: path, Value: textOf(raw)})
		}
		return
	}
	i := 0
	_ = schema.SplitArray(raw, func(e []byte) bool {
		key := ""
		if numbered {
			key = strconv.Itoa(i)
		}
		appendDeep(o, e, below(key))
		i++
		return true
	})
}

// isStructured reports an object or a list.
func isStructured(raw []byte) bool { return len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') }
