// Package mcpserver puts a gateway on the Model Context Protocol. It is the only
// package that knows the MCP SDK.
//
//	stdio ──▶ lines ──┬─▶ a template of the SDK's answer ───────────────────────▶ gateway.Call
//	                  │   else
//	HTTP ──▶ guards ──┴─▶ SDK: framing, versions, lifecycle ──▶ middleware ──▶ gateway.Call
//
// The SDK is the protocol's authority; the catalogue is ours. Tools are not
// registered with it: at 600 tools that alone would cost 50 ms at start.
// Receiving middleware answers tools/call through the gateway, and tools/list with
// something that stands in for what the generator serialised.
package mcpserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	apierrors "github.com/postern-mcp/postern/errors"
	"github.com/postern-mcp/postern/gateway"
)

// IdempotencyKey is the member of a call's _meta (MCP 2025-11-25, General fields,
// "_meta") by which a client repeats the call safely.
const IdempotencyKey = "postern/idempotency-key"

// Server answers MCP requests with a gateway. Of requests and callers it
// keeps nothing; what it learns are templates of the SDK's answers.
type Server struct {
	gateway *gateway.Gateway
	sdk     *mcp.Server
	log     *slog.Logger

	mark        string // begins what stands in for something, a JSON string
	placeholder string // stands in for the tools of a list

	sdkAlone bool // no templates: for tests that compare with the SDK
}

// New returns a server; version is the gateway's, as clients are told it.
func New(g *gateway.Gateway, version string, log *slog.Logger) *Server {
	s := &Server{gateway: g, log: log, mark: `"` + rand.Text()}
	s.placeholder = s.mark + toolsMark + `"`
	about := g.Catalog().Server
	s.sdk = mcp.NewServer(&mcp.Implementation{Name: about.Name, Title: about.Title, Version: version}, &mcp.ServerOptions{
		Instructions: about.Instructions,
		// The SDK logs three lines at info level for every stateless request.
		Logger:       slog.New(quiet{log.Handler()}),
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		// What a list holds may depend on the caller, so no shared cache keeps it.
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
	})
	s.sdk.AddReceivingMiddleware(s.receive)
	return s
}

// quiet passes on warnings and errors.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && q.Handler.Enabled(ctx, l)
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }
func (q quiet) WithGroup(name string) slog.Handler       { return quiet{q.Handler.WithGroup(name)} }

// peer is the other side of a connection or request. It travels in the context
// because the SDK hands the middleware nothing else of ours.
type peer struct {
	// caller finds out on whose behalf a call is made; an error is answered as it is.
	caller func(*gateway.Tool) (gateway.Caller, *apierrors.Error)
	// mask takes the caller's credential out of a text.
	mask func([]byte) []byte
	// done ends the call; nil where only the SDK's context does.
	done context.Context
	// hold is given each result; it is to release it once it is written. It returns what
	// stands in for the result's block, as standIn does.
	hold func(*gateway.Result) (standIn string)
	// lesson notes what the SDK makes of the request; nil for nobody.
	lesson *lesson
}

type peerKey struct{}

func withPeer(ctx context.Context, p *peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}

// receive answers the two methods that are ours. A panic that gets here is a
// defect outside a call; it must not end the process for every other caller.
func (s *Server) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				s.logPanic(ctx, method)
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: panicked}
			}
		}()
		switch r := req.(type) {
		case *mcp.CallToolRequest:
			return s.callTool(ctx, r)
		case *mcp.ListToolsRequest:
			return s.listTools(ctx, r)
		}
		return next(ctx, method, req)
	}
}

// panicked is what a client is told of a panic.
const panicked = "the gateway failed while handling this request"

// recovered, deferred, does the same for a request that a template answers.
func (s *Server) recovered(ctx context.Context, q *express, message *[]byte) {
	if v := recover(); v != nil {
		method := "tools/call"
		if q.list {
			method = "tools/list"
		}
		s.logPanic(ctx, method)
		*message = errorMessage(q.id, jsonrpc.CodeInternalError, panicked)
	}
}

func (s *Server) logPanic(ctx context.Context, method string) {
	s.log.LogAttrs(ctx, slog.LevelError, "panic in a request", slog.String("method", method), slog.String("stack", string(debug.Stack())))
}

func (s *Server) callTool(ctx context.Context, req *mcp.CallToolRequest) (mcp.Result, error) {
	p, ok := ctx.Value(peerKey{}).(*peer)
	if !ok {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the connection has no caller"}
	}
	tool, ok := s.gateway.Tool(req.Params.Name)
	if !ok {
		// Masked first: half of a credential would not be found.
		name := fmt.Sprintf("%.80q", p.mask([]byte(req.Params.Name)))
		s.log.LogAttrs(ctx, slog.LevelInfo, "call", slog.String("tool", name), slog.String("code", "unknown_tool"))
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "unknown tool " + name + "; tools/list names those there are"}
	}
	caller, refusal := p.caller(tool)
	if refusal != nil {
		return newResult(req, s.gateway.Refuse(ctx, tool, refusal), "", nil), nil
	}
	if key, ok := req.Params.Meta[IdempotencyKey]; ok {
		if caller.IdempotencyKey, ok = key.(string); !ok || caller.IdempotencyKey == "" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "_meta " + IdempotencyKey + " is no text; expected 1 to 255 visible ASCII characters"}
		}
	}
	if p.done != nil {
		// The SDK ends a call with its HTTP request at one revision only.
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(p.done, cancel)()
	}
	result := s.gateway.Call(ctx, caller, tool, req.Params.Arguments)
	return newResult(req, result, p.hold(result), p.lesson), nil
}

// listTools answers with the one page there is.
func (s *Server) listTools(ctx context.Context, req *mcp.ListToolsRequest) (mcp.Result, error) {
	if req.Params != nil && req.Params.Cursor != "" {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "unknown cursor; the list has one page"}
	}
	var l *lesson
	if p, ok := ctx.Value(peerKey{}).(*peer); ok {
		l = p.lesson
	}
	return &listResult{
		lesson:          l,
		ListToolsResult: &mcp.ListToolsResult{Cacheable: mcp.Cacheable{CacheScope: "private"}, Tools: []*mcp.Tool{}},
		placeholder:     s.placeholder,
	}, nil
}

// holdsError reports a message, or a batch of them, with an error, in which the credential
// must be masked: the SDK's errors repeat what the client said. Results are masked when
// they are made. The quotes of the member's name cannot stand in a string unescaped.
func holdsError(data []byte) bool { return bytes.Contains(data, []byte(`"error":`)) }

// errorMessage is an error response to the id, which is JSON; to null if it is nil.
func errorMessage(id []byte, code int, message string) []byte {
	if id == nil {
		id = []byte("null")
	}
	text, _ := json.Marshal(message) // a string always encodes
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, text)
}
