package openapi

import (
	"encoding/json"
	"slices"
)

// nullable adds null to what a schema accepts.
func nullable(o object) object {
	o = slices.Clone(o)
	null := json.RawMessage("null")
	if c, ok := o.get("const"); ok {
		o = slices.DeleteFunc(o, func(m member) bool { return m.key == "const" })
		o.set("enum", []any{c, null})
		return o
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
		return o
	case []any:
		if !slices.Contains(t, any("null")) {
			o.set("type", append(slices.Clone(t), "null"))
		}
		return o
	}
	for _, m := range o {
		switch m.key {
		case "allOf", "anyOf", "oneOf", "not", "$ref":
			description, described := o.get("description")
			o = slices.DeleteFunc(o, func(m member) bool { return m.key == "description" })
			wrapped := object{{"anyOf", []any{o, object{{"type", "null"}}}}}
			if described {
				wrapped = append(object{{"description", description}}, wrapped...)
			}
			return wrapped
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
func (s *schemas) declaresNull(o object) bool {
	for range maxDepth { // an alias of an alias
		if !o.refers() {
			break
		}
		o, _ = s.definition(o)
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
	for _, key := range []string{"anyOf", "oneOf"} {
		branches, _ := o.get(key)
		list, _ := branches.([]any)
		for _, b := range list {
			if branch, ok := b.(object); ok && !branch.refers() && s.declaresNull(branch) {
				return true
			}
		}
	}
	return false
}

func (o object) refers() bool {
	_, ok := o.get("$ref")
	return ok
}
