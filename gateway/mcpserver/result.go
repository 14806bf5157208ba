package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postern-mcp/postern/gateway"
)

// callResult is the SDK's result, into which the SDK writes what a revision
// wants (_meta, resultType), with an isError that is explicit in both cases.
type callResult struct{ *mcp.CallToolResult }

// newResult puts a result into exactly one content block.
func newResult(r *gateway.Result) mcp.Result {
	var c mcp.Content
	switch {
	case r.Err != nil:
		c = &mcp.TextContent{Text: string(r.Err.Envelope())}
	case r.MIMEType == "":
		c = &mcp.TextContent{Text: string(r.Text)}
	case isImage(r.MIMEType):
		c = &mcp.ImageContent{Data: r.Data, MIMEType: r.MIMEType}
	default:
		c = &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "postern:answer", MIMEType: r.MIMEType, Blob: r.Data}}
	}
	return callResult{&mcp.CallToolResult{Content: []mcp.Content{c}, IsError: r.Err != nil}}
}

// isImage reports the types that clients show (MCP 2025-11-25, ImageContent).
func isImage(mimeType string) bool {
	switch mimeType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// MarshalJSON adds the isError that the SDK leaves out when it is false.
func (r callResult) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(r.CallToolResult)
	if err != nil || r.IsError {
		return b, err
	}
	return append(b[:len(b)-1], `,"isError":false}`...), nil
}

// listResult is the SDK's result with the tools as the generator serialised them.
type listResult struct {
	*mcp.ListToolsResult
	tools []byte
}

// MarshalJSON puts the serialised tools where the SDK has an empty array.
func (r *listResult) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(r.ListToolsResult)
	if err != nil {
		return nil, err
	}
	before, after, ok := bytes.Cut(b, []byte(`"tools":[]`))
	if !ok {
		return nil, errors.New("the SDK's list result has no empty tools array")
	}
	out := make([]byte, 0, len(b)+len(r.tools))
	out = append(append(out, before...), `"tools":`...)
	return append(append(out, r.tools...), after...), nil
}
