package mcpserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postern-mcp/postern/gateway/schema"
)

// accepted is what a line comes to.
type accepted struct {
	messages []jsonrpc.Message    // for the SDK
	cancels  []context.CancelFunc // of calls that templates answer and the line cancels
}

// decode accepts what a line holds, and answers what is not usable of it.
func (c *lineConn) decode(l line, lesson *express) (a accepted) {
	var answer []byte
	switch {
	case l.tooLong:
		answer = errorMessage(nil, jsonrpc.CodeInvalidRequest, "the line is too long")
	case !json.Valid(l.data):
		answer = errorMessage(nil, jsonrpc.CodeParseError, "the line is not valid JSON")
	case bytes.TrimSpace(l.data)[0] == '[':
		answer = c.acceptBatch(&a, l.data)
	default:
		answer = c.accept(&a, l.data, &waiting{lesson: lesson})
	}
	if answer != nil {
		c.owe()
		_ = c.writeLine(answer) // a failure of which ends the connection
		c.answered(1)
	}
	return a
}

// acceptBatch accepts the messages of a batch, and answers one that holds none.
func (c *lineConn) acceptBatch(a *accepted, data []byte) (answer []byte) {
	size := 0
	_ = schema.SplitArray(data, func([]byte) bool { size++; return size <= maxBatch })
	switch {
	case size == 0:
		return errorMessage(nil, jsonrpc.CodeInvalidRequest, "the batch is empty")
	case size > maxBatch:
		return errorMessage(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a batch holds at most %d messages", maxBatch))
	}
	b := &batch{}
	_ = schema.SplitArray(data, func(element []byte) bool { // it is valid
		if refusal := c.accept(a, element, &waiting{batch: b}); refusal != nil {
			b.answers = append(b.answers, refusal)
		}
		return true
	})
	// Nothing that was accepted can be answered yet: Read has not returned it.
	if b.requests == 0 && len(b.answers) > 0 {
		return b.join()
	}
	return nil
}

// accept decodes a message and notes it as w if it wants an answer. One that cannot be
// accepted has a refusal instead, the answer to it.
func (c *lineConn) accept(a *accepted, data []byte, w *waiting) (refusal []byte) {
	var s survey
	if err := s.message(data); err != nil {
		return errorMessage(nil, jsonrpc.CodeInvalidRequest, err.Error())
	}
	m, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return errorMessage(requestID(data), jsonrpc.CodeInvalidRequest, "this is not a JSON-RPC 2.0 message")
	}
	r, isRequest := m.(*jsonrpc.Request)
	if isRequest && r.IsCall() && !c.await(r.ID, w) {
		// The SDK would not answer it, and its id is another request's.
		id := c.mask(fmt.Append(nil, r.ID.Raw())) // before it is cut, for a part of a credential is not found
		return errorMessage(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the id %.80q is in use by a request in flight", id))
	}
	if isRequest && r.Method == "notifications/cancelled" {
		if cancel := c.canceled(r.Params); cancel != nil {
			a.cancels = append(a.cancels, cancel)
			// The SDK, which does not know the call, could apply it to a later one with that id.
			r.Params = fmt.Appendf(nil, `{"requestId":%q}`, rand.Text())
		}
	}
	a.messages = append(a.messages, m)
	return nil
}

// canceled is what ends the call that a notification of these parameters cancels (MCP
// 2025-11-25, Cancellation) if a template answers it. The parameters are read as the SDK
// reads them, which ends the calls that are its own.
func (c *lineConn) canceled(params []byte) context.CancelFunc {
	var p mcp.CancelledParams
	var bad error
	err := schema.SplitObject(params, func(key string, value []byte) bool {
		switch key {
		case "requestId":
			bad = json.Unmarshal(value, &p.RequestID)
		case "reason":
			bad = json.Unmarshal(value, &p.Reason)
		case "_meta":
			bad = json.Unmarshal(value, &p.Meta)
		}
		return bad == nil
	})
	if err != nil || bad != nil {
		return nil
	}
	id, err := jsonrpc.MakeID(p.RequestID)
	if err != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.waiting[id]; w != nil {
		return w.cancel
	}
	return nil
}

// requestID is the id of a request that cannot be decoded, nil if there is none:
// with it the sender need not wait until it gives up.
func requestID(data []byte) (id []byte) {
	request := false
	_ = schema.SplitObject(data, func(key string, value []byte) bool {
		switch key {
		case "method":
			request = true
		case "id":
			id = value
		}
		return true
	})
	if !request || !utf8.Valid(id) || len(id) == 0 || id[0] == '{' || id[0] == '[' || id[0] == 't' || id[0] == 'f' {
		return nil
	}
	return id
}
