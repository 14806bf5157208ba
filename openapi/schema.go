package openapi

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// schemas converts the schemas of one tool to JSON Schema 2020-12. References
// become references to definitions of the tool's own, which settle writes out in
// place where that costs nothing.
type schemas struct {
	doc    *Document
	defs   map[string]*definition // by reference
	byName map[string]*definition // by their own name
	// wider counts what was converted to something that accepts more.
	wider int
	// depth is how deep the schema being converted is nested, references followed.
	depth, deepest int
	// dangling are references that lead nowhere.
	dangling []string
}

type definition struct {
	name   string
	schema object
	done   bool // false while it is being converted: it is recursive
	wider  bool // it accepts more than the document's
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

// maxSchemaDepth bounds how deep schemas nest, references followed; an operation with
// one beyond it is left out.
const maxSchemaDepth = 1000

// unknown are keywords that constrain a value and are not published.
var unknown = []string{
	"contains", "minContains", "maxContains", "if", "then", "else", "dependencies", "dependentRequired", "dependentSchemas",
	"unevaluatedItems", "unevaluatedProperties", "additionalItems", "$dynamicRef", "$recursiveRef",
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
	s.depth++
	defer func() { s.depth-- }()
	if s.deepest = max(s.deepest, s.depth); s.depth > maxSchemaDepth {
		return object{}
	}
	out := object{}
	for _, key := range unknown {
		if get(n, key) != nil {
			s.wider++
		}
	}
	for _, key := range keywords {
		if v := get(n, key); v != nil {
			if key == "oneOf" && get(n, "anyOf") == nil {
				// Of open objects often two fit, although one is meant, and then
				// no argument would do. The API decides.
				key = "anyOf"
				s.wider++
			}
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
	if enum, listed := get(n, "enum"), get(n, "items"); slices.Equal(typesOf(out), []string{"array"}) && enum != nil && listed != nil && get(listed, "enum") == nil {
		if _, own := out.get("enum"); !own { // what is listed is meant of the elements
			inner := s.top(listed)
			if values := s.enum(listed, enum); values != nil && len(typesOf(inner)) > 0 && typesOf(inner)[0] != "array" {
				inner.set("enum", values)
				out.set("items", ordered(inner))
			}
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
		if values := s.enum(n, v); values != nil {
			return values
		}
		return nil
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		bound, _ := number(v, false).(json.RawMessage)
		if size, err := strconv.ParseFloat(string(bound), 64); bound == nil || key == "multipleOf" && (err != nil || size <= 0) {
			return nil
		}
		return bound
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
			s.wider++
			return nil
		}
		return v.Value
	case "items":
		if v.Kind == yaml.SequenceNode {
			return nil
		}
		return s.convert(v)
	case "not":
		// What is refused would grow with all that the inner schema accepts too much.
		before := s.wider
		if inner := s.convert(v); s.wider == before {
			return inner
		}
		return nil
	case "propertyNames":
		return s.convert(v)
	case "additionalProperties":
		for pattern := range members(get(n, "patternProperties")) {
			if _, err := regexp.Compile(pattern); err != nil {
				return nil // what the pattern lets in must not count as additional
			}
		}
		switch {
		case v.Kind == yaml.ScalarNode && (v.Value == "true" || v.Value == "false"):
			return v.Value == "true"
		case v.Kind != yaml.MappingNode:
			return nil
		}
		return s.convert(v)
	case "properties":
		out := object{}
		for name, p := range members(v) {
			if s.readOnly(p) {
				s.wider++
				continue
			}
			out.set(name, s.convert(p))
		}
		return out
	case "patternProperties":
		out := object{}
		for pattern, p := range members(v) {
			if _, err := regexp.Compile(pattern); err != nil {
				s.wider++
				continue
			}
			out.set(pattern, s.convert(p))
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
		list := s.list(v)
		if len(list) == 0 {
			return nil
		}
		if key == "anyOf" || key == "oneOf" {
			s.discriminate(n, items(v), list)
		}
		return list
	}
	panic("openapi: no rendering for keyword " + key)
}

func (s *schemas) list(v *yaml.Node) []any {
	var out []any
	for _, e := range items(v) {
		out = append(out, s.convert(e))
	}
	return out
}

// readOnly reports a property that only answers have. Where one branch of an allOf
// says so and another requires the property, it stays required without being
// described: that is how references to existing things are written.
func (s *schemas) readOnly(p *yaml.Node) bool {
	if isTrue(get(p, "readOnly")) {
		return true
	}
	target, err := s.doc.resolve(p)
	return err == nil && isTrue(get(target, "readOnly"))
}

// reference renders a reference to a definition of the tool's own.
func (s *schemas) reference(n *yaml.Node, ref string) object {
	def, ok := s.defs[ref]
	if !ok {
		target, err := s.doc.lookup(ref)
		if err != nil {
			s.wider++
			s.dangling = append(s.dangling, ref)
			return object{}
		}
		if s.defs == nil {
			s.defs, s.byName = map[string]*definition{}, map[string]*definition{}
		}
		def = &definition{name: s.defName(ref)}
		s.defs[ref], s.byName[def.name] = def, def
		before := s.wider
		def.schema = s.convert(target)
		def.done, def.wider = true, s.wider > before
	}
	if def.wider || !def.done {
		s.wider++
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
	if s.byName[name] != nil {
		return name + "_" + hash8(ref)
	}
	return name
}

// definition is the schema that a converted reference stands for, or o itself.
func (s *schemas) definition(o object) (object, bool) {
	ref, ok := o.get("$ref")
	if !ok {
		return o, true
	}
	if d := s.byName[strings.TrimPrefix(ref.(string), "#/$defs/")]; d != nil {
		return d.schema, d.done
	}
	return o, false
}
