package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/postern-mcp/postern/gateway"
)

// expressLines answers requests on a line connection from templates, as express does
// over HTTP. A template is learned from the SDK's answer as it is written.
type expressLines struct {
	server *Server
	peer   *peer
	calls  context.Context // ends when calls must

	templates templates
}

func newExpressLines(s *Server, p *peer) *expressLines {
	return &expressLines{server: s, peer: p, calls: p.done}
}

// take is what answers a line from a template, nil for one of the SDK's; lesson is the
// request of such a line if a template can be learned from its answer.
func (x *expressLines) take(c *lineConn, data []byte) (answer func(), lesson *express) {
	q, ok := readExpress(bytes.TrimSpace(data))
	if !ok {
		return nil, nil
	}
	tool, ok := x.server.gateway.Tool(q.name)
	if !ok && !q.list {
		return nil, nil
	}
	id, ok := idOf(q.id)
	if !ok {
		return nil, nil
	}
	t := x.templates.find(q.line())
	if t == nil {
		return nil, &q
	}
	ctx, cancel := context.WithCancel(x.calls)
	if !c.await(id, &waiting{cancel: cancel}) {
		cancel()
		return nil, nil // it is refused where the SDK's lines are
	}
	return func() { x.answer(ctx, c, q, id, t, tool) }, nil
}

// line is the kind of a request on a line: what is not its id, name and arguments.
func (q *express) line() []byte {
	method := byte('c')
	if q.list {
		method = 'l'
	}
	return append([]byte{method}, q.kind...)
}

func idOf(raw []byte) (jsonrpc.ID, bool) {
	var v any
	if raw[0] == '"' {
		v = string(raw[1 : len(raw)-1])
	} else {
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			return jsonrpc.ID{}, false
		}
		v = float64(n)
	}
	id, err := jsonrpc.MakeID(v)
	return id, err == nil
}

// answer answers one request. An output that fails ends the connection.
func (x *expressLines) answer(ctx context.Context, c *lineConn, q express, id jsonrpc.ID, t *template, tool *gateway.Tool) {
	message, held := x.message(ctx, c, q, t, tool)
	c.remove(id).cancel()
	_ = c.writeLine(message)
	c.release(held)
	c.answered(1)
}

// message is the answer to a request; held is the number of what is to be released once
// that is written, 0 for nothing.
func (x *expressLines) message(ctx context.Context, c *lineConn, q express, t *template, tool *gateway.Tool) (message []byte, held int) {
	defer x.server.recovered(ctx, &q, &message)
	if q.list {
		return t.list(q.id, x.server.placeholder), 0
	}
	caller, refusal := x.peer.caller(tool)
	var result *gateway.Result
	if refusal != nil {
		result = x.server.gateway.Refuse(ctx, tool, refusal)
	} else {
		result = x.server.gateway.Call(ctx, caller, tool, q.arguments)
	}
	held = c.hold(result)
	return t.call(q.id, result, x.server.standIn(result, held)), held
}

// learn keeps the template of the SDK's answer to a request that was noted. Around the
// block of a call are the SDK's own bytes; what is in it is not made again to compare.
func (x *expressLines) learn(q *express, data []byte) {
	rest, isResult := bytes.CutPrefix(data, append(append([]byte(head), q.id...), member...))
	if !isResult || x.templates.find(q.line()) != nil {
		return
	}
	t := &template{}
	if q.list {
		before, after, found := bytes.Cut(rest, []byte(x.server.placeholder))
		if !found || after[0] != ']' {
			return
		}
		t.before, t.after = bytes.Clone(before), bytes.Clone(after[1:len(after)-1])
		if bytes.Equal(t.list(q.id, x.server.placeholder), data) {
			x.templates.keep(string(q.line()), t)
		}
		return
	}
	// Neither can stand in a string, where its quotes would be escaped.
	const content, isError = `"content":[`, `],"isError":`
	from, to := bytes.Index(rest, []byte(content)), bytes.LastIndex(rest, []byte(isError))
	if from < 0 || to < from+len(content) || !json.Valid(rest[from+len(content):to]) {
		return
	}
	after := rest[to+len(isError):]
	for _, said := range []string{"true", "false"} {
		if tail, ok := bytes.CutPrefix(after, []byte(said)); ok && len(tail) > 0 {
			t.before, t.after = bytes.Clone(rest[:from+len(content)]), bytes.Clone(tail[:len(tail)-1])
			x.templates.keep(string(q.line()), t)
		}
	}
}
