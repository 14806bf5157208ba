package openapi

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// schema is a JSON Schema as read, never changed once it is known to a side.
type schema map[string]any

// anything and nothing are what true and false are written as.
var (
	anything = schema{}
	nothing  = schema{"not": map[string]any{}}
)

// id tells schemas apart that look the same: recursion is found by it.
func (s schema) id() uintptr { return reflect.ValueOf(s).Pointer() }

func (s schema) list(key string) []any {
	list, _ := s[key].([]any)
	return list
}

func (s schema) schemas(key string) map[string]any {
	m, _ := s[key].(map[string]any)
	return m
}

func (s schema) names(key string) []string {
	var out []string
	for _, v := range s.list(key) {
		if name, ok := v.(string); ok {
			out = append(out, name)
		}
	}
	return out
}

// constrains reports a keyword that refuses something.
func constrains(key string) bool {
	return key != "default" && key != "$defs" && !slices.Contains(annotationKeywords, key)
}

// soleCombiner is anyOf, oneOf or allOf if that is the only constraint.
func (s schema) soleCombiner() string {
	sole := ""
	for key := range s {
		if constrains(key) {
			if sole != "" || key != "anyOf" && key != "oneOf" && key != "allOf" || s.list(key) == nil {
				return ""
			}
			sole = key
		}
	}
	return sole
}

// side is one version of a tool's arguments.
type side struct {
	root     any
	expanded map[uintptr]schema
	stripped map[uintptr]schema
}

func newSide(root any) *side {
	return &side{root: root, expanded: map[uintptr]schema{}, stripped: map[uintptr]schema{}}
}

// expand is a schema with what has several spellings brought to one: references
// are followed, combiners of one branch are that branch, and a choice between a
// schema and null is a schema that allows null.
func (s *side) expand(v any) schema {
	var in schema
	switch v := v.(type) {
	case nil:
		return anything
	case bool:
		if v {
			return anything
		}
		return nothing
	case map[string]any:
		in = v
	case schema:
		in = v
	default:
		in = schema{"no schema": v} // equal only to the same
	}
	if out, ok := s.expanded[in.id()]; ok {
		return out
	}
	s.expanded[in.id()] = in // a reference that leads back to itself stays as it is
	out := s.withoutNull(s.follow(in))
	s.expanded[in.id()], s.expanded[out.id()] = out, out
	return out
}

func (s *side) follow(in schema) schema {
	if ref, ok := in["$ref"].(string); ok {
		if target, ok := s.lookup(ref); ok {
			return overlaid(s.expand(target), in, "$ref")
		}
		return in
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		if list := in.list(key); len(list) == 1 {
			return overlaid(s.expand(list[0]), in, key)
		}
	}
	return in
}

// overlaid is the target with what else the schema says that refers to it by key.
func overlaid(target, in schema, key string) schema {
	rest := schema{}
	constrained := false
	for k, v := range in {
		if k != key && k != "$defs" {
			rest[k] = v
			constrained = constrained || constrains(k)
		}
	}
	if constrained { // both hold, each by itself
		return schema{"allOf": []any{map[string]any(target), map[string]any(rest)}}
	}
	if len(rest) == 0 {
		return target
	}
	out := maps.Clone(target)
	maps.Copy(out, rest)
	return out
}

// withoutNull writes the choice between a plain schema and null as its type.
func (s *side) withoutNull(in schema) schema {
	list := in.list("anyOf")
	if in.soleCombiner() != "anyOf" || len(list) != 2 {
		return in
	}
	for i, v := range list {
		null, other := s.bare(s.expand(v)), s.expand(list[1-i])
		if len(null) != 1 || null["type"] != "null" || other["type"] == nil || slices.ContainsFunc([]string{"const", "not", "allOf", "anyOf", "oneOf", "$ref"}, func(k string) bool { return has(other, k) }) {
			continue
		}
		out := maps.Clone(other)
		out["type"] = append(typeNames(other["type"]), "null")
		if has(other, "enum") {
			out["enum"] = append(slices.Clone(other.list("enum")), nil)
		}
		for key, v := range in {
			if key != "anyOf" {
				out[key] = v
			}
		}
		return out
	}
	return in
}

// lookup finds what a reference within the schema points to.
func (s *side) lookup(ref string) (any, bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && pointer[0] != '/' {
		return nil, false
	}
	v := s.root
	for _, part := range strings.Split(unescapeFragment(pointer), "/")[1:] {
		part = pointerUnescaper.Replace(part)
		switch at := v.(type) {
		case map[string]any:
			if v, ok = at[part]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// bare is a schema without what only informs.
func (s *side) bare(in schema) schema {
	if out, ok := s.stripped[in.id()]; ok {
		return out
	}
	out := in
	for key := range in {
		if !constrains(key) {
			out = maps.Clone(in)
			maps.DeleteFunc(out, func(k string, _ any) bool { return !constrains(k) })
			break
		}
	}
	s.stripped[in.id()], s.stripped[out.id()] = out, out
	s.expanded[out.id()] = out
	return out
}

// isNever reports a schema that plainly refuses everything.
func (s *side) isNever(in schema) bool {
	not, ok := in["not"]
	if !ok {
		return false
	}
	for key := range s.expand(not) {
		if constrains(key) {
			return false
		}
	}
	return true
}

// types are those of the values that a schema accepts.
func (s *side) types(in schema) typeSet {
	values, ok := in.values()
	if !ok {
		return in.declaredTypes()
	}
	var set typeSet
	for _, v := range values {
		set |= typeOf(v)
	}
	return set
}

// disjoint reports that no value can match two of the schemas: their types differ.
func (s *side) disjoint(list []any) bool {
	var seen typeSet
	for _, v := range list {
		set := s.types(s.expand(v))
		if set&seen != 0 {
			return false
		}
		seen |= set
	}
	return true
}
