package openapi

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// object is a JSON object that keeps the order of its members: the order of the
// document where it comes from one, a fixed order where it does not. Values are
// string, bool, int, json.RawMessage, []any, []string and object.
type object []member

type member struct {
	key   string
	value any
}

func (o object) get(key string) (any, bool) {
	for _, m := range o {
		if m.key == key {
			return m.value, true
		}
	}
	return nil, false
}

// set replaces or appends a member.
func (o *object) set(key string, value any) {
	for i, m := range *o {
		if m.key == key {
			(*o)[i].value = value
			return
		}
	}
	*o = append(*o, member{key, value})
}

// appendJSON renders a value compactly. Unlike encoding/json it keeps the order
// of members and leaves <, > and & as they are.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case object:
		b = append(b, '{')
		for i, m := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, m.key), ':')
			b = appendJSON(b, m.value)
		}
		return append(b, '}')
	case []any:
		return appendArray(b, v)
	case []string:
		return appendArray(b, v)
	case json.RawMessage:
		return append(b, v...)
	case string:
		return appendString(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	}
	panic(fmt.Sprintf("openapi: no JSON for %T", v))
}

func appendArray[T any](b []byte, s []T) []byte {
	b = append(b, '[')
	for i, e := range s {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSON(b, e)
	}
	return append(b, ']')
}

func appendString(b []byte, s string) []byte {
	var sb strings.Builder
	enc := json.NewEncoder(&sb)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return append(b, strings.TrimSuffix(sb.String(), "\n")...)
}

// nodeJSON renders a document's value as JSON, numbers as the document spells
// them wherever JSON has that spelling.
func nodeJSON(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		o := object{}
		for k, v := range members(n) {
			o = append(o, member{k, nodeJSON(v)})
		}
		return o
	case yaml.SequenceNode:
		a := make([]any, len(n.Content))
		for i, c := range n.Content {
			a[i] = nodeJSON(c)
		}
		return a
	}
	switch n.Tag {
	case "!!null":
		return json.RawMessage("null")
	case "!!bool":
		return isTrue(n)
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.RawMessage(n.Value)
		}
		var f float64
		if n.Decode(&f) == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return json.RawMessage(strconv.FormatFloat(f, 'g', -1, 64))
		}
	}
	return n.Value
}
