package mcpserver

import (
	"bufio"
	"bytes"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// listResult is the SDK's result with a placeholder for the tools. The SDK encodes it
// several times over, which for some hundred tools is most of a start; what the
// generator serialised takes its place as the message is written.
type listResult struct {
	*mcp.ListToolsResult
	placeholder string
	lesson      *lesson
}

// MarshalJSON puts the placeholder where the SDK has an empty array.
func (r *listResult) MarshalJSON() ([]byte, error) {
	before, after, err := around(r.ListToolsResult, `"tools":[`)
	if err != nil {
		return nil, err
	}
	if r.lesson != nil {
		r.lesson.before, r.lesson.after = before, after[1:]
	}
	b := make([]byte, 0, len(before)+len(r.placeholder)+len(after))
	return append(append(append(b, before...), r.placeholder...), after...), nil
}

// pieces collects what is written in pieces of the size of a pipe's buffer, which is also
// what a list takes while a slow peer reads it.
var pieces = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 64<<10) }}

// writeMessage writes a message, or a batch of them, and end. The tools take the place
// of the placeholder, which is random, so that nothing else is taken for it.
func (s *Server) writeMessage(w io.Writer, message []byte, end string) error {
	before, after, found := bytes.Cut(message, []byte(s.placeholder))
	if !found {
		_, err := w.Write(append(message, end...))
		return err
	}
	b := pieces.Get().(*bufio.Writer)
	b.Reset(w)
	for found {
		_, _ = b.Write(before)
		s.gateway.WriteList(b)
		before, after, found = bytes.Cut(after, []byte(s.placeholder))
	}
	_, _ = b.Write(before)
	_, _ = b.WriteString(end)
	err := b.Flush()
	b.Reset(nil)
	pieces.Put(b)
	return err
}
