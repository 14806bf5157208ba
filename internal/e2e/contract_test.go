package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
)

// contractTool is a tool as the contract file has it.
type contractTool struct {
	Name        string
	Method      string
	Path        string // of the operation, with {parameters}
	Annotations struct{ ReadOnlyHint bool }
	InputSchema struct {
		Properties map[string]property
		Required   []string
	}
	Errors []struct {
		Status json.RawMessage
		Code   string
	}
	compact string // the entry, without insignificant white space
}

type property struct {
	Type   json.RawMessage
	Enum   []any
	Format string
}

// contract is the contract file, so that a new tool is tested without a new line here.
var contract = sync.OnceValue(func() []contractTool {
	data, err := os.ReadFile("../../contracts/1.1.0/mcp-tools.json")
	if err != nil {
		panic(err)
	}
	var file struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(data, &file); err != nil {
		panic(err)
	}
	tools := make([]contractTool, len(file.Tools))
	for i, raw := range file.Tools {
		var b bytes.Buffer
		if err := errors.Join(json.Unmarshal(raw, &tools[i]), json.Compact(&b, raw)); err != nil {
			panic(err)
		}
		tools[i].compact = b.String()
	}
	return tools
})

// takes reports whether a property accepts a JSON type; without one it accepts all.
func (p property) takes(jsonType string) bool {
	return p.Type == nil || strings.Contains(string(p.Type), `"`+jsonType+`"`)
}

func (c contractTool) required(name string) bool {
	return slices.Contains(c.InputSchema.Required, name)
}

// names are the arguments in order.
func (c contractTool) names() []string {
	var names []string
	for name := range c.InputSchema.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// example is a valid value of an argument.
func (p property) example() string {
	switch {
	case len(p.Enum) > 0:
		b, _ := json.Marshal(p.Enum[0])
		return string(b)
	case p.Format == "uuid":
		return `"8f38e72e-4e77-4f9d-b0dc-58b99a0a3325"`
	case p.Type == nil:
		return `{"a":1.0}`
	case p.takes("string"):
		return `"example"`
	case p.takes("boolean"):
		return "false"
	}
	return "7"
}

// arguments are valid ones: the required and those given, which replace examples.
func (c contractTool) arguments(given map[string]string) string {
	var parts []string
	for _, name := range c.names() {
		value, ok := given[name]
		if !ok && c.required(name) {
			value, ok = c.InputSchema.Properties[name].example(), true
		}
		if ok {
			parts = append(parts, `"`+name+`":`+value)
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}
