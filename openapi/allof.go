package openapi

import "slices"

// flattenAllOf merges branches that only list properties into the schema itself,
// where that changes nothing: clients show what is listed, and few read allOf.
func (s *schemas) flattenAllOf(o object) object {
	all, ok := o.get("allOf")
	if !ok {
		return o
	}
	own := slices.DeleteFunc(slices.Clone(o), func(m member) bool { return m.key == "allOf" })
	branches := all.([]any)
	if description, described := own.get("description"); len(branches) == 1 && (len(own) == 0 || described && len(own) == 1) {
		only := slices.Clone(branches[0].(object)) // how OpenAPI 3.0 puts something beside a reference
		if described {
			only.set("description", description)
		}
		return ordered(only)
	}
	merged := object{}
	for _, branch := range append(slices.Clone(branches), own) {
		b, done := s.definition(branch.(object))
		if !done || !merge(&merged, b) {
			return o
		}
	}
	return ordered(merged)
}

// merge adds the members of one plain object schema to another.
func merge(into *object, o object) bool {
	for _, m := range o {
		have, exists := into.get(m.key)
		switch m.key {
		case "type":
			if m.value != "object" {
				return false
			}
			into.set("type", "object")
		case "description":
			into.set("description", m.value) // the schema's own comes last
		case "required":
			names, _ := have.([]string)
			for _, name := range m.value.([]string) {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
			into.set("required", names)
		case "properties":
			props, _ := have.(object)
			props = slices.Clone(props)
			for _, p := range m.value.(object) {
				if other, twice := props.get(p.key); twice && string(appendJSON(nil, other)) != string(appendJSON(nil, p.value)) {
					return false
				}
				props.set(p.key, p.value)
			}
			into.set("properties", props)
		case "additionalProperties":
			if m.value == false || exists {
				return false
			}
			into.set(m.key, m.value)
		default:
			return false
		}
	}
	return true
}
