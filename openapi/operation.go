package openapi

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// operation is one operation of the document, references resolved.
type operation struct {
	id, method, path     string
	tags                 []string
	deprecated           bool
	ownServers           bool // it, or its path, names servers of its own
	summary, description string
	params               []*parameter
	bodies               []mediaType // in the document's order
	bodyRequired         bool
	bodyStated           bool   // the document says whether it is required
	bodyText             string // its description
	security             []requirement
	responses            []response
	x                    operationExtension
}

// where names the operation in errors.
func (o *operation) where() string { return strings.ToUpper(o.method) + " " + o.path }

// sent is the path as it is sent: a fragment only tells apart operations of one
// path, and never leaves a client (RFC 3986, section 3.5).
func (o *operation) sent() string {
	path, _, _ := strings.Cut(o.path, "#")
	return path
}

type parameter struct {
	name, in    string
	required    bool
	description string
	schema      *yaml.Node
	style       string
	explode     bool
	reserved    bool // allowReserved
	content     bool // the value is JSON text: a parameter with content
	example     *yaml.Node
}

// mediaType is one way to write a body.
type mediaType struct {
	name     string
	schema   *yaml.Node
	encoding *yaml.Node // of a form's parts
	example  *yaml.Node
}

// requirement is a set of security schemes that together let a request in, each
// with the scopes it needs.
type requirement []schemeScopes

type schemeScopes struct {
	scheme string
	scopes []string
}

type response struct {
	status      string // "404" or "default"
	description string
	mediaType   string
	example     *yaml.Node
}

var methods = []string{"get", "head", "post", "put", "patch", "delete", "options"}

// LeftOut is an operation that does not become a tool, and why.
type LeftOut struct {
	Operation string `json:"operation"`
	Reason    string `json:"reason"`
}

// operations lists the exposed operations in the document's order. One that
// cannot be read is left out and stops nothing.
// A mistake in x-mcp is an error all the same: somebody meant something by it.
func (d *Document) operations() (ops []*operation, left []LeftOut, err error) {
	for path, item := range members(get(d.root, "paths")) {
		resolved, err := d.pathItem(item)
		if err == nil && !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "x-") {
			err = errors.New("the path does not begin with a slash")
		}
		if err != nil {
			if d.filter.zero() {
				left = append(left, LeftOut{path, err.Error()})
			}
			continue
		}
		for method, n := range members(resolved) {
			if d.filter.zero() {
				left = append(left, unsupported(path, method, n)...)
			}
			if !slices.Contains(methods, method) {
				continue
			}
			if !d.filter.lets(n, method, path) {
				continue
			}
			op, err := d.operation(path, method, resolved, n)
			var mistake *extensionError
			if errors.As(err, &mistake) {
				return nil, nil, fmt.Errorf("%s %s (line %d): %w", strings.ToUpper(method), path, n.Line, err)
			}
			if err != nil {
				reason := err.Error()
				if !strings.HasPrefix(reason, "line ") {
					reason = fmt.Sprintf("line %d: %s", n.Line, reason)
				}
				left = append(left, LeftOut{strings.ToUpper(method) + " " + path, reason})
				continue
			}
			if op.x.Expose == nil || *op.x.Expose {
				ops = append(ops, op)
			}
		}
	}
	return ops, left, nil
}

// pathItem follows the reference that a path item may be; what stands beside the
// reference is added (OpenAPI 3.1, Path Item Object, "$ref").
func (d *Document) pathItem(item *yaml.Node) (*yaml.Node, error) {
	target, err := d.resolve(item)
	if err != nil || target == item {
		return item, err
	}
	merged := omit(item, "$ref")
	mergeInto(merged, target)
	return merged, nil
}

// unsupported lists operations that are none of a gateway's: TRACE must carry no
// credential (RFC 9110, section 9.3.8), and OpenAPI 3.2's further methods have no
// place in a client generated for the usual ones.
func unsupported(path, method string, n *yaml.Node) (left []LeftOut) {
	switch method {
	case "trace", "query":
		left = append(left, LeftOut{strings.ToUpper(method) + " " + path, fmt.Sprintf("line %d: the method %s is not supported", n.Line, strings.ToUpper(method))})
	case "additionalOperations":
		for name, op := range members(n) {
			left = append(left, LeftOut{name + " " + path, fmt.Sprintf("line %d: the method %s is not supported", op.Line, name)})
		}
	}
	return left
}

func (d *Document) operation(path, method string, item, n *yaml.Node) (*operation, error) {
	op := &operation{
		// {id?} marks a segment that some routers can do without; a tool names it.
		id: text(get(n, "operationId")), method: method, path: strings.ReplaceAll(path, "?}", "}"),
		summary: text(get(n, "summary")), description: text(get(n, "description")),
		tags: strs(get(n, "tags")), deprecated: isTrue(get(n, "deprecated")),
		ownServers: len(items(get(n, "servers")))+len(items(get(item, "servers"))) > 0,
	}
	if _, query, _ := strings.Cut(op.sent(), "?"); strings.Contains(query, "{") {
		return nil, errors.New("the path's query names a parameter; only its segments can")
	}
	names := templateNames(op.sent())
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("the path has two places for {%s}", name)
		}
	}
	err := extension(n, &op.x)
	if err == nil {
		err = op.x.check()
	}
	if err != nil {
		return nil, &extensionError{err}
	}
	for _, list := range []*yaml.Node{get(item, "parameters"), get(n, "parameters")} {
		for _, ref := range items(list) {
			p, err := d.resolve(ref)
			if err != nil {
				return nil, err
			}
			if about := get(ref, "description"); p != ref && about != nil { // 3.1: it counts beside a reference
				p = omit(p, "description")
				p.Content = append(p.Content, scalar("description"), about)
			}
			if d.swagger2 {
				err = d.swaggerParameter(op, n, p)
			} else {
				err = d.parameter(op, p)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	op.agreeWithPath()
	if !d.swagger2 {
		if err := d.requestBody(op, get(n, "requestBody")); err != nil {
			return nil, err
		}
	}
	security := get(n, "security")
	if security == nil {
		security = get(d.root, "security")
	}
	for _, alternative := range items(security) {
		r := requirement{}
		for scheme, scopes := range members(alternative) {
			r = append(r, schemeScopes{scheme, strs(scopes)})
		}
		op.security = append(op.security, r)
	}
	op.responses = d.responses(get(n, "responses"))
	return op, nil
}

// statusPattern is a key of responses that is one (OpenAPI 3.1, Responses Object).
var statusPattern = regexp.MustCompile(`^([1-5]([0-9][0-9]|XX)|default)$`)

// responses reads what the pages say of answers. A fault there stops nothing.
func (d *Document) responses(n *yaml.Node) []response {
	var out []response
	for status, r := range members(n) {
		r, err := d.resolve(r)
		if err != nil || !statusPattern.MatchString(status) {
			continue
		}
		resp := response{status: status, description: strings.Join(strings.Fields(text(get(r, "description"))), " ")}
		for mediaType, content := range members(get(r, "content")) {
			resp.mediaType, resp.example = mediaType, get(content, "example")
			break
		}
		out = append(out, resp)
	}
	slices.SortStableFunc(out, func(a, b response) int { return strings.Compare(a.status, b.status) })
	return out
}

// parameter adds one, in place of a path-level parameter of the same name and location.
func (d *Document) parameter(op *operation, n *yaml.Node) error {
	p := &parameter{
		name: text(get(n, "name")), in: text(get(n, "in")), required: isTrue(get(n, "required")),
		description: text(get(n, "description")), schema: get(n, "schema"), example: get(n, "example"),
		style: text(get(n, "style")), reserved: isTrue(get(n, "allowReserved")),
	}
	switch p.in {
	case "path", "header":
		p.style = orElse(p.style, "simple")
	case "query", "cookie":
		p.style = orElse(p.style, "form")
		if p.in == "cookie" && p.style == "cookie" { // OpenAPI 3.2: form, as a cookie is written
			p.style = "form"
		}
	default:
		return fmt.Errorf("parameter %q is in %q; expected path, query, header or cookie", p.name, p.in)
	}
	p.explode = p.style == "form" || p.style == "deepObject"
	if e := get(n, "explode"); e != nil {
		p.explode = isTrue(e)
	}
	if _, known := styles[p.style]; !known {
		return fmt.Errorf("parameter %q has the style %q", p.name, p.style)
	}
	for mediaType, content := range members(get(n, "content")) {
		content, err := d.resolve(content)
		if err != nil {
			return err
		}
		p.content, p.schema = isJSON(mediaType), get(content, "schema")
		break
	}
	return op.add(p)
}

// ownHeaders are sent by the gateway itself or not at all: three that are no
// parameters (OpenAPI 3.1, Parameter Object), and those that steer the connection.
var ownHeaders = []string{
	"accept", "content-type", "authorization",
	"accept-encoding", "connection", "content-length", "cookie", "expect", "host", "keep-alive", "proxy-authorization",
	"proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "user-agent",
}

// add puts a parameter into the operation.
func (o *operation) add(p *parameter) error {
	if p.name == "" {
		return fmt.Errorf("a parameter in %s has no name", p.in)
	}
	if p.in == "header" {
		if slices.Contains(ownHeaders, strings.ToLower(p.name)) {
			return nil
		}
		if !isHeaderName(p.name) {
			return fmt.Errorf("%q is no name of a header", p.name)
		}
	}
	p.required = p.required || p.in == "path"
	for i, q := range o.params {
		if q.name == p.name && q.in == p.in {
			o.params[i] = p
			return nil
		}
	}
	o.params = append(o.params, p)
	return nil
}

// agreeWithPath makes the template and the declared path parameters agree: what
// only the template names is a string, what it does not name is not sent.
func (o *operation) agreeWithPath() {
	names := templateNames(o.sent())
	for _, p := range o.params {
		// {DefinitionId} is the parameter definitionId.
		i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, p.name) })
		if p.in == "path" && i >= 0 && !slices.Contains(names, p.name) {
			p.name = names[i]
		}
	}
	o.params = slices.DeleteFunc(o.params, func(p *parameter) bool { return p.in == "path" && !slices.Contains(names, p.name) })
	for _, name := range names {
		if !slices.ContainsFunc(o.params, func(p *parameter) bool { return p.in == "path" && p.name == name }) {
			o.params = append(o.params, &parameter{name: name, in: "path", required: true, style: "simple", schema: mapping("type", scalar("string"))})
		}
	}
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
	op.bodyRequired, op.bodyText = isTrue(get(n, "required")), text(get(n, "description"))
	op.bodyStated = get(n, "required") != nil
	for name, content := range members(get(n, "content")) {
		if content, err = d.resolve(content); err != nil { // OpenAPI 3.2: media types can be referred to
			return err
		}
		op.bodies = append(op.bodies, mediaType{name: name, schema: get(content, "schema"), encoding: get(content, "encoding"), example: get(content, "example")})
	}
	return nil
}

func isJSON(mediaType string) bool {
	base := baseType(mediaType)
	return base == "application/json" || strings.HasSuffix(base, "+json") || base == "text/json" || base == "*/*"
}

// baseType is a media type without parameters, in lower case.
func baseType(mediaType string) string {
	base, _, _ := strings.Cut(mediaType, ";")
	return strings.ToLower(strings.TrimSpace(base))
}

func orElse(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
