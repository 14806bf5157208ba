package mcpserver

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postern-mcp/postern/apiclient/transport"
	"github.com/postern-mcp/postern/gateway"
)

// narrow lets so many calls be under way at once.
func (w *world) narrow(t *testing.T, calls int) {
	t.Helper()
	up, err := transport.New(transport.Config{BaseURL: w.api, MaxAttempts: 1, MaxInFlight: calls})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(up.Close)
	w.Server = New(gateway.New(gateway.Options{Catalog: w.gateway.Catalog(), Upstream: up, Logger: w.Server.log}), "1.2.3", w.Server.log)
}

// A call is under way until its answer is written, whether the SDK makes it or a template:
// a client that reads late has no more answers held than calls are let through.
func TestStdioHoldsAPlaceUntilTheAnswerIsWritten(t *testing.T) {
	t.Parallel()
	for name, spelled := range map[string]string{"template": "tools/", "SDK": `tools\/`} {
		for _, q := range []string{"x", "long"} {
			t.Run(name+" "+q, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.narrow(t, 2)
				out := newFragile(t)
				c := converse(t, w, StdioOptions{Grace: 50 * time.Millisecond}, out)
				c.out = &out.syncBuffer
				c.learn(t)
				for range len(w.authorization) {
					<-w.authorization
				}
				out.blocks.Store(true)
				for id := 1; id <= 8; id++ {
					c.say(strings.Replace(callOf(fmt.Sprint(id), "echo", `{"q":"`+q+`"}`), "tools/", spelled, 1))
				}
				waitFor(t, "the first write", out.blocked)
				time.Sleep(200 * time.Millisecond)
				if n := len(w.authorization); n < 1 || n > 2 {
					t.Errorf("%d calls reached the API", n)
				}
				out.blocks.Store(false)
				close(out.goOn)
				c.answered(t, 10)
				if out := c.out.String(); !strings.Contains(out, "rate_limited") {
					t.Errorf("wrote %.3000s", out)
				}
				// All places are given back.
				for id := 11; id <= 14; id++ {
					c.say(callOf(fmt.Sprint(id), "echo", `{"q":"late"}`))
					if line := c.answered(t, id)[id-1]; !strings.Contains(line, "late") {
						t.Errorf("wrote %s", line)
					}
				}
				_ = c.in.Close()
				if err := c.end(t, 5*time.Second); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A call that is canceled keeps no place, nor one whose connection has ended.
func TestStdioGivesBackThePlacesOfCanceledCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.narrow(t, 2)
	for range 3 {
		c := converse(t, w, StdioOptions{Grace: 50 * time.Millisecond}, nil)
		c.learn(t)
		for i := range 6 {
			before := len(c.answered(t, 2))
			c.say(strings.Replace(callOf(`1`, "hang", `{}`), "tools/", []string{"tools/", `tools\/`}[i%2], 1))
			waitFor(t, "the call", w.hanging)
			c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			c.answered(t, before+1)
		}
		c.say(callOf(`2`, "hang", `{}`))
		c.say(strings.Replace(callOf(`3`, "hang", `{}`), "tools/", `tools\/`, 1))
		waitFor(t, "a call", w.hanging)
		waitFor(t, "another call", w.hanging)
		_ = c.in.Close()
		if err := c.end(t, 5*time.Second); err != nil {
			t.Error(err)
		}
	}
}
