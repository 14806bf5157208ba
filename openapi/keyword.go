package openapi

import (
	"encoding/json"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// data is a value that a schema holds but that is no schema itself.
func data(v *yaml.Node) json.RawMessage { return appendJSON(nil, nodeJSON(v)) }

// types are the JSON Schema types among those a document names.
func types(v *yaml.Node) any {
	known := func(t string) string {
		switch t {
		case "string", "number", "integer", "boolean", "array", "object", "null":
			return t
		case "file":
			return "string"
		case "int", "int32", "int64", "long":
			return "integer"
		case "float", "double", "decimal":
			return "number"
		case "bool":
			return "boolean"
		}
		return ""
	}
	if v.Kind == yaml.ScalarNode {
		if t := known(v.Value); t != "" {
			return t
		}
		return nil
	}
	var out []any
	for _, t := range strs(v) {
		if t := known(t); t != "" && !slices.Contains(out, any(t)) {
			out = append(out, t)
		}
	}
	switch len(out) {
	case 0:
		return nil
	case 1:
		return out[0]
	}
	return out
}

// number is a bound as the document spells it; a count must be a whole number.
func number(v *yaml.Node, count bool) any {
	if v.Kind != yaml.ScalarNode || v.Tag == "!!bool" {
		return nil
	}
	raw, ok := nodeJSON(v).(json.RawMessage)
	if !ok || string(raw) == "null" {
		return nil
	}
	if count && strings.Trim(string(raw), "0123456789") != "" {
		return nil
	}
	return raw
}

// exclusive turns OpenAPI 3.0's boolean bound into a numeric one.
func exclusive(o object, bounds [2]string) object {
	o = slices.Clone(o)
	for i, m := range o {
		if m.key == bounds[1] {
			o[i].key = bounds[0]
		}
	}
	return o
}
