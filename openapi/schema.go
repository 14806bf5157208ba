package openapi

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxText bounds a description inside a schema, maxDescription that of a tool:
// every conversation pays for them.
const (
	maxText        = 400
	maxDescription = 1024
)

// schemas converts schemas of a document to JSON Schema 2020-12. The result is
// self-contained: references are written out, and those that recur on their own
// path move to $defs.
type schemas struct {
	doc  *Document
	defs object
	open []string // references being written out
}

// keywords are what a published schema may hold, in the order it holds them; it
// is the closed set that the gateway's validator knows.
var keywords = []string{
	"type", "description", "format", "enum", "const", "default",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"minLength", "maxLength", "pattern", "contentEncoding",
	"items", "prefixItems", "minItems", "maxItems", "uniqueItems",
	"properties", "patternProperties", "required", "additionalProperties", "propertyNames", "minProperties", "maxProperties",
	"allOf", "anyOf", "oneOf", "not",
}

// convert renders one schema. A schema without constraints is the empty object.
func (s *schemas) convert(n *yaml.Node) (object, error) {
	if n == nil {
		return object{}, nil
	}
	if n.Kind == yaml.ScalarNode { // a boolean schema
		if isTrue(n) {
			return object{}, nil
		}
		return object{{"not", object{}}}, nil
	}
	if ref := get(n, "$ref"); ref != nil {
		return s.reference(n, ref.Value)
	}
	out := object{}
	for _, key := range keywords {
		v := get(n, key)
		if v == nil {
			continue
		}
		value, err := s.keyword(n, key, v)
		if err != nil {
			return nil, err
		}
		if value != nil {
			out = append(out, member{key, value})
		}
	}
	if isTrue(get(n, "nullable")) { // OpenAPI 3.0
		out = nullable(out)
	}
	if bounds := [2]string{"exclusiveMinimum", "minimum"}; isTrue(get(n, bounds[0])) {
		out = exclusive(out, bounds)
	}
	if bounds := [2]string{"exclusiveMaximum", "maximum"}; isTrue(get(n, bounds[0])) {
		out = exclusive(out, bounds)
	}
	return out, nil
}

func (s *schemas) keyword(n *yaml.Node, key string, v *yaml.Node) (any, error) {
	switch key {
	case "description":
		if t := shortenText(text(v), maxText); t != "" {
			return t, nil
		}
		return nil, nil
	case "exclusiveMinimum", "exclusiveMaximum":
		if v.Tag == "!!bool" { // OpenAPI 3.0: modifies minimum or maximum
			return nil, nil
		}
	case "default":
		if v.Tag == "!!null" {
			return nil, nil
		}
	case "pattern":
		// ECMA-262 patterns that RE2 cannot compile would refuse nothing or
		// everything; the upstream still checks them.
		if _, err := regexp.Compile(v.Value); err != nil {
			return nil, nil
		}
		return v.Value, nil
	case "items", "not", "propertyNames":
		return s.convert(v)
	case "additionalProperties":
		if v.Kind == yaml.ScalarNode {
			return isTrue(v), nil
		}
		return s.convert(v)
	case "properties", "patternProperties":
		out := object{}
		for name, p := range members(v) {
			target, err := s.doc.resolve(p)
			if err != nil {
				return nil, err
			}
			if isTrue(get(target, "readOnly")) || isTrue(get(p, "readOnly")) {
				continue
			}
			converted, err := s.convert(p)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			out = append(out, member{name, converted})
		}
		return out, nil
	case "required":
		var names []string
		for _, name := range strs(v) {
			p, err := s.doc.resolve(get(n, "properties", name))
			if err != nil {
				return nil, err
			}
			if !isTrue(get(p, "readOnly")) {
				names = append(names, name)
			}
		}
		if names == nil {
			return nil, nil
		}
		return names, nil
	case "allOf", "anyOf", "oneOf", "prefixItems":
		out := make([]any, 0, len(items(v)))
		for _, e := range items(v) {
			c, err := s.convert(e)
			if err != nil {
				return nil, err
			}
			out = append(out, c)
		}
		if len(out) == 0 {
			return nil, nil
		}
		return out, nil
	}
	return nodeJSON(v), nil
}

// reference writes the target out in place, or refers to $defs where the target
// is already being written out further up.
func (s *schemas) reference(n *yaml.Node, ref string) (object, error) {
	name := "#/$defs/" + defName(ref)
	if slices.Contains(s.open, ref) {
		if _, ok := s.defs.get(defName(ref)); !ok {
			s.defs.set(defName(ref), nil) // breaks the recursion of the conversion below
			target, err := s.doc.lookup(ref)
			if err != nil {
				return nil, err
			}
			open := s.open
			s.open = []string{ref}
			def, err := s.convert(target)
			s.open = open
			if err != nil {
				return nil, err
			}
			s.defs.set(defName(ref), def)
		}
		return object{{"$ref", name}}, nil
	}
	target, err := s.doc.lookup(ref)
	if err != nil {
		return nil, err
	}
	s.open = append(s.open, ref)
	out, err := s.convert(target)
	s.open = s.open[:len(s.open)-1]
	if err != nil {
		return nil, err
	}
	if d := shortenText(text(get(n, "description")), maxText); d != "" { // 3.1: siblings of $ref count
		out = slices.Clone(out)
		out.set("description", d)
	}
	return out, nil
}

func defName(ref string) string {
	base := ref[strings.LastIndexByte(ref, '/')+1:]
	return camel(base) + "_" + hash8(ref)
}

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
func declaresNull(o object) bool {
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
			if branch, ok := b.(object); ok && declaresNull(branch) {
				return true
			}
		}
	}
	return false
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

// shortenText folds white space and cuts at the last sentence end within the
// limit, else at a word.
func shortenText(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	cut := string(r[:limit])
	if i := strings.LastIndex(cut, ". "); i > limit/3 {
		return cut[:i+1]
	}
	if i := strings.LastIndexByte(cut, ' '); i > 0 {
		cut = cut[:i]
	}
	return cut + "…"
}
