package exampletest

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Agent is the SDK's client, connected to the gateway.
type Agent struct{ *mcp.ClientSession }

// OverStdio starts the gateway as an editor does.
func OverStdio(t *testing.T, env ...string) Agent {
	t.Helper()
	return connect(t, &mcp.CommandTransport{Command: gateway(context.Background(), t, env, "stdio")})
}

// OverHTTP connects to a gateway that serves many, with a credential of its own.
func OverHTTP(t *testing.T, endpoint, authorization string) Agent {
	t.Helper()
	return connect(t, &mcp.StreamableClientTransport{
		Endpoint: endpoint, DisableStandaloneSSE: true,
		HTTPClient: &http.Client{Transport: withAuthorization(authorization)},
	})
}

type withAuthorization string

func (a withAuthorization) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", string(a))
	return http.DefaultTransport.RoundTrip(r)
}

func connect(t *testing.T, transport mcp.Transport) Agent {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return Agent{session}
}

// Call calls a tool with a JSON object.
func (a Agent) Call(t *testing.T, tool, arguments string) (text string, failed bool) {
	t.Helper()
	result, err := a.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	if len(result.Content) != 1 {
		t.Fatalf("%s %s: %d content blocks", tool, arguments, len(result.Content))
	}
	block, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("%s %s: answered %T", tool, arguments, result.Content[0])
	}
	return block.Text, result.IsError
}

// Answers calls a tool that must succeed, with this answer.
func (a Agent) Answers(t *testing.T, tool, arguments, want string) {
	t.Helper()
	if got, failed := a.Call(t, tool, arguments); failed || got != want {
		t.Errorf("%s %s:\ngot  %s\nwant %s", tool, arguments, got, want)
	}
}

// Envelope is the gateway's error.
type Envelope struct {
	Error struct {
		Code, Message, Hint, Pointer, Delivery string
		Status                                 int
		Candidates                             []string
		Upstream                               json.RawMessage
	}
	// Text is the whole content block.
	Text string
}

// Refused calls a tool that must fail.
func (a Agent) Refused(t *testing.T, tool, arguments, code string, status int) Envelope {
	t.Helper()
	text, failed := a.Call(t, tool, arguments)
	var e Envelope
	if err := json.Unmarshal([]byte(text), &e); err != nil || !failed || e.Error.Code != code || e.Error.Status != status {
		t.Fatalf("%s %s: got %s, want %s %d", tool, arguments, text, code, status)
	}
	e.Text = text
	return e
}
