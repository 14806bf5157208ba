package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/postern-mcp/postern/apiclient/transport"
	"github.com/postern-mcp/postern/gateway"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const marked = "viat_pat_MARKED/secret+value="

// echo is a catalogue of tools that send their one argument to the API and
// answer what it says.
func echo() *gateway.CatalogV1 {
	tool := func(name string, invoke func(context.Context, gateway.Client, *gateway.Args) (*http.Response, error)) gateway.ToolV1 {
		return gateway.ToolV1{
			Name: name, Definition: `{"name":"` + name + `","description":"\"tools\":[]"}`,
			InputSchema: `{"type":"object","properties":{"q":{"type":["string","null"]}},"additionalProperties":false}`, Contract: `{}`,
			Operation: transport.Operation{ID: name, Method: http.MethodGet, Path: "/" + name}, ReadOnly: true,
			Args:   []gateway.ArgV1{{Name: "q", Key: "q", In: gateway.InQuery}},
			Invoke: invoke,
		}
	}
	get := func(name string) gateway.ToolV1 {
		return tool(name, func(ctx context.Context, client gateway.Client, a *gateway.Args) (*http.Response, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, client.Server+"/"+name+"?q="+url.QueryEscape(a.String("q")), nil)
			if err != nil {
				return nil, err
			}
			return client.Doer.Do(req)
		})
	}
	return &gateway.CatalogV1{
		Server: gateway.ServerV1{Name: "echoing", Title: `Echo "content":[]`, Instructions: "Call echo."},
		Tools: []gateway.ToolV1{
			get("bytes"), get("echo"), get("hang"), get("image"),
			tool("panic", func(context.Context, gateway.Client, *gateway.Args) (*http.Response, error) { panic("at the disco") }),
		},
	}
}

// world is an API, and a server in front of it.
type world struct {
	*Server
	log *syncBuffer
	api *url.URL
	// hanging gets a value when a call of hang reaches the API, ended when it is gone again.
	hanging, ended chan struct{}
	authorization  chan string
}

// newWorld is a world with the tools of echo, but for those left out.
func newWorld(t testing.TB, leftOut ...string) *world {
	t.Helper()
	catalog := echo()
	catalog.Tools = slices.DeleteFunc(catalog.Tools, func(tool gateway.ToolV1) bool { return slices.Contains(leftOut, tool.Name) })
	w := &world{log: &syncBuffer{}, hanging: make(chan struct{}, 64), ended: make(chan struct{}, 64), authorization: make(chan string, 1024)}
	api := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		select {
		case w.authorization <- r.Header.Get("Authorization"):
		default:
		}
		switch r.URL.Path {
		case "/hang":
			select {
			case w.hanging <- struct{}{}:
			default: // nobody waits for it
			}
			select {
			case <-r.Context().Done():
			case <-time.After(20 * time.Second):
				t.Error("nobody ended the call of hang")
			}
			select {
			case w.ended <- struct{}{}:
			default:
			}
		case "/image":
			rw.Header().Set("Content-Type", "image/png")
			_, _ = io.WriteString(rw, "\x89PNG"+strings.Repeat("\xff", len(r.URL.Query().Get("q"))*long/4))
		case "/bytes":
			rw.Header().Set("Content-Type", "application/pdf")
			_, _ = io.WriteString(rw, "%PDF"+strings.Repeat("\x00", len(r.URL.Query().Get("q"))*long/4))
		default:
			rw.Header().Set("Content-Type", "text/plain")
			q := r.URL.Query().Get("q")
			status, body, _ := strings.Cut(q, "!")
			if code := map[string]int{"302": 302, "404": 404, "401": 401, "500": 500}[status]; code != 0 {
				rw.WriteHeader(code)
				q = body
			}
			if q == "long" {
				q = strings.Repeat("\"ä\\ \n\x01", long/8)
			}
			_, _ = io.WriteString(rw, q)
		}
	}))
	t.Cleanup(api.Close)
	w.api, _ = url.Parse(api.URL)
	log := slog.New(slog.NewTextHandler(w.log, nil))
	w.Server = New(gateway.New(gateway.Options{Catalog: catalog, Upstream: upstream(t, api.URL), Logger: log}), "1.2.3", log)
	return w
}

func upstream(t testing.TB, server string) *transport.Upstream {
	t.Helper()
	base, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	up, err := transport.New(transport.Config{BaseURL: base, MaxAttempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(up.Close)
	return up
}

// syncBuffer is a buffer that several goroutines can write to, and that notes
// when a write holds more than the end of a line.
type syncBuffer struct {
	mu     sync.Mutex
	b      bytes.Buffer
	broken bool
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := bytes.IndexByte(p, '\n')
	s.broken = s.broken || end >= 0 && end != len(p)-1
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func token(t testing.TB) transport.Token { return tokenNamed(t, marked) }

func tokenNamed(t testing.TB, value string) transport.Token {
	t.Helper()
	token, err := transport.NewToken(value)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func fromToken(t testing.TB) func() (transport.Token, error) {
	tok := token(t)
	return func() (transport.Token, error) { return tok, nil }
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// callOf is a tools/call request; id and arguments are JSON.
func callOf(id, tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
}

// message is what tests look at of a JSON-RPC message.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      any             `json:"id"`
	Method  string          `json:"method"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func waitFor(t testing.TB, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		t.Fatal("waited in vain: " + what)
	}
}
