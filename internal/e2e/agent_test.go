package e2e

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// agent is the SDK's client connected to a gateway.
type agent struct{ session *mcp.ClientSession }

// connect starts a gateway and connects the SDK's client to it.
func connect(t testing.TB, w way, s settings) agent {
	t.Helper()
	if w.transport == "http" {
		_, endpoint := serve(t, s)
		return connectTo(t, endpoint, w.revision, s.token)
	}
	cmd := command(t, append(s.env(), "VIAT_TOKEN="+s.token), "postern", append([]string{"stdio"}, s.args...)...)
	cmd.Stderr = newOutput()
	return newAgent(t, &mcp.CommandTransport{Command: cmd}, w.revision)
}

// connectTo connects the SDK's client over HTTP with a token.
func connectTo(t testing.TB, endpoint, revision, token string) agent {
	t.Helper()
	client := httpClient(t)
	client.Transport = bearer{token, client.Transport}
	return newAgent(t, &mcp.StreamableClientTransport{Endpoint: endpoint, HTTPClient: client, DisableStandaloneSSE: true}, revision)
}

type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

func newAgent(t testing.TB, transport mcp.Transport, revision string) agent {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if got := session.InitializeResult().ProtocolVersion; got != revision {
		t.Fatalf("negotiated %s, want %s", got, revision)
	}
	return agent{session}
}

// call calls a tool; arguments are a JSON object.
func (a agent) call(t testing.TB, tool, arguments string) result {
	t.Helper()
	got, err := a.session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return result{rpc: int(rpc.Code), raw: rpc.Message}
	}
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	block, ok := got.Content[0].(*mcp.TextContent)
	if !ok || len(got.Content) != 1 || got.StructuredContent != nil {
		t.Fatalf("%s: expected one text block and no structuredContent: %+v", tool, got)
	}
	r := result{text: block.Text, raw: block.Text, isError: got.IsError}
	if r.isError {
		r.failure = readEnvelope(t, r.text)
	}
	return r
}

// ok calls a tool that must succeed and returns its text.
func (a agent) ok(t testing.TB, tool, arguments string) string {
	t.Helper()
	r := a.call(t, tool, arguments)
	if r.isError || r.rpc != 0 {
		t.Fatalf("%s %.300s: %s", tool, arguments, r.raw)
	}
	return r.text
}

// fails calls a tool that must fail.
func (a agent) fails(t testing.TB, tool, arguments string) failure {
	t.Helper()
	r := a.call(t, tool, arguments)
	if !r.isError {
		t.Fatalf("%s %.300s did not fail: %s", tool, arguments, r.raw)
	}
	return r.failure
}

// caller is what agent and peer have in common.
type caller interface {
	ok(t testing.TB, tool, arguments string) string
}

// until repeats a reading call until its text holds a part.
func until(t testing.TB, c caller, part, tool, arguments string) string {
	t.Helper()
	late := time.Now().Add(patience)
	for {
		text := c.ok(t, tool, arguments)
		if strings.Contains(text, part) {
			return text
		}
		if time.Now().After(late) {
			t.Fatalf("%s never held %s: %s", tool, part, text)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// field reads a text member of an object, or of the first element of an array.
func field(t testing.TB, text, name string) string {
	t.Helper()
	var list []map[string]any
	if !strings.HasPrefix(text, "[") {
		text = "[" + text + "]"
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) == 0 {
		t.Fatalf("no object: %v: %s", err, text)
	}
	value, ok := list[0][name].(string)
	if !ok {
		t.Fatalf("no text %s in %s", name, text)
	}
	return value
}
