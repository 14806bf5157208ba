package gateway

import (
	"bytes"
	"encoding/json"
)

// ListJSON returns the visible tools as the array that tools/list holds, in the
// catalogue's order. It is put together once from serialised parts.
func (g *Gateway) ListJSON() []byte { return g.list() }

func (g *Gateway) serialise() []byte {
	size := 2
	for _, t := range g.tools {
		size += len(t.Definition) + len(t.InputSchema) + len(`,"inputSchema":,`)
	}
	b := append(make([]byte, 0, size), '[')
	for i, t := range g.tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(t.appendListed(b), '}')
	}
	return append(b, ']')
}

// appendListed appends the tool as it is listed, without its closing brace.
func (t *Tool) appendListed(b []byte) []byte {
	b = append(b, t.Definition[:len(t.Definition)-1]...)
	b = append(b, `,"inputSchema":`...)
	return append(b, t.InputSchema...)
}

// ContractJSON returns the contract of the visible tools: what the generator
// wrote to contracts/, less the tools that a read-only gateway hides.
func (g *Gateway) ContractJSON() []byte {
	b := []byte(`{"contractVersion":`)
	b = appendJSON(b, g.catalog.ContractVersion)
	b = append(b, `,"server":`...)
	b = appendJSON(b, g.catalog.Server.Name)
	b = append(b, `,"tools":[`...)
	for i, t := range g.tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(t.appendListed(b), ',')
		b = append(b, t.Contract[1:]...)
	}
	var out bytes.Buffer
	_ = json.Indent(&out, append(b, "]}"...), "", "  ") // made of valid parts
	out.WriteByte('\n')
	return out.Bytes()
}
