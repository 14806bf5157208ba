package openapi

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// swaggerParameter adds a parameter of Swagger 2.0, where bodies are parameters too
// and a parameter's schema is the parameter itself.
func (d *Document) swaggerParameter(op *operation, n, p *yaml.Node) error {
	in, required := text(get(p, "in")), isTrue(get(p, "required"))
	switch in {
	case "body":
		op.bodyRequired, op.bodyText = required, text(get(p, "description"))
		op.bodyStated = get(p, "required") != nil
		op.bodies = nil
		for _, name := range d.consumes(n, "application/json") {
			op.bodies = append(op.bodies, mediaType{name: name, schema: get(p, "schema")})
		}
		return nil
	case "formData":
		d.swaggerField(op, n, p)
		op.bodyRequired = op.bodyRequired || required
		return nil
	}
	q := &parameter{
		name: text(get(p, "name")), in: in, required: required, description: text(get(p, "description")),
		schema: p, style: "simple", example: get(p, "x-example"),
	}
	switch in {
	case "path", "header":
		if style, explode := collectionFormat(p); style != "form" && !explode {
			q.style = style
		}
	case "query":
		q.style, q.explode = collectionFormat(p)
	default:
		return fmt.Errorf("parameter %q is in %q; expected path, query, header, body or formData", q.name, in)
	}
	return op.add(q)
}

// collectionFormat is the style of a query parameter or form field of Swagger 2.0,
// where a list is comma-separated unless it says otherwise.
func collectionFormat(p *yaml.Node) (style string, explode bool) {
	format := text(get(p, "collectionFormat"))
	style = map[string]string{"ssv": "spaceDelimited", "tsv": "tabDelimited", "pipes": "pipeDelimited"}[format]
	return orElse(style, "form"), format == "multi" || text(get(p, "type")) != "array"
}

// swaggerField adds a form field to the operation's one body.
func (d *Document) swaggerField(op *operation, n, p *yaml.Node) {
	if len(op.bodies) == 0 {
		name := "application/x-www-form-urlencoded"
		for _, c := range d.consumes(n, name) {
			if strings.HasPrefix(baseType(c), "multipart/") || baseType(c) == name {
				name = c
				break
			}
		}
		op.bodies = []mediaType{{
			name: name, encoding: mapping(),
			schema: mapping("type", scalar("object"), "properties", mapping(), "required", &yaml.Node{Kind: yaml.SequenceNode}),
		}}
	}
	if text(get(p, "type")) == "file" {
		op.bodies[0].name = "multipart/form-data"
	}
	name := scalar(text(get(p, "name")))
	schema := op.bodies[0].schema
	properties := get(schema, "properties")
	properties.Content = append(properties.Content, name, p)
	if style, explode := collectionFormat(p); !explode {
		encoding := op.bodies[0].encoding
		encoding.Content = append(encoding.Content, name, mapping("style", scalar(style), "explode", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "false"}))
	}
	if isTrue(get(p, "required")) {
		list := get(schema, "required")
		list.Content = append(list.Content, name)
	}
}

// consumes lists the media types of an operation's body.
func (d *Document) consumes(n *yaml.Node, fallback string) []string {
	for _, from := range []*yaml.Node{n, d.root} {
		if list := strs(get(from, "consumes")); len(list) > 0 {
			return list
		}
	}
	return []string{fallback}
}

func scalar(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

// mapping makes a mapping of alternating keys and values.
func mapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(pairs); i += 2 {
		n.Content = append(n.Content, scalar(pairs[i].(string)), pairs[i+1].(*yaml.Node))
	}
	return n
}
