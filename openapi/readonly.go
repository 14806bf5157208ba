package openapi

import (
	"slices"

	"gopkg.in/yaml.v3"
)

// readOnly reports a property that only answers have.
func (s *schemas) readOnly(p *yaml.Node) bool {
	if isTrue(get(p, "readOnly")) {
		return true
	}
	target, err := s.doc.resolve(p)
	return err == nil && isTrue(get(target, "readOnly"))
}

// hidden lists the properties of an object, its allOf included, that are not
// published because only answers have them. One branch may describe such a property
// and another one require it.
func (s *schemas) hidden(n *yaml.Node) []string {
	if get(n, "allOf") == nil && get(n, "anyOf") == nil && get(n, "oneOf") == nil {
		return nil // keyword has seen to it
	}
	readOnly := map[string]bool{}
	seen := map[*yaml.Node]bool{}
	var look func(*yaml.Node)
	look = func(n *yaml.Node) {
		n, err := s.doc.resolve(n)
		if err != nil || seen[n] {
			return
		}
		seen[n] = true
		for name, p := range members(get(n, "properties")) {
			was, twice := readOnly[name]
			readOnly[name] = s.readOnly(p) && (was || !twice)
		}
		for _, branch := range items(get(n, "allOf")) {
			look(branch)
		}
	}
	look(n)
	var names []string
	for name, is := range readOnly {
		if is {
			names = append(names, name)
		}
	}
	return names
}

// maxLean bounds how many schemas are looked at for one that must not require what
// is hidden: definitions that combine each other could double at each level.
const maxLean = 2000

// notRequiring is a schema, with all that is combined in it, that does not ask for
// the hidden properties. A definition that does is written out, without asking.
func (s *schemas) notRequiring(o object, hidden []string) object {
	left := maxLean
	var lean func(object) object
	lean = func(o object) object {
		if left--; left < 0 {
			return o
		}
		if o.refers() {
			if def, done := s.definition(o); done {
				if l := lean(def); string(appendJSON(nil, l)) != string(appendJSON(nil, def)) {
					return l
				}
			}
			return o
		}
		out := object{}
		for _, m := range o {
			switch m.key {
			case "required":
				names := slices.DeleteFunc(slices.Clone(m.value.([]string)), func(name string) bool { return slices.Contains(hidden, name) })
				if len(names) == 0 {
					continue
				}
				m.value = names
			case "allOf", "anyOf", "oneOf":
				var branches []any
				for _, branch := range m.value.([]any) {
					branches = append(branches, lean(branch.(object)))
				}
				if m.key == "anyOf" && slices.ContainsFunc(branches, func(b any) bool { return len(b.(object)) == 0 }) {
					continue // whatever it is, it fits
				}
				m.value = branches
			}
			out = append(out, m)
		}
		return out
	}
	return lean(o)
}
