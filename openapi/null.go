package openapi

import (
	"encoding/json"
	"slices"
)

// nullable adds null to what a schema accepts.
func nullable(o object) object {
	null := json.RawMessage("null")
	for _, m := range o {
		switch m.key {
		case "allOf", "anyOf", "oneOf", "not", "$ref": // they would have to accept it too
			described, rest := object{}, object{}
			for _, m := range o {
				if m.key == "description" {
					described = append(described, m)
				} else {
					rest = append(rest, m)
				}
			}
			return append(described, member{"anyOf", []any{rest, object{{"type", "null"}}}})
		}
	}
	o = slices.Clone(o)
	if c, ok := o.get("const"); ok && !isNull(c) {
		o = slices.DeleteFunc(o, func(m member) bool { return m.key == "const" })
		o.set("enum", []any{c, null})
		o = ordered(o)
	}
	if e, ok := o.get("enum"); ok {
		if values, ok := e.([]any); ok && !slices.ContainsFunc(values, isNull) {
			o.set("enum", append(slices.Clone(values), null))
		}
	}
	switch t, _ := o.get("type"); t := t.(type) {
	case string:
		if t != "null" {
			o.set("type", []any{t, "null"})
		}
	case []any:
		if !slices.Contains(t, any("null")) {
			o.set("type", append(slices.Clone(t), "null"))
		}
	}
	return o
}

func isNull(v any) bool {
	r, ok := v.(json.RawMessage)
	return ok && string(r) == "null"
}

// declaresNull reports a schema that names null as a value. One without
// constraints accepts null but does not declare it.
func (s *schemas) declaresNull(o object) bool { return s.namesNull(o, map[any]bool{}) }

func (s *schemas) namesNull(o object, seen map[any]bool) bool {
	if ref, ok := o.get("$ref"); ok {
		if seen[ref] {
			return false
		}
		seen[ref] = true
		def, _ := s.definition(o)
		return s.namesNull(def, seen)
	}
	switch t, _ := o.get("type"); t := t.(type) {
	case string:
		return t == "null"
	case []any:
		return slices.Contains(t, any("null"))
	}
	if e, ok := o.get("enum"); ok {
		values, _ := e.([]any)
		return slices.ContainsFunc(values, isNull)
	}
	if c, ok := o.get("const"); ok {
		return isNull(c)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		branches, _ := o.get(key)
		list, _ := branches.([]any)
		for _, b := range list {
			if branch, ok := b.(object); ok && s.namesNull(branch, seen) {
				return true
			}
		}
	}
	return false
}
