package openapi

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// operation is one operation of the document, references resolved.
type operation struct {
	id, method, path     string
	tag                  string
	summary, description string
	params               []*parameter
	body                 *yaml.Node // the media type object, or nil
	bodyType             string     // its media type
	bodyRequired         bool
	scopes               []string // all that are needed
	responses            []response
	x                    operationExtension
}

// where names the operation in errors.
func (o *operation) where() string { return strings.ToUpper(o.method) + " " + o.path }

type parameter struct {
	name, in    string
	required    bool
	description string
	schema      *yaml.Node
	style       string
	explode     bool
	example     *yaml.Node
}

type response struct {
	status      string // "404" or "default"
	description string
	mediaType   string
	example     *yaml.Node
}

var methods = []string{"get", "head", "post", "put", "patch", "delete", "options", "trace"}

// operations lists the exposed operations in the document's order.
func (d *Document) operations() ([]*operation, error) {
	var out []*operation
	for path, item := range members(get(d.root, "paths")) {
		item, err := d.resolve(item)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for method, n := range members(item) {
			if !slices.Contains(methods, method) {
				continue
			}
			op, err := d.operation(path, method, item, n)
			if err != nil {
				return nil, fmt.Errorf("%s: %s %s (line %d): %w", d.name, strings.ToUpper(method), path, n.Line, err)
			}
			if op.x.Expose == nil || *op.x.Expose {
				out = append(out, op)
			}
		}
	}
	return out, nil
}

func (d *Document) operation(path, method string, item, n *yaml.Node) (*operation, error) {
	op := &operation{
		id: text(get(n, "operationId")), method: method, path: path,
		summary: text(get(n, "summary")), description: text(get(n, "description")),
	}
	if tags := strs(get(n, "tags")); len(tags) > 0 {
		op.tag = tags[0]
	}
	if err := extension(n, &op.x); err != nil {
		return nil, err
	}
	if err := op.x.check(); err != nil {
		return nil, err
	}
	for _, list := range []*yaml.Node{get(item, "parameters"), get(n, "parameters")} {
		for _, p := range items(list) {
			if err := d.parameter(op, p); err != nil {
				return nil, err
			}
		}
	}
	if err := op.checkPath(); err != nil {
		return nil, err
	}
	if err := d.requestBody(op, get(n, "requestBody")); err != nil {
		return nil, err
	}
	security := get(n, "security")
	if security == nil {
		security = get(d.root, "security")
	}
	for _, requirement := range items(security) {
		for _, scopes := range members(requirement) {
			op.scopes = append(op.scopes, strs(scopes)...)
		}
	}
	for status, r := range members(get(n, "responses")) {
		r, err := d.resolve(r)
		if err != nil {
			continue // what an answer looks like only matters to the pages
		}
		resp := response{status: status, description: strings.Join(strings.Fields(text(get(r, "description"))), " ")}
		for mediaType, content := range members(get(r, "content")) {
			resp.mediaType, resp.example = mediaType, get(content, "example")
			break
		}
		op.responses = append(op.responses, resp)
	}
	slices.SortStableFunc(op.responses, func(a, b response) int { return strings.Compare(a.status, b.status) })
	return op, nil
}

// parameter adds one, in place of a path-level parameter of the same name and location.
func (d *Document) parameter(op *operation, n *yaml.Node) error {
	n, err := d.resolve(n)
	if err != nil {
		return err
	}
	p := &parameter{
		name: text(get(n, "name")), in: text(get(n, "in")), required: isTrue(get(n, "required")),
		description: text(get(n, "description")), schema: get(n, "schema"), example: get(n, "example"),
		style: text(get(n, "style")),
	}
	switch p.in {
	case "path":
		p.required = true
		p.style = orElse(p.style, "simple")
	case "header":
		p.style = orElse(p.style, "simple")
		if slices.Contains([]string{"accept", "content-type", "authorization"}, strings.ToLower(p.name)) {
			return nil // OpenAPI 3.1, Parameter Object: such definitions are ignored
		}
	case "query", "cookie":
		p.style = orElse(p.style, "form")
	default:
		return fmt.Errorf("parameter %q is in %q; expected path, query, header or cookie", p.name, p.in)
	}
	p.explode = p.style == "form"
	if e := get(n, "explode"); e != nil {
		p.explode = isTrue(e)
	}
	if p.name == "" {
		return fmt.Errorf("line %d: parameter has no name", n.Line)
	}
	for i, q := range op.params {
		if q.name == p.name && q.in == p.in {
			op.params[i] = p
			return nil
		}
	}
	op.params = append(op.params, p)
	return nil
}

// checkPath makes the template and the declared path parameters agree.
func (o *operation) checkPath() error {
	names := templateNames(o.path)
	for _, name := range names {
		if !slices.ContainsFunc(o.params, func(p *parameter) bool { return p.in == "path" && p.name == name }) {
			return fmt.Errorf("the path names {%s}, which is not declared as a path parameter", name)
		}
	}
	for _, p := range o.params {
		if p.in == "path" && !slices.Contains(names, p.name) {
			return fmt.Errorf("path parameter %q does not occur in the path", p.name)
		}
	}
	return nil
}

// templateNames lists the parameters of a path template in its order.
func templateNames(path string) []string {
	_, pieces := splitTemplate(path)
	var out []string
	for _, p := range pieces {
		out = append(out, p.name)
	}
	return out
}

func (d *Document) requestBody(op *operation, n *yaml.Node) error {
	if n == nil {
		return nil
	}
	n, err := d.resolve(n)
	if err != nil {
		return err
	}
	op.bodyRequired = isTrue(get(n, "required"))
	for mediaType, content := range members(get(n, "content")) {
		if isJSON(mediaType) && op.body == nil {
			op.body, op.bodyType = content, mediaType
		}
	}
	if op.body == nil {
		return fmt.Errorf("the request body has no JSON media type; set x-mcp.expose to false to leave the operation out")
	}
	return nil
}

func isJSON(mediaType string) bool {
	base, _, _ := strings.Cut(mediaType, ";")
	base = strings.ToLower(strings.TrimSpace(base))
	return base == "application/json" || strings.HasSuffix(base, "+json")
}

func orElse(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
