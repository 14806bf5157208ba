package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/postern-mcp/postern/apiclient/transport"
	"github.com/postern-mcp/postern/gateway"
	"github.com/postern-mcp/postern/gateway/schema"
)

// Nearly all requests are alike but for the id, the tool's name and the arguments: what
// a client sends besides, its headers and its _meta, is the same each time. The SDK
// stays the authority on that rest. The first request of a kind goes to it, and what
// it puts around the result is kept as a template (template.go) once a result put
// together from it is the SDK's own, byte for byte over HTTP. Further requests of the kind are
// answered from the template. Whatever is unusual, here or there, goes to the SDK.

// express is a request that the template of its kind is enough to answer.
type express struct {
	id        []byte
	list      bool
	name      string
	arguments []byte
	kind      []byte // what of _meta the SDK's answer depends on
}

const (
	quotedVersion = `"2.0"`
	quotedCall    = `"tools/call"`
	quotedList    = `"tools/list"`
)

// readExpress reads a request of the form that nearly all clients send, in valid JSON;
// ok is false for every other one, and for whatever readers do not agree on.
func readExpress(body []byte) (q express, ok bool) {
	if len(body) == 0 || body[0] != '{' || !utf8.Valid(body) {
		return q, false
	}
	var top [4][]byte
	if !members(body, [4]string{"jsonrpc", "id", "method", "params"}, &top) {
		return q, false
	}
	version, method, params := top[0], top[2], top[3]
	if q.id = top[1]; string(version) != quotedVersion || !plainID(q.id) {
		return q, false
	}
	switch string(method) {
	case quotedList:
		var of [4][]byte
		if len(params) > 0 && !members(params, [4]string{"_meta"}, &of) {
			return q, false
		}
		q.list = true
		q.kind, ok = decidingMeta(of[0])
		return q, ok
	case quotedCall:
		var of [4][]byte
		if !members(params, [4]string{"name", "arguments", "_meta"}, &of) {
			return q, false
		}
		name := of[0]
		if len(name) < 2 || name[0] != '"' || bytes.IndexByte(name, '\\') >= 0 {
			return q, false
		}
		q.name, q.arguments = string(name[1:len(name)-1]), of[1]
		if q.kind, ok = decidingMeta(of[2]); !ok {
			return q, false
		}
		return q, len(q.arguments) == 0 || q.arguments[0] == '{' && undisputed(q.arguments)
	}
	return q, false
}

// decidingMeta is what answers depend on of a request's _meta: the members that the
// protocol reserves (MCP 2025-11-25, General fields, "_meta"). What clients add besides,
// their progress tokens, traces and ids, differs from call to call and is no matter of an
// answer here; only the idempotency key is, and it belongs to its call.
func decidingMeta(meta []byte) (kind []byte, ok bool) {
	if len(meta) == 0 {
		return nil, true
	}
	const most = 8
	var keys [most]string
	n, all := 0, true
	ok = true
	err := schema.SplitObject(meta, func(key string, value []byte) bool {
		ok = n < most && key != IdempotencyKey && !slices.Contains(keys[:n], key) && undisputed(value)
		if !ok {
			return false
		}
		keys[n] = key
		n++
		if !strings.HasPrefix(key, "io.modelcontextprotocol/") {
			all = false
		}
		return true
	})
	if err != nil || !ok || all {
		return meta, err == nil && ok && len(meta) <= maxKind
	}
	kind = []byte{'{'} // unlike no _meta at all
	_ = schema.SplitObject(meta, func(key string, value []byte) bool {
		if strings.HasPrefix(key, "io.modelcontextprotocol/") {
			kind = append(append(append(strconv.AppendQuote(kind, key), ':'), value...), ',')
		}
		return true
	})
	return kind, len(kind) <= maxKind
}

// maxKind bounds a kind in bytes, since templates are kept by it.
const maxKind = 1 << 10

// members takes the members of these names out of an object; it is false for what is
// no object, and for a member that is unknown or repeated. An empty name is none.
func members(object []byte, names [4]string, values *[4][]byte) bool {
	good := true
	err := schema.SplitObject(object, func(key string, value []byte) bool {
		at := -1
		for i, name := range names {
			if key == name && key != "" && values[i] == nil {
				at = i
			}
		}
		if good = at >= 0; good {
			values[at] = value
		}
		return good
	})
	return err == nil && good
}

// plainID reports an id that every encoder writes as it is spelled.
func plainID(id []byte) bool {
	if len(id) > 2 && id[0] == '"' {
		for _, c := range id[1 : len(id)-1] {
			if c <= ' ' || c > '~' || c == '\\' || c == '<' || c == '>' || c == '&' {
				return false
			}
		}
		return true
	}
	return len(id) > 0 && len(id) <= 15 && (id[0] != '0' || len(id) == 1) && strings.Trim(string(id), "0123456789") == ""
}

// undisputed reports arguments, or another valid JSON value, that every reader takes alike: no number beyond what
// fits a float, no half of a surrogate pair, no depth that is somebody's limit.
func undisputed(arguments []byte) bool {
	const maxDigits, maxDepth = 15, 64
	depth, digits := 0, 0
	for i := 0; i < len(arguments); i++ {
		switch c := arguments[i]; {
		case c == '"':
			for i++; arguments[i] != '"'; i++ { // it is valid JSON
				if arguments[i] == '\\' {
					if i++; arguments[i] == 'u' && (arguments[i+1]|0x20 == 'd' || string(arguments[i+1:i+5]) == "0000") {
						return false
					}
				}
			}
			digits = 0
		case '0' <= c && c <= '9':
			if digits++; digits > maxDigits {
				return false
			}
		case (c == 'e' || c == 'E') && digits > 0:
			return false
		default:
			digits = 0
			switch c {
			case '{', '[':
				if depth++; depth > maxDepth {
					return false
				}
			case '}', ']':
				depth--
			}
		}
	}
	return true
}

// deciding are the headers that the SDK decides by, besides Mcp-Name.
var deciding = [...]string{"Accept", "Content-Type", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Session-Id", "Last-Event-Id"}

// kindOf appends what tells kinds of requests apart: the headers and the part of the
// body that templates depend on. It is nil for a request whose headers are not
// understood here.
func (q *express) kindOf(b []byte, h http.Header) []byte {
	for name := range h {
		if len(name) > 4 && name[:4] == "Mcp-" && name != "Mcp-Name" && name != "Mcp-Method" && name != "Mcp-Protocol-Version" && name != "Mcp-Session-Id" {
			return nil
		}
	}
	switch names := h["Mcp-Name"]; {
	case len(names) == 0:
		b = append(b, 'c')
	case len(names) == 1 && names[0] == q.name && !q.list:
		b = append(b, 'n')
	default:
		return nil
	}
	if q.list {
		b = append(b, 'l')
	} else {
		b = append(b, 't') // no header's value can stand for it
	}
	for _, name := range deciding {
		for _, value := range h[name] {
			b = append(append(b, value...), '\n')
		}
		b = append(b, 0)
	}
	return append(b, q.kind...)
}

// express answers a request from the template of its kind. If there is none, lesson is
// where the SDK's answer is to be learned from; nil if that is of no use.
func (g *guard) express(w http.ResponseWriter, r *http.Request, token transport.Token, body []byte) (done bool, l *lesson) {
	if !json.Valid(body) {
		return false, nil
	}
	q, ok := readExpress(body)
	if !ok {
		return false, nil
	}
	var tool *gateway.Tool
	if !q.list {
		if tool, ok = g.server.gateway.Tool(q.name); !ok {
			return false, nil
		}
	}
	var space [maxKind]byte
	kind := q.kindOf(space[:0], r.Header)
	if kind == nil || len(kind) > len(space) {
		return false, nil
	}
	t := g.templatesOf(&q).find(kind)
	if t == nil {
		return false, &lesson{request: q, kind: string(kind)}
	}
	if q.list {
		t.answerList(w, q.id, g.server)
		return true, nil
	}
	ctx := r.Context()
	if ctx.Value(basedKey{}) == nil { // not of NewHTTPServer, whose contexts end with the calls
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(g.calls, cancel)()
	}
	message, result := g.server.expressCall(ctx, gateway.Caller{Token: token, Header: r.Header.Get}, &q, t, tool)
	o := outgoing{message: message, result: func(int) *gateway.Result { return result }}
	if result != nil {
		defer result.Release()
	}
	t.setHeader(w.Header())
	switch {
	case holdsError(message): // it repeats the request's id
		o.mask = token.Mask
	case g.server.standIn(result, 0) == "":
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(message))}
	}
	_ = g.server.write(w, o)
	return true, nil
}

func (g *guard) templatesOf(q *express) *templates {
	if q.list {
		return &g.lists
	}
	return &g.templates
}

// expressCall makes a call and the answer to it; the result is to be released, unless it
// is nil because of a panic.
func (s *Server) expressCall(ctx context.Context, caller gateway.Caller, q *express, t *template, tool *gateway.Tool) (message []byte, result *gateway.Result) {
	defer s.recovered(ctx, q, &message)
	result = s.gateway.Call(ctx, caller, tool, q.arguments)
	return t.call(q.id, result, s.standIn(result, 0)), result
}

func (t *template) answerList(w http.ResponseWriter, id []byte, s *Server) {
	message := t.list(id, s.placeholder)
	h := w.Header()
	t.setHeader(h)
	h["Content-Length"] = []string{strconv.Itoa(len(message) - len(s.placeholder) + s.gateway.ListSize())}
	_ = s.write(w, outgoing{message: message})
}

func (t *template) setHeader(h http.Header) {
	for name, values := range t.header {
		h[name] = values
	}
}
