package openapi

import (
	"bytes"
	"encoding/json"
)

// contractFile renders the contract: every byte the tools publish and the
// request behind each, in an order that depends on names alone.
func (a *api) contractFile() ([]byte, error) {
	var tools []any
	for _, t := range a.tools {
		entry := append(t.definition(), member{"inputSchema", t.inputSchema})
		tools = append(tools, append(entry, a.contract(t)...))
	}
	doc := appendJSON(nil, object{{"contractVersion", a.root.ContractVersion}, {"server", a.root.Server.Name}, {"tools", tools}})
	var b bytes.Buffer
	if err := json.Indent(&b, doc, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}
