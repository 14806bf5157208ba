package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// tool is one row of the catalogue and of the contract, ready to be rendered.
type tool struct {
	*operation
	name, title, about string
	goName             string
	args               []*argument
	body               *body
	auth               *auth
	readOnly           bool
	annotations        object
	inputSchema        object
	dangling           []string // references in it that lead nowhere
	redact             [][]string
}

// api is a document understood: what every rendering is made from.
type api struct {
	doc      *Document
	root     rootExtension
	basePath string
	schemes  map[string]*yaml.Node
	tools    []*tool // by name
	left     []LeftOut
}

func (d *Document) api() (*api, error) {
	a := &api{doc: d, root: rootExtension{ContractVersion: "1.0.0"}}
	if err := extension(d.root, &a.root); err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	a.root.fillIn(get(d.root, "info"))
	if err := a.root.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	a.basePath = d.basePath()
	for part := range strings.SplitSeq(a.basePath, "/") {
		if part = unescapeFragment(part); part == "." || part == ".." || strings.ContainsFunc(part, unicode.IsControl) {
			return nil, fmt.Errorf("%s: the path of the first server is %q, with a dot segment or a control character", d.name, a.basePath)
		}
	}
	a.schemes = map[string]*yaml.Node{}
	for _, at := range [][]string{{"components", "securitySchemes"}, {"securityDefinitions"}} {
		for name, n := range members(get(d.root, at...)) {
			if n, err := d.resolve(n); err == nil {
				a.schemes[name] = n
			}
		}
	}
	ops, left, err := d.operations()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	a.left = left
	if err := d.filter.check(d); err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	for _, op := range ops {
		t, err := a.tool(op)
		if err != nil {
			a.left = append(a.left, LeftOut{op.where(), err.Error()})
			continue
		}
		a.tools = append(a.tools, t)
	}
	if err := a.nameTools(); err != nil {
		return nil, err
	}
	return a, a.checkReferences()
}

// maxServerURL is the length in bytes of a server's URL and of one variable beyond
// which the variable is not filled in; URLs that work are far shorter.
const maxServerURL = 4 << 10

// basePath is what the document's first server appends to the operator's URL.
func (d *Document) basePath() string {
	if d.swagger2 {
		return strings.TrimRight(text(get(d.root, "basePath")), "/")
	}
	servers := items(get(d.root, "servers"))
	if len(servers) == 0 {
		return ""
	}
	url := text(get(servers[0], "url"))
	var variables []string
	for name, v := range members(get(servers[0], "variables")) {
		if value := text(get(v, "default")); len(url)+len(value) <= maxServerURL {
			variables = append(variables, "{"+name+"}", value)
		}
	}
	// In one pass: a variable in the value of a variable could double at each level.
	return serverPath(strings.NewReplacer(variables...).Replace(url))
}

// serverPath is what a server URL appends to the operator's URL: its path.
func serverPath(url string) string {
	rest, relative := strings.CutPrefix(url, "//") // to the scheme
	if _, after, ok := strings.Cut(url, "://"); ok {
		rest, relative = after, true
	}
	if relative {
		_, path, _ := strings.Cut(rest, "/")
		url = "/" + path
	}
	url, _, _ = strings.Cut(url, "?")
	url, _, _ = strings.Cut(url, "#")
	if url = strings.Trim(url, "/"); url == "" || strings.ContainsAny(url, "{}") {
		return ""
	}
	return "/" + url
}

// toolName derives a name from the operationId, else from method and path, else
// from their hash: a name in another script leaves nothing to go by.
func toolName(t *tool) string {
	name := orElse(snake(t.id), snake(t.method+"_"+t.path))
	if t.id != "" && snake(t.id) == "" && snake(t.path) == "" {
		name += "_" + hash8(t.where())
	}
	if name == "readme" { // its page would be the index's on some file systems
		name += "_tool"
	}
	return name
}

// nameTools settles names once all tools are known: verbatim ones as they are,
// derived ones unique and short.
func (a *api) nameTools() error {
	derived, identities, goNames := make([]string, len(a.tools)), make([]string, len(a.tools)), make([]string, len(a.tools))
	for i, t := range a.tools {
		identities[i] = t.method + " " + t.path
		whole := orElse(t.id, t.method+"_"+t.path)
		derived[i] = shorten(toolName(t), whole, maxToolName)
		if goNames[i] = camel(whole); goNames[i] == "Server" || goNames[i] == "Doer" { // the client's fields
			goNames[i] += "Operation"
		}
		if t.x.Tool != "" {
			if !isToolName(t.x.Tool) || strings.EqualFold(t.x.Tool, "README") {
				return fmt.Errorf("%s: %s: x-mcp.tool is %q; expected letters, digits and _ - . only, at most 64", a.doc.name, t.where(), t.x.Tool)
			}
			derived[i] = t.x.Tool
			continue
		}
	}
	names, goNames := unique(derived, "_", identities, maxToolName), unique(goNames, "X", identities, math.MaxInt)
	seen := map[string]string{}
	for i, t := range a.tools {
		t.name, t.goName = names[i], goNames[i]
		if t.x.Tool != "" {
			t.name = t.x.Tool
		}
		if other, ok := seen[t.name]; ok {
			return fmt.Errorf("%s: %s and %s are both named %q; set x-mcp.tool on one of them", a.doc.name, other, t.where(), t.name)
		}
		seen[t.name] = t.where()
		t.title = orElse(shortenText(t.summary, 80), t.name)
		t.about = shortenText(when(t.deprecated, "Deprecated. ")+orElse(t.description, orElse(t.summary, t.where())), maxDescription)
	}
	slices.SortFunc(a.tools, func(x, y *tool) int { return cmp.Compare(x.name, y.name) })
	return nil
}

// checkReferences makes sure that what x-mcp names at the root exists.
func (a *api) checkReferences() error {
	has := func(name string) bool {
		return slices.ContainsFunc(a.tools, func(t *tool) bool { return t.name == name })
	}
	if id := a.root.Identity.Operation; id != "" && !has(id) {
		return fmt.Errorf("%s: x-mcp: identity names %q, which is no tool", a.doc.name, id)
	}
	for name, p := range a.root.Defaults {
		if c := p.Candidates.Operation; c != "" && !has(c) {
			return fmt.Errorf("%s: x-mcp: default-parameters.%s.candidates.operation names %q, which is no tool", a.doc.name, name, c)
		}
	}
	return nil
}

func (a *api) tool(op *operation) (*tool, error) {
	t := &tool{operation: op}
	s := &schemas{doc: a.doc}
	for _, p := range op.params {
		t.args = append(t.args, a.parameterArgument(s, op, p))
	}
	if err := t.addBody(s); err != nil {
		return nil, err
	}
	t.nameArguments()
	t.auth = a.authOf(op)
	// Required arguments first: that is what a model has to fill in.
	slices.SortStableFunc(t.args, func(x, y *argument) int {
		return cmp.Compare(rank(x), rank(y))
	})
	t.hints()
	if s.deepest > maxSchemaDepth {
		return nil, fmt.Errorf("its schemas nest deeper than %d levels", maxSchemaDepth)
	}
	t.inputSchema = s.settle(t.input())
	t.dangling = s.dangling
	if size := len(appendJSON(nil, t.inputSchema)); size > maxSchemaBytes {
		return nil, fmt.Errorf("its input schema has %d bytes; at most %d can be published", size, maxSchemaBytes)
	}
	for _, path := range op.x.Redact {
		t.redact = append(t.redact, strings.Split(path, "."))
	}
	return t, nil
}

// maxSchemaBytes bounds what one tool publishes: more than any model reads.
const maxSchemaBytes = 2 << 20

// input is the published schema of the whole argument object.
func (t *tool) input() object {
	props := object{}
	var required []string
	for _, a := range t.args {
		schema := a.schema
		if a.required {
			required = append(required, a.name)
		} else {
			schema = nullable(schema)
		}
		props = append(props, member{a.name, schema})
	}
	out := object{{"type", "object"}, {"properties", props}}
	if len(required) > 0 {
		out = append(out, member{"required", required})
	}
	return append(out, member{"additionalProperties", false})
}

// hints derives the annotations from the method (RFC 9110, sections 9.2.1 and
// 9.2.2), with the document's overrides.
func (t *tool) hints() {
	readOnly := t.method == "get" || t.method == "head" || t.method == "options" || t.method == "trace"
	idempotent := readOnly || t.method == "put" || t.method == "delete"
	x := t.x.Annotations
	t.readOnly = or(x.ReadOnly, readOnly)
	t.annotations = object{
		{"readOnlyHint", t.readOnly},
		{"destructiveHint", or(x.Destructive, !t.readOnly)},
		{"idempotentHint", or(x.Idempotent, idempotent)},
		{"openWorldHint", or(x.OpenWorld, true)},
	}
}

func or(override *bool, implied bool) bool {
	if override != nil {
		return *override
	}
	return implied
}

// ordered puts the members of a schema into the order schemas are published in.
func ordered(o object) object {
	slices.SortStableFunc(o, func(a, b member) int {
		return cmp.Compare(slices.Index(keywords, a.key), slices.Index(keywords, b.key))
	})
	return o
}

// definition is the tool as tools/list shows it, less its schema.
func (t *tool) definition() object {
	return object{{"name", t.name}, {"title", t.title}, {"description", t.about}, {"annotations", t.annotations}}
}

// contract holds what the contract says of a tool beyond its definition.
func (a *api) contract(t *tool) object {
	scopes := []string{}
	if t.auth != nil {
		scopes = append(scopes, t.auth.scopes...)
	}
	var errs []any
	for _, r := range t.responses {
		if e := t.errorEntry(r); e != nil {
			errs = append(errs, e)
		}
	}
	for _, arg := range t.args {
		if arg.fallback != nil {
			errs = append(errs, object{{"code", arg.fallback.Missing}, {"when", "no value for " + arg.name + " could be found"}})
		}
	}
	if errs == nil {
		errs = []any{}
	}
	return object{{"method", strings.ToUpper(t.method)}, {"path", a.basePath + t.path}, {"scopes", scopes}, {"errors", errs}}
}

func (t *tool) errorEntry(r response) object {
	if strings.HasPrefix(r.status, "2") {
		return nil
	}
	code := t.code(r.status)
	if r.status == "default" {
		return object{{"status", "default"}, {"code", code}, {"when", r.description}}
	}
	if !json.Valid([]byte(r.status)) { // 4XX
		return object{{"status", r.status}, {"code", code}, {"when", r.description}}
	}
	return object{{"status", json.RawMessage(r.status)}, {"code", code}, {"when", r.description}}
}

// code is the envelope code that a status of this operation becomes.
func (t *tool) code(status string) string {
	for s, code := range t.x.ErrorCodes {
		if fmt.Sprint(s) == status {
			return code
		}
	}
	switch status[:1] {
	case "3", "4":
		return "http_" + status[:1] + "xx"
	}
	return "http_5xx"
}
