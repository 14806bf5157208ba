package mcpserver

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// fragile is an output that comes to fail or to block.
type fragile struct {
	syncBuffer
	fails    atomic.Bool
	failures atomic.Int64
	blocks   atomic.Bool
	blocked  chan struct{} // gets a value when a write blocks, for which there is room
	goOn     chan struct{} // closed when writes do not block any more
}

func newFragile(t *testing.T) *fragile {
	f := &fragile{blocked: make(chan struct{}, 64), goOn: make(chan struct{})}
	t.Cleanup(func() {
		select {
		case <-f.goOn:
		default:
			close(f.goOn)
		}
	})
	return f
}

func (f *fragile) Write(p []byte) (int, error) {
	if f.fails.Load() {
		f.failures.Add(1)
		return len(p) / 2, errors.New("gone")
	}
	if f.blocks.Load() {
		f.blocked <- struct{}{}
		<-f.goOn
	}
	return f.syncBuffer.Write(p)
}

// eachWay has a conversation with the SDK alone, and one in which the usual call is
// answered from a template.
func eachWay(t *testing.T, grace time.Duration, f func(t *testing.T, w *world, c *conversation, out *fragile)) {
	t.Helper()
	for _, alone := range []bool{true, false} {
		t.Run(fmt.Sprintf("the SDK alone %t", alone), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.sdkAlone = alone
			out := newFragile(t)
			c := converse(t, w, StdioOptions{Grace: grace}, out)
			c.out = &out.syncBuffer
			c.learn(t)
			f(t, w, c, out)
		})
	}
}

func TestStdioOutputFails(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{"answer": `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "refusal": `x`, "call": callOf(`1`, "echo", `{}`)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, 0, func(t *testing.T, _ *world, c *conversation, out *fragile) {
				out.fails.Store(true)
				c.say(line)
				go c.say(line) // nothing more is written, for it would follow a part of a line
				if err := c.end(t, 5*time.Second); err == nil || !strings.Contains(err.Error(), "gone") {
					t.Errorf("ended with %v", err)
				}
				if n := out.failures.Load(); n != 1 {
					t.Errorf("%d writes after output had failed", n)
				}
			})
		})
	}
}

// An answer that is lost at the end of input is no success.
func TestStdioOutputFailsAtTheEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *world, *conversation, *fragile){
		"the last line": func(_ *testing.T, _ *world, c *conversation, out *fragile) {
			out.fails.Store(true)
			_, _ = io.WriteString(c.in, callOf(`1`, "echo", `{}`))
			_ = c.in.Close()
		},
		"a call in flight": func(t *testing.T, w *world, c *conversation, out *fragile) {
			c.say(callOf(`1`, "hang", `{}`))
			waitFor(t, "the call", w.hanging)
			out.fails.Store(true)
			_ = c.in.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, 50*time.Millisecond, func(t *testing.T, w *world, c *conversation, out *fragile) {
				end(t, w, c, out)
				if err := c.end(t, 5*time.Second); err == nil || !strings.Contains(err.Error(), "gone") {
					t.Errorf("ended with %v", err)
				}
			})
		})
	}
}

// A peer that stopped reading does not keep the process alive, and is no success.
func TestStdioOutputBlocks(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{"refusal": `x`, "call": callOf(`1`, "echo", `{}`)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, 50*time.Millisecond, func(t *testing.T, _ *world, c *conversation, out *fragile) {
				out.blocks.Store(true)
				c.say(line)
				waitFor(t, "the write", out.blocked)
				c.cancel()
				if err := c.end(t, 5*time.Second); err == nil || !strings.Contains(err.Error(), "could not be written") {
					t.Errorf("ended with %v", err)
				}
			})
		})
	}
}

// What comes once the end has begun is answered by nobody, and ends nothing twice.
func TestStdioTakesNothingAfterTheEnd(t *testing.T) {
	t.Parallel()
	eachWay(t, time.Second, func(t *testing.T, w *world, c *conversation, _ *fragile) {
		c.say(callOf(`1`, "hang", `{}`))
		waitFor(t, "the call", w.hanging)
		c.cancel()
		waitFor(t, "the end of the upstream call", w.ended)
		if err := c.end(t, 5*time.Second); err != nil {
			t.Error(err)
		}
		go c.say(callOf(`2`, "echo", `{}`))
		time.Sleep(50 * time.Millisecond)
		if strings.Contains(c.out.String(), `"id":2,`) {
			t.Errorf("wrote %s", c.out)
		}
	})
}

// No call reaches the API once the end has begun, also while the SDK does not see it.
func TestStdioCallsNothingAfterTheEnd(t *testing.T) {
	t.Parallel()
	eachWay(t, time.Second, func(t *testing.T, w *world, c *conversation, out *fragile) {
		out.blocks.Store(true)
		c.say(`{"jsonrpc":"2.0","id":2,"method":"notifications/cancelled","params":[]}`) // it is refused where the SDK reads
		waitFor(t, "the write", out.blocked)
		c.cancel()
		time.Sleep(100 * time.Millisecond)
		before := len(w.authorization)
		go func() {
			for range 10 {
				c.say(callOf(`3`, "echo", `{}`))
			}
		}()
		time.Sleep(200 * time.Millisecond)
		if n := len(w.authorization) - before; n != 0 {
			t.Errorf("%d calls reached the API", n)
		}
		_ = c.end(t, 10*time.Second)
	})
}

// A cancellation is no line like another: once the end has begun it is not read either.
func TestStdioCancelsNothingAfterTheEnd(t *testing.T) {
	t.Parallel()
	eachWay(t, 500*time.Millisecond, func(t *testing.T, w *world, c *conversation, _ *fragile) {
		c.say(callOf(`1`, "hang", `{}`))
		waitFor(t, "the call", w.hanging)
		c.cancel()
		time.Sleep(50 * time.Millisecond)
		go c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		select {
		case <-w.ended:
			t.Error("the call was ended")
		case <-time.After(200 * time.Millisecond):
		}
		if err := c.end(t, 5*time.Second); err != nil {
			t.Error(err)
		}
	})
}

// A peer that does not read its answers cannot have more of them held than the bound,
// whether it asks in batches or not.
func TestStdioHoldsFewAnswers(t *testing.T) {
	t.Parallel()
	ping := `{"jsonrpc":"2.0","id":%d,"method":"ping"}`
	for _, each := range []int{1, maxBatch} {
		t.Run(fmt.Sprintf("batches of %d", each), func(t *testing.T) {
			t.Parallel()
			out := newFragile(t)
			out.blocks.Store(true)
			c := converse(t, newWorld(t), StdioOptions{Grace: 50 * time.Millisecond}, out)
			var taken atomic.Int64
			go func() {
				for id := 1; id < 4*maxUnanswered; id += each {
					var requests []string
					for i := range each {
						requests = append(requests, fmt.Sprintf(ping, id+i))
					}
					if _, err := io.WriteString(c.in, "["+strings.Join(requests, ",")+"]\n"); err != nil {
						return
					}
					taken.Add(int64(each))
				}
			}()
			for last := int64(-1); last != taken.Load(); time.Sleep(500 * time.Millisecond) {
				last = taken.Load()
			}
			if n := taken.Load(); n < maxUnanswered-maxBatch || n > maxUnanswered+3*maxBatch {
				t.Errorf("%d requests were taken", n)
			}
			c.cancel()
			if err := c.end(t, 5*time.Second); err == nil {
				t.Error("ended as if all was written")
			}
		})
	}
}
