package openapi

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// argument is one member of a tool's flat argument object.
type argument struct {
	name     string
	key, in  string // as upstream; in is path, query, header, cookie or body
	param    *parameter
	goName   string // field or variable in the generated client
	required bool
	sendNull bool
	fallback *defaultParameter
	schema   object
	kind     string // String, Value, Deep or JSON: how the client takes a parameter
	example  *yaml.Node
}

func rank(a *argument) int {
	switch {
	case a.required:
		return 0
	case a.fallback == nil:
		return 1
	}
	return 2
}

func (a *api) parameterArgument(s *schemas, op *operation, p *parameter) *argument {
	schema := s.top(p.schema)
	arg := &argument{name: p.name, key: p.name, in: p.in, param: p, required: p.required, example: p.example, kind: "Value"}
	switch kinds := typesOf(schema); {
	case p.content:
		arg.kind = "JSON"
	case len(kinds) > 0 && !slices.Contains(kinds, "array") && !slices.Contains(kinds, "object"):
		arg.kind = "String"
	default:
		if p.style == "deepObject" {
			arg.kind = "Deep"
		}
		// A list or object without elements cannot be written in a URL.
		for kind, bound := range map[string]string{"array": "minItems", "object": "minProperties"} {
			if _, bounded := schema.get(bound); slices.Contains(kinds, kind) && !bounded {
				schema.set(bound, 1)
			}
		}
	}
	if d := shortenText(p.description, maxText); d != "" {
		schema.set("description", d)
	}
	if p.in == "header" && strings.EqualFold(p.name, op.x.Retry.header) {
		arg.required = false // the gateway makes one up
	}
	if d, ok := a.root.Defaults[p.name]; ok {
		arg.fallback, arg.required = &d, false
		schema.set("description", strings.TrimSpace(sentence(shortenText(p.description, maxText))+" Left out or null: the gateway's default, else the error "+d.Missing+"."))
	}
	arg.schema = ordered(schema)
	return arg
}

// typesOf are the types a schema names, but for null.
func typesOf(o object) []string {
	var out []string
	switch t, _ := o.get("type"); t := t.(type) {
	case string:
		out = append(out, t)
	case []any:
		for _, name := range t {
			out = append(out, name.(string))
		}
	}
	return slices.DeleteFunc(out, func(t string) bool { return t == "null" })
}

// nameArguments makes the names of arguments unique and such that every client
// accepts them: 1 to 64 letters, digits, _, - and .
func (t *tool) nameArguments() {
	taken := map[string]bool{}
	for _, arg := range t.args {
		name := arg.name
		if !isToolName(name) {
			name = strings.Trim(strings.Map(func(r rune) rune {
				if isToolName(string(r)) {
					return r
				}
				return '_'
			}, name), "_")
			name = shorten(orElse(name, arg.in), arg.key, 64)
			if strings.ContainsFunc(arg.key, func(r rune) bool { return r > unicode.MaxASCII }) {
				// Little or nothing is left of a name in another script.
				about, _ := arg.schema.get("description")
				arg.schema.set("description", arg.key+when(about != nil, fmt.Sprintf(": %s", about)))
				arg.schema = ordered(arg.schema)
			}
		}
		if taken[name] {
			name = shorten(arg.in+"_"+name, arg.key, 64)
		}
		for taken[name] {
			name = shorten(name+"_", arg.in+arg.key, 56) + "_" + hash8(arg.in+arg.key)
		}
		taken[name] = true
		arg.name = name
	}
}
