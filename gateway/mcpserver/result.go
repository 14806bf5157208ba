package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postern-mcp/postern/gateway"
)

// callResult is the SDK's result, into which the SDK writes the _meta that a
// revision wants, without the one content block: that is put in when it is
// encoded, because encoding/json would copy it once for each level it is nested in.
type callResult struct {
	*mcp.CallToolResult
	result  *gateway.Result
	standIn string // for the block; "" for none
	typed   bool
	lesson  *lesson // is told what is around the block; nil for nobody
}

// hasResultType is the first revision whose results say that they are complete.
const hasResultType = "2026-07-28"

// newResult returns the answer to req, whose _meta names its revision from that one on. l
// is told what the SDK makes of it; nil for nobody.
func newResult(req *mcp.CallToolRequest, r *gateway.Result, standIn string, l *lesson) mcp.Result {
	revision, _ := req.Params.Meta[mcp.MetaKeyProtocolVersion].(string)
	return callResult{&mcp.CallToolResult{Content: []mcp.Content{}}, r, standIn, revision >= hasResultType, l}
}

// MarshalJSON puts the block where the SDK has an empty array, and adds isError,
// which the SDK leaves out when it is false, and resultType, which it sets only
// for tools that are registered with it.
func (r callResult) MarshalJSON() ([]byte, error) {
	before, after, err := around(r.CallToolResult, `"content":[`)
	if err != nil {
		return nil, err
	}
	after = after[1:] // the end of the array, which is followed by isError
	if r.typed {
		after = append([]byte(`,"resultType":"complete"`), after...)
	}
	if r.lesson != nil {
		r.lesson.before, r.lesson.after, r.lesson.result, r.lesson.standIn = before, after, r.result, r.standIn
	}
	b := make([]byte, 0, len(before)+len(after)+blockSize(r.result, r.standIn)+16)
	b = appendBlock(append(b, before...), r.result, r.standIn)
	b = strconv.AppendBool(append(b, `],"isError":`...), r.result.Err != nil)
	return append(b, after...), nil
}

const textBlock = `{"type":"text","text":`

// blockSize estimates the length of a block: what is quoted in JSON grows by a backslash
// for each quote.
func blockSize(r *gateway.Result, standIn string) int {
	if standIn != "" {
		return len(standIn)
	}
	return len(r.Text)*5/4 + len(r.Data)*4/3 + 256
}

// appendBlock appends the one content block of a result, or what stands in for it.
func appendBlock(b []byte, r *gateway.Result, standIn string) []byte {
	if standIn != "" {
		return append(b, standIn...)
	}
	if r.MIMEType == "" {
		return append(r.AppendText(append(b, textBlock...)), '}')
	}
	before, after := aroundData(r.MIMEType)
	return append(base64.StdEncoding.AppendEncode(append(b, before...), r.Data), after...)
}

// writeBlock writes what appendBlock appends, in parts.
func writeBlock(w *bufio.Writer, r *gateway.Result) {
	if r.MIMEType == "" {
		_, _ = w.WriteString(textBlock)
		r.WriteText(w)
		_ = w.WriteByte('}')
		return
	}
	before, after := aroundData(r.MIMEType)
	_, _ = w.Write(before)
	encoder := base64.NewEncoder(base64.StdEncoding, w)
	_, _ = encoder.Write(r.Data)
	_ = encoder.Close()
	_, _ = w.Write(after)
}

// aroundData is what comes before and after the data in the block of an answer that is
// not text.
func aroundData(mimeType string) (before, after []byte) {
	data := []byte{0}
	var block mcp.Content = &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "postern:answer", MIMEType: mimeType, Blob: data}}
	member := `"blob":"`
	if isImage(mimeType) {
		block, member = &mcp.ImageContent{Data: data, MIMEType: mimeType}, `"data":"`
	}
	encoded, _ := json.Marshal(block) // strings and bytes always encode
	// The member cannot stand in a string, where its quotes would be escaped.
	from := bytes.Index(encoded, []byte(member)) + len(member)
	return encoded[:from], encoded[from+base64.StdEncoding.EncodedLen(len(data)):]
}

// isImage reports the types that clients show (MCP 2025-11-25, ImageContent).
func isImage(mimeType string) bool {
	switch mimeType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// around encodes one of the SDK's results, whose array is empty, and returns
// what comes up to its first element and the rest, from the array's end. What member
// names cannot stand in a string, where its quotes would be escaped.
func around(result any, member string) (before, after []byte, err error) {
	b, err := json.Marshal(result)
	if err != nil {
		return nil, nil, err
	}
	i := bytes.Index(b, []byte(member+"]"))
	if i < 0 {
		return nil, nil, errors.New("the SDK's result has no empty array " + member + "]")
	}
	i += len(member)
	return b[:i:i], b[i:], nil
}
