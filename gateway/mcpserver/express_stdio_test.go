package mcpserver

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// answered waits for n lines of output and returns them.
func (c *conversation) answered(t *testing.T, n int) []string {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); strings.Count(c.out.String(), "\n") < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d lines are missing: %.2000s", n, c.out)
		}
	}
	return strings.Split(strings.TrimSpace(c.out.String()), "\n")
}

// learn has the connection learn the template of the usual call.
func (c *conversation) learn(t *testing.T) {
	t.Helper()
	before := len(c.answered(t, 1))
	c.say(callOf(`"learn"`, "echo", `{}`))
	c.answered(t, before+1)
}

// seenBySDK counts the calls and lists that the SDK answers from now on.
func seenBySDK(s *Server) *atomic.Int64 {
	var n atomic.Int64
	s.sdk.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if strings.HasPrefix(method, "tools/") {
				n.Add(1)
			}
			return next(ctx, method, r)
		}
	})
	return &n
}

// A cancellation is read as the SDK reads it, however it is spelled, and ends a call of
// the SDK's and one that a template answers alike.
func TestStdioCancel(t *testing.T) {
	t.Parallel()
	plain := func(params string) string {
		return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":` + params + `}`
	}
	for line, ends := range map[string]bool{
		plain(`{"requestId":1}`):                                 true,
		plain(`{"requestId":1.0}`):                               true,
		plain(`{"requestId":1,"requestid":2,"reason":"enough"}`): true,
		plain(`{"requestId":2,"requestID":1}`):                   false,
		plain(`{"requestid":1}`):                                 false,
		plain(`{"requestId":1,"reason":7}`):                      false,
		plain(`{"requestId":1,"_meta":7}`):                       false,
		plain(`{"requestId":{}}`):                                false,
		plain(`[]`):                                              false,
		`{"jsonrpc":"2.0","method":"notifications\/cancelled","params":{"requestId":1}}`:       true,
		`{"jsonrpc":"2.0","id":9,"method":"notifications/cancelled","params":{"requestId":1}}`: true,
		"[" + plain(`{"requestId":1}`) + "]":                                                   true,
		// Its id is in use.
		`{"jsonrpc":"2.0","id":1,"method":"notifications/cancelled","params":{"requestId":1}}`: false,
	} {
		for _, known := range []bool{false, true} {
			t.Run(fmt.Sprintf("known %t %s", known, line), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				c := converse(t, w, StdioOptions{Grace: 50 * time.Millisecond}, nil)
				if known {
					c.learn(t)
				}
				seen := seenBySDK(w.Server)
				c.say(callOf(`1`, "hang", `{}`))
				waitFor(t, "the call", w.hanging)
				if got := seen.Load() == 0; got != known {
					t.Errorf("a template answering is %t", got)
				}
				// An id in use is refused, and does not harm the request that has it.
				before := len(c.answered(t, 1))
				c.say(callOf(`1`, "echo", `{}`))
				if out := c.answered(t, before+1)[before]; !strings.Contains(out, "is in use") {
					t.Errorf("wrote %s", out)
				}
				c.say(line)
				if ends {
					waitFor(t, "the end of the upstream call", w.ended)
				} else {
					select {
					case <-w.ended:
						t.Error("the call was ended")
					case <-time.After(100 * time.Millisecond):
					}
				}
				_ = c.in.Close()
				if err := c.end(t, 5*time.Second); err != nil {
					t.Error(err)
				}
				out := c.out.String()
				if strings.Contains(line, `"id":9`) && !strings.Contains(out, `"id":9,`) || !strings.Contains(out, `\"code\":\"canceled\"`) {
					t.Errorf("wrote %s", out)
				}
			})
		}
	}
}

// A cancellation is of the call that came before it, not of one that comes to have the
// same id while it is still being read.
func TestACancellationEndsNoLaterCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := converse(t, w, StdioOptions{Grace: 50 * time.Millisecond}, nil)
	c.learn(t)
	c.say(callOf(`1`, "hang", `{}`))
	waitFor(t, "the call", w.hanging)
	c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"` + strings.Repeat("x", 3<<20) + `"}}`)
	c.answered(t, 3)
	waitFor(t, "the end of the upstream call", w.ended)
	c.say(callOf(`1`, "hang", `{}`))
	waitFor(t, "the second call", w.hanging)
	select {
	case <-w.ended:
		t.Error("the old cancellation ended it")
	case <-time.After(200 * time.Millisecond):
	}
	_ = c.in.Close()
	if err := c.end(t, 5*time.Second); err != nil {
		t.Error(err)
	}
}

// A template is learned from the answer to the very request, not to another of its id.
func TestARefusedRequestTeachesNothing(t *testing.T) {
	t.Parallel()
	c := converse(t, newWorld(t), StdioOptions{}, nil)
	c.answered(t, 1)
	// The first is the SDK's for its spelling, and takes long to read.
	modern := strings.TrimSuffix(modernMeta, "}") + `,"pad":"` + strings.Repeat("x", 2<<20) + `"}`
	_, _ = io.WriteString(c.in, `{"jsonrpc":"2.0","id":7,"method":"tools\/call","params":{"name":"echo",`+modern+"}}\n"+callOf(`7`, "echo", `{}`)+"\n")
	c.answered(t, 3)
	c.say(callOf(`8`, "echo", `{}`))
	c.answered(t, 4)
	c.say(callOf(`9`, "echo", `{}`))
	for _, line := range c.answered(t, 5)[3:] {
		if strings.Contains(line, "resultType") {
			t.Errorf("a legacy call is answered as a modern one: %s", line)
		}
	}
	_ = c.in.Close()
	if err := c.end(t, 5*time.Second); err != nil {
		t.Error(err)
	}
}

// A cancellation of a call that a template answers ends no later one of the SDK's.
func TestACancellationEndsNoLaterCallOfTheSDK(t *testing.T) {
	t.Parallel()
	eachWay(t, 0, func(t *testing.T, w *world, c *conversation, _ *fragile) {
		for range 150 {
			c.say(callOf(`1`, "hang", `{}`))
			waitFor(t, "the call", w.hanging)
			before := strings.Count(c.out.String(), "\n")
			c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			c.answered(t, before+1)
			c.say(strings.Replace(callOf(`1`, "echo", `{"q":"fine"}`), "tools/", `tools\/`, 1))
			if line := c.answered(t, before+2)[before+1]; !strings.Contains(line, "fine") {
				t.Fatalf("wrote %s", line)
			}
		}
	})
}

// An id is no way to have a part of the token shown in an error.
func TestARefusedIDShowsNoPartOfTheToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := converse(t, w, StdioOptions{Grace: 50 * time.Millisecond}, nil)
	id := `"` + strings.Repeat("x", 60) + marked + `"`
	c.say(callOf(id, "hang", `{}`))
	waitFor(t, "the call", w.hanging)
	c.say(callOf(id, "hang", `{}`))
	if refusal := c.answered(t, 2)[1]; !strings.Contains(refusal, "is in use") || strings.Contains(refusal, marked[:12]) {
		t.Error(refusal)
	}
	_ = c.in.Close()
	_ = c.end(t, 5*time.Second)
}
