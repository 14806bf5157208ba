package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
)

const schemaMember = `,"inputSchema":`

// WriteList writes the visible tools in the catalogue's order, as the elements of the
// array that tools/list holds. They are the parts that the generator serialised, put
// together as they are written: a list takes no memory of its own, however long it
// is. What goes wrong is w's to say when it is flushed.
func (g *Gateway) WriteList(w *bufio.Writer) {
	for i, t := range g.tools {
		if i > 0 {
			_ = w.WriteByte(',')
		}
		_, _ = w.WriteString(t.Definition[:len(t.Definition)-1])
		_, _ = w.WriteString(schemaMember)
		_, _ = w.WriteString(t.InputSchema)
		_ = w.WriteByte('}')
	}
}

// ListSize is the number of bytes that WriteList writes.
func (g *Gateway) ListSize() int { return g.listSize }

func listSize(tools []*Tool) int {
	size := max(0, len(tools)-1)
	for _, t := range tools {
		size += len(t.Definition) + len(schemaMember) + len(t.InputSchema)
	}
	return size
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
		b = append(append(append(b, t.Definition[:len(t.Definition)-1]...), schemaMember...), t.InputSchema...)
		b = append(append(b, ','), t.Contract[1:]...)
	}
	var out bytes.Buffer
	_ = json.Indent(&out, append(b, "]}"...), "", "  ") // made of valid parts
	out.WriteByte('\n')
	return out.Bytes()
}
