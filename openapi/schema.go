package openapi

import (
	"encoding/json"
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

// schemas converts the schemas of one tool to JSON Schema 2020-12. References
// become references to definitions of the tool's own, which settle writes out in
// place where that costs nothing.
type schemas struct {
	doc  *Document
	defs map[string]*definition // by reference
}

type definition struct {
	name   string
	schema object
	done   bool // false while it is being converted: it is recursive
}

// keywords are what a published schema may hold, in the order it holds them; it
// is the closed set that the gateway's validator knows.
var keywords = []string{
	"$ref", "type", "description", "format", "enum", "const", "default",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"minLength", "maxLength", "pattern", "contentEncoding",
	"items", "prefixItems", "minItems", "maxItems", "uniqueItems",
	"properties", "patternProperties", "required", "additionalProperties", "propertyNames", "minProperties", "maxProperties",
	"allOf", "anyOf", "oneOf", "not",
}

// convert renders one schema. A schema without constraints is the empty object,
// and so is what cannot be understood: the API still checks what it is sent.
func (s *schemas) convert(n *yaml.Node) object {
	if n == nil || n.Kind != yaml.MappingNode {
		if n != nil && n.Tag == "!!bool" && !isTrue(n) {
			return object{{"not", object{}}}
		}
		return object{}
	}
	if ref := get(n, "$ref"); ref != nil {
		return s.reference(n, ref.Value)
	}
	out := object{}
	for _, key := range keywords {
		if v := get(n, key); v != nil {
			if value := s.keyword(n, key, v); value != nil {
				out = append(out, member{key, value})
			}
		}
	}
	if items := get(n, "items"); items != nil && items.Kind == yaml.SequenceNode { // a tuple before 2020-12
		out = append(out, member{"prefixItems", s.list(items)})
	}
	for _, bounds := range [][2]string{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} {
		if isTrue(get(n, bounds[0])) { // OpenAPI 3.0 and Swagger 2.0
			out = exclusive(out, bounds)
		}
	}
	out = s.flattenAllOf(out)
	if isTrue(get(n, "nullable")) || isTrue(get(n, "x-nullable")) {
		out = nullable(out)
	}
	return out
}

// top converts a schema whose own keywords matter to the caller: the reference it
// may be is followed.
func (s *schemas) top(n *yaml.Node) object {
	if resolved, err := s.doc.resolve(n); err == nil {
		n = resolved
	}
	return s.convert(n)
}

// keyword renders the value of one keyword, nil for one that is left out.
func (s *schemas) keyword(n *yaml.Node, key string, v *yaml.Node) any {
	switch key {
	case "$ref":
		return nil // the caller has it
	case "type":
		return types(v)
	case "description":
		if t := shortenText(text(v), maxText); t != "" {
			return t
		}
		return nil
	case "format", "contentEncoding":
		if t := text(v); t != "" {
			return t
		}
		return nil
	case "enum":
		var values []any
		for _, e := range items(v) {
			values = append(values, data(e))
		}
		if values == nil {
			return nil
		}
		return values
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return number(v, false)
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		return number(v, true)
	case "uniqueItems":
		if isTrue(v) {
			return true
		}
		return nil
	case "default":
		if v.Tag == "!!null" {
			return nil
		}
		return data(v)
	case "const":
		return data(v)
	case "pattern":
		// ECMA-262 patterns that RE2 cannot compile would refuse nothing or
		// everything.
		if _, err := regexp.Compile(v.Value); err != nil || v.Kind != yaml.ScalarNode {
			return nil
		}
		return v.Value
	case "items":
		if v.Kind == yaml.SequenceNode {
			return nil
		}
		return s.convert(v)
	case "not", "propertyNames":
		return s.convert(v)
	case "additionalProperties":
		if v.Kind == yaml.ScalarNode {
			return isTrue(v)
		}
		return s.convert(v)
	case "properties":
		out := object{}
		for name, p := range members(v) {
			if !s.readOnly(p) {
				out.set(name, s.convert(p))
			}
		}
		return out
	case "patternProperties":
		out := object{}
		for pattern, p := range members(v) {
			if _, err := regexp.Compile(pattern); err == nil {
				out.set(pattern, s.convert(p))
			}
		}
		return out
	case "required":
		var names []string
		for _, name := range strs(v) {
			if !s.readOnly(get(n, "properties", name)) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if names == nil {
			return nil
		}
		return names
	case "allOf", "anyOf", "oneOf", "prefixItems":
		if list := s.list(v); len(list) > 0 {
			return list
		}
		return nil
	}
	panic("openapi: no rendering for keyword " + key)
}

// data is a value that a schema holds but that is no schema itself.
func data(v *yaml.Node) json.RawMessage { return appendJSON(nil, nodeJSON(v)) }

func (s *schemas) list(v *yaml.Node) []any {
	var out []any
	for _, e := range items(v) {
		out = append(out, s.convert(e))
	}
	return out
}

// readOnly reports a property that only answers have.
func (s *schemas) readOnly(p *yaml.Node) bool {
	if isTrue(get(p, "readOnly")) {
		return true
	}
	target, err := s.doc.resolve(p)
	return err == nil && isTrue(get(target, "readOnly"))
}

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

// reference renders a reference to a definition of the tool's own.
func (s *schemas) reference(n *yaml.Node, ref string) object {
	def, ok := s.defs[ref]
	if !ok {
		target, err := s.doc.lookup(ref)
		if err != nil {
			return object{}
		}
		if s.defs == nil {
			s.defs = map[string]*definition{}
		}
		def = &definition{name: s.defName(ref)}
		s.defs[ref] = def
		def.schema = s.convert(target)
		def.done = true
	}
	out := object{{"$ref", "#/$defs/" + def.name}}
	if d := shortenText(text(get(n, "description")), maxText); d != "" { // 3.1: siblings of $ref count
		out = append(out, member{"description", d})
	}
	return out
}

// defName is the last part of a reference, with a hash if another has the same.
func (s *schemas) defName(ref string) string {
	name := camel(ref[strings.LastIndexByte(ref, '/')+1:])
	for _, d := range s.defs {
		if d.name == name {
			return name + "_" + hash8(ref)
		}
	}
	return name
}

// definition is the schema that a converted reference stands for, or o itself.
func (s *schemas) definition(o object) (object, bool) {
	ref, ok := o.get("$ref")
	if !ok {
		return o, true
	}
	for _, d := range s.defs {
		if "#/$defs/"+d.name == ref {
			return d.schema, d.done
		}
	}
	return o, false
}

// flattenAllOf merges branches that only list properties into the schema itself,
// where that changes nothing: clients show what is listed, and few read allOf.
func (s *schemas) flattenAllOf(o object) object {
	all, ok := o.get("allOf")
	if !ok {
		return o
	}
	own := slices.DeleteFunc(slices.Clone(o), func(m member) bool { return m.key == "allOf" })
	merged := object{}
	for _, branch := range append(slices.Clone(all.([]any)), own) {
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
	if o, _ = s.definition(o); o == nil {
		return false
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
