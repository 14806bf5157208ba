package mcpserver

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postern-mcp/postern/gateway"
)

// What is long is not encoded with the message that it is in: something stands in for it,
// and it is put in as the message is written.

// toolsMark follows the mark of what stands in for the tools.
const toolsMark = "tools"

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

// long is the length of an answer in bytes from which on something stands in for it, too.
const long = 64 << 10

// standIn is what a message has in the place of the content block of the result that is
// handed to write at that index; "" for a block that is encoded with the message.
func (s *Server) standIn(r *gateway.Result, index int) string {
	if len(r.Text)+len(r.Data) <= long || s.sdkAlone {
		return ""
	}
	return s.marked(index)
}

func (s *Server) marked(index int) string { return s.mark + strconv.Itoa(index) + `"` }

// pieces collects what is written in pieces of the size of a pipe's buffer, which is also
// what a message takes beyond the answer itself while a slow peer reads it.
var pieces = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 64<<10) }}

// outgoing is a message, or a batch of them, on its way to a client.
type outgoing struct {
	message []byte
	mask    func([]byte) []byte             // takes the credential out; nil for one that cannot hold it
	result  func(index int) *gateway.Result // whose block something stands in for; nil for none
	end     string                          // follows the message
}

// write writes a message. The tools and the blocks of results take the place of what
// stands in for them, which begins with a random mark, so that nothing else is taken for
// it. Only what is between is masked: a short credential could be guessed to be part of the mark.
func (s *Server) write(w io.Writer, o outgoing) error {
	mask := o.mask
	if mask == nil {
		mask = func(b []byte) []byte { return b }
	}
	before, after, found := bytes.Cut(o.message, []byte(s.mark))
	if !found {
		_, err := w.Write(append(mask(o.message), o.end...))
		return err
	}
	b := pieces.Get().(*bufio.Writer)
	b.Reset(w)
	for found {
		_, _ = b.Write(mask(before))
		var what []byte
		if what, after, _ = bytes.Cut(after, []byte{'"'}); string(what) == toolsMark {
			s.gateway.WriteList(b)
		} else {
			index, _ := strconv.Atoi(string(what)) // of standIn
			writeBlock(b, o.result(index))
		}
		before, after, found = bytes.Cut(after, []byte(s.mark))
	}
	_, _ = b.Write(mask(before))
	_, _ = b.WriteString(o.end)
	err := b.Flush()
	b.Reset(nil)
	pieces.Put(b)
	return err
}
