package mcpserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postern-mcp/postern/apiclient/transport"
)

// withBearer is what a client adds to its requests.
type withBearer struct{ next http.RoundTripper }

func (b withBearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+marked)
	return b.next.RoundTrip(r)
}

// TestClient: a client of the SDK's lists, calls and fails, over both transports
// and at every revision it speaks.
func TestClient(t *testing.T) {
	t.Parallel()
	transports := map[string]func(*testing.T, *world) mcp.Transport{
		"HTTP": func(t *testing.T, w *world) mcp.Transport {
			server := httptest.NewUnstartedServer(nil)
			server.Config = NewHTTPServer(w.Handler(HTTPOptions{RateLimit: 1000}), time.Minute, w.Server.log)
			server.Start()
			t.Cleanup(server.Close)
			return &mcp.StreamableClientTransport{Endpoint: server.URL + "/mcp", HTTPClient: &http.Client{Transport: withBearer{server.Client().Transport}}}
		},
		"stdio": func(t *testing.T, w *world) mcp.Transport {
			serverIn, clientOut := io.Pipe()
			clientIn, serverOut := io.Pipe()
			ended := make(chan struct{})
			go func() {
				if err := w.ServeStdio(context.Background(), serverIn, serverOut, StdioOptions{Token: fromToken(t)}); err != nil {
					t.Error(err)
				}
				_ = serverOut.Close()
				close(ended)
			}()
			t.Cleanup(func() { waitFor(t, "the end of the server", ended) })
			return &mcp.IOTransport{Reader: clientIn, Writer: clientOut}
		},
	}
	for name, connect := range transports {
		for _, revision := range []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
			t.Run(name+"/"+revision, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				transport := connect(t, w)
				session, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = session.Close() })
				if got := session.InitializeResult(); got.ProtocolVersion != revision || got.Instructions != "Call echo." || got.ServerInfo.Version != "1.2.3" {
					t.Errorf("initialized with %+v", got)
				}
				list, err := session.ListTools(t.Context(), nil)
				if err != nil || len(list.Tools) != len(echo().Tools) || list.NextCursor != "" {
					t.Fatalf("listed %+v: %v", list, err)
				}
				r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"q": `{"a": 1.0}`}})
				if err != nil || r.IsError || len(r.Content) != 1 || r.Content[0].(*mcp.TextContent).Text != `{"a":1.0}` {
					t.Errorf("called: %+v, %v", r, err)
				}
				r, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"x": 1}})
				if err != nil || !r.IsError || !strings.Contains(r.Content[0].(*mcp.TextContent).Text, `"code":"invalid_arguments"`) {
					t.Errorf("called wrongly: %+v, %v", r, err)
				}
				var refused *jsonrpc.Error
				if _, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "nope"}); !errors.As(err, &refused) || refused.Code != jsonrpc.CodeInvalidParams {
					t.Errorf("called what there is not: %v", err)
				}
			})
		}
	}
}

func TestCloseEndsRead(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	defer out.Close()
	c := newLineConn(in, io.Discard, StdioOptions{MaxLine: 100, Grace: time.Minute}, transport.Token{}.Mask, func() {}, new(Server).write, nil)
	ended := make(chan struct{})
	go func() {
		if m, err := c.Read(context.Background()); m != nil || !errors.Is(err, io.EOF) {
			t.Errorf("Read returned %v, %v", m, err)
		}
		close(ended)
	}()
	_ = c.Close()
	_ = c.Close()
	waitFor(t, "the end of Read", ended)
}
