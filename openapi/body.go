package openapi

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// body says how the arguments that belong to the body become one.
type body struct {
	whole      bool // the body is one argument, else its properties are arguments
	mediaTypes []string
	parts      []part // of a form, where they are not written in the default way
}

// part is one field of a form that is written in a way of its own (OpenAPI 3.1,
// Encoding Object).
type part struct {
	key         string
	style       string
	explode     bool
	contentType string
	file        bool // base64 in the argument, bytes in the form
}

// kind is how a media type is written: json, form, multipart, text or binary.
func kind(name string) string {
	base := baseType(name)
	switch {
	case isJSON(name):
		return "json"
	case base == "application/x-www-form-urlencoded":
		return "form"
	case strings.HasPrefix(base, "multipart/"):
		return "multipart"
	case strings.HasPrefix(base, "text/"), strings.HasSuffix(base, "+xml"), strings.HasSuffix(base, "+yaml"),
		slices.Contains([]string{"application/xml", "application/yaml", "application/x-yaml", "application/x-ndjson", "application/jsonl", "application/graphql"}, base):
		return "text"
	}
	return "binary"
}

// contentTypeArgument is the argument that chooses among several media types.
const contentTypeArgument = "content_type"

// addBody makes the body's properties arguments of their own where that loses
// nothing, else the whole body one argument.
func (t *tool) addBody(s *schemas) error {
	if len(t.bodies) == 0 {
		return nil
	}
	main := t.bodies[max(0, slices.IndexFunc(t.bodies, func(m mediaType) bool { return kind(m.name) == "json" }))]
	if strings.ContainsFunc(main.name, func(r rune) bool { return r < ' ' || r > '~' }) {
		return fmt.Errorf("the request body has the media type %q", main.name)
	}
	t.body = &body{mediaTypes: []string{concrete(main.name)}}
	others := t.alternatives(main)
	schema := s.body(main)
	if others != nil {
		t.anyBody(s, schema, main, others)
		return nil
	}
	properties, _ := schema.get("properties")
	props, _ := properties.(object)
	req, _ := schema.get("required")
	names, _ := req.([]string)
	// A required property that is not listed has no argument to be given in. One
	// that is not published, because only answers have it, is not asked for.
	unlisted := slices.ContainsFunc(names, func(name string) bool {
		_, listed := props.get(name)
		return !listed && !s.readOnly(s.property(main.schema, name))
	})
	if form, isForm := t.form(); isForm {
		props = t.addParts(s, main, form, props)
	}
	// One that may be left out asks for nothing of its own.
	optional := !t.bodyRequired && len(names) > 0 && (t.bodyStated || !takesBody(t.method))
	if unlisted || optional || !t.flattens(schema, props) {
		if len(props) > 0 {
			schema.set("properties", props)
		}
		t.wholeBody(s, schema, main)
		return nil
	}
	for _, p := range props {
		schema := p.value.(object)
		source := s.property(main.schema, p.key)
		t.args = append(t.args, &argument{name: p.key, key: p.key, in: "body", required: slices.Contains(names, p.key),
			schema: schema, sendNull: s.declaresNull(schema), example: get(source, "example")})
	}
	return nil
}

// form is the first of the media types offered that is a form.
func (t *tool) form() (mediaType, bool) {
	for _, m := range t.bodies {
		if k := kind(m.name); (k == "form" || k == "multipart") && slices.Contains(t.body.mediaTypes, concrete(m.name)) {
			return m, true
		}
	}
	return mediaType{}, false
}

// wholeBody makes the body one argument.
func (t *tool) wholeBody(s *schemas, schema object, main mediaType) {
	t.body.whole = true
	name := "body"
	if slices.ContainsFunc(t.args, func(a *argument) bool { return a.name == name }) {
		name = "request_body"
	}
	if d, _ := schema.get("description"); d == nil && t.bodyText != "" {
		schema = slices.Clone(schema)
		schema.set("description", shortenText(t.bodyText, maxText))
		schema = ordered(schema)
	}
	t.args = append(t.args, &argument{name: name, key: "body", in: "body", required: t.bodyRequired, schema: schema,
		sendNull: s.declaresNull(schema), example: main.example})
}

// alternatives offers the further media types that carry the same schema and are
// written of the same arguments, and returns those that carry another one.
func (t *tool) alternatives(main mediaType) (others []mediaType) {
	spelled := func(n *yaml.Node) string {
		if n == nil {
			return ""
		}
		return string(appendJSON(nil, nodeJSON(n)))
	}
	holdsMembers := func(k string) bool { return k == "json" || k == "form" || k == "multipart" }
	for _, m := range t.bodies {
		name := concrete(m.name)
		alike := kind(m.name) == kind(main.name) || holdsMembers(kind(m.name)) && holdsMembers(kind(main.name))
		switch {
		case slices.Contains(t.body.mediaTypes, name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }):
		case spelled(m.schema) != spelled(main.schema):
			others = append(others, m)
			t.body.mediaTypes = append(t.body.mediaTypes, name)
		case alike:
			t.body.mediaTypes = append(t.body.mediaTypes, name)
		}
	}
	if len(t.body.mediaTypes) < 2 {
		return nil
	}
	values := make([]any, len(t.body.mediaTypes))
	for i, name := range t.body.mediaTypes {
		values[i] = data(scalar(name))
	}
	t.args = append(t.args, &argument{name: contentTypeArgument, key: contentTypeArgument, in: "contentType",
		schema: object{{"type", "string"}, {"description", "How the body is written; " + t.body.mediaTypes[0] + " when left out."}, {"enum", values}}})
	return others
}

// body is the schema of what is given for a body of a media type.
func (s *schemas) body(m mediaType) object {
	schema := s.top(m.schema)
	structuredBody := slices.ContainsFunc(typesOf(schema), structured)
	switch kind(m.name) {
	case "text":
		// A number or a boolean is text as well; what has members is text that
		// somebody else has written.
		if structuredBody || len(typesOf(schema)) == 0 {
			return object{{"type", "string"}}
		}
	case "binary":
		// What the document describes as an object or a list is JSON, whatever its
		// media type is called.
		if isFile(m.schema) || !structuredBody {
			return object{{"type", "string"}, {"contentEncoding", "base64"}}
		}
	}
	return schema
}

// anyBody makes the body one argument, of a schema for each media type.
func (t *tool) anyBody(s *schemas, schema object, main mediaType, others []mediaType) {
	described := func(m mediaType, schema object) object {
		schema = slices.Clone(schema)
		if k := kind(m.name); k == "form" || k == "multipart" {
			properties, _ := schema.get("properties")
			if props, ok := properties.(object); ok {
				schema.set("properties", t.addParts(s, m, m, props))
			}
		}
		about, _ := schema.get("description")
		text, _ := about.(string)
		schema.set("description", shortenText(strings.TrimSpace("With content_type "+concrete(m.name)+". "+text), maxText))
		return ordered(schema)
	}
	alternatives := []any{described(main, schema)}
	for _, m := range others {
		alternatives = append(alternatives, described(m, s.body(m)))
	}
	t.wholeBody(s, object{{"anyOf", alternatives}}, main)
}

// concrete is a media type that can be sent for one that may be a range.
func concrete(name string) string {
	switch base := baseType(name); {
	case base == "*/*":
		return "application/json"
	case strings.HasSuffix(base, "/*"):
		return "application/octet-stream"
	}
	return name
}

// property is the document's schema of one property of a body.
func (s *schemas) property(schema *yaml.Node, key string) *yaml.Node {
	seen := map[*yaml.Node]bool{} // allOf can lead back to where it began
	var find func(*yaml.Node) *yaml.Node
	find = func(n *yaml.Node) *yaml.Node {
		source, err := s.doc.resolve(n)
		if err != nil || seen[source] {
			return nil
		}
		seen[source] = true
		found := get(source, "properties", key)
		for _, branch := range items(get(source, "allOf")) {
			if found == nil {
				found = find(branch)
			}
		}
		return found
	}
	if resolved, err := s.doc.resolve(find(schema)); err == nil {
		return resolved
	}
	return nil
}

// structured reports a type whose values hold others.
func structured(name string) bool { return name == "object" || name == "array" }

// takesBody reports a method whose requests are not much without a body, so that a
// document that does not say whether it is required means that it is.
func takesBody(method string) bool { return method == "post" || method == "put" || method == "patch" }

// isFile reports a schema of raw bytes.
func isFile(source *yaml.Node) bool {
	return text(get(source, "type")) == "file" || text(get(source, "format")) == "binary" || text(get(source, "format")) == "file" ||
		get(source, "contentMediaType") != nil && get(source, "contentEncoding") == nil
}

// file reports the schema of a file in a form, or of several: of each alternative but
// null.
func (s *schemas) file(source *yaml.Node, depth int) (file, several bool) {
	source, err := s.doc.resolve(source)
	if err != nil || source == nil || depth > maxFileDepth {
		return false, false
	}
	if isFile(source) {
		return true, false
	}
	if of := get(source, "items"); of != nil {
		file, _ = s.file(of, depth+1)
		return file, file
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		for _, branch := range items(get(source, key)) {
			if text(get(branch, "type")) == "null" {
				continue
			}
			one, many := s.file(branch, depth+1)
			if !one && key != "allOf" {
				return false, false
			}
			file, several = file || one, several || many
		}
	}
	return file, several
}

// maxFileDepth bounds how deep alternatives are searched for files.
const maxFileDepth = 5

// addParts notes how a form writes its fields, and returns their schemas.
func (t *tool) addParts(s *schemas, main, form mediaType, props object) object {
	props = slices.Clone(props)
	for i, p := range props {
		encoding := get(form.encoding, p.key)
		if s.doc.openapi30 && kind(form.name) == "multipart" {
			encoding = omit(encoding, "style", "explode") // OpenAPI 3.0 ignores them there
		}
		props[i].value = t.addPart(s, p.value.(object), s.property(main.schema, p.key), encoding, p.key, form.name == main.name)
	}
	return props
}

// addPart notes how a form writes one field, and returns its schema: a file is
// base64 in the argument, if the form is the main media type.
func (t *tool) addPart(s *schemas, schema object, source, encoding *yaml.Node, key string, main bool) object {
	p := part{key: key, style: text(get(encoding, "style")), contentType: text(get(encoding, "contentType"))}
	p.explode = p.style == "" || p.style == "form" || p.style == "deepObject"
	if e := get(encoding, "explode"); e != nil {
		p.explode = isTrue(e)
	}
	if file, several := s.file(source, 0); file && main {
		p.file = true
		schema = object{{"type", "string"}, {"contentEncoding", "base64"}}
		if several {
			schema = object{{"type", "array"}, {"items", schema}}
		}
		if d := shortenText(text(get(source, "description")), maxText); d != "" {
			schema = append(object{schema[0], {"description", d}}, schema[1:]...)
		}
	}
	if p.file || p.style != "" || p.contentType != "" || !p.explode {
		if _, known := styles[p.style]; !known {
			p.style = "form"
		}
		t.body.parts = append(t.body.parts, p)
	}
	return schema
}

func (t *tool) flattens(schema, props object) bool {
	if types := typesOf(schema); len(props) == 0 || len(types) > 1 || len(types) == 1 && types[0] != "object" {
		return false
	}
	for _, m := range schema {
		switch m.key {
		case "type", "description", "properties", "required":
		case "additionalProperties":
			if m.value != false {
				return false
			}
		default: // a rule about the object as a whole
			return false
		}
	}
	return !slices.ContainsFunc(props, func(p member) bool {
		return slices.ContainsFunc(t.args, func(a *argument) bool { return a.name == p.key })
	})
}
