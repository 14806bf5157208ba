package gateway

import (
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

// valueOf is a JSON value as a parameter. What is nested in an object keeps its
// path, for the style deepObject; what is nested in a list is JSON text.
func valueOf(raw []byte) encode.Value {
	list := encode.List{}
	if schema.SplitArray(raw, func(e []byte) bool { list = append(list, textOf(e)); return true }) == nil {
		return list
	}
	object := encode.Object{}
	if appendFields(&object, raw, nil) {
		return object
	}
	return encode.String(textOf(raw))
}

// appendFields appends the members of an object and of the objects and lists in
// it; it is false for what is no object.
func appendFields(o *encode.Object, raw []byte, path []string) bool {
	add := func(key string, value []byte) {
		here := append(path[:len(path):len(path)], key)
		if appendFields(o, value, here) || schema.SplitArray(value, func(e []byte) bool {
			*o = append(*o, encode.Field{Path: append(here[:len(here):len(here)], ""), Value: textOf(e)})
			return true
		}) == nil {
			return
		}
		*o = append(*o, encode.Field{Path: here, Value: textOf(value)})
	}
	return schema.SplitObject(raw, func(key string, value []byte) bool { add(key, value); return true }) == nil
}
