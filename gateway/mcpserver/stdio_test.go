package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/postern-mcp/postern/apiclient/transport"
)

// talk gives input to a server and returns what it wrote until it ended.
func talk(t testing.TB, w *world, o StdioOptions, lines ...string) (messages []message, raw string) {
	t.Helper()
	if o.Token == nil {
		o.Token = fromToken(t)
	}
	out := &syncBuffer{}
	if err := w.ServeStdio(t.Context(), strings.NewReader(strings.Join(lines, "\n")), out, o); err != nil {
		t.Fatalf("ServeStdio: %v", err)
	}
	if out.broken {
		t.Error("a write was not one whole line")
	}
	return parse(t, out.String()), out.String()
}

// parse reads the messages of an output, those of batches as well.
func parse(t testing.TB, out string) (messages []message) {
	t.Helper()
	for line := range strings.Lines(out) {
		var many []message
		if line[0] != '[' {
			line = "[" + line + "]"
		}
		if err := json.Unmarshal([]byte(line), &many); err != nil {
			t.Fatalf("%v in the output %q", err, line)
		}
		for _, m := range many {
			if m.JSONRPC != "2.0" || (m.Result == nil) == (m.Error == nil) && m.Method == "" {
				t.Fatalf("not JSON-RPC: %s", line)
			}
		}
		messages = append(messages, many...)
	}
	return messages
}

// show is a message in short: its id and its result or the code of its error.
func show(m message) string {
	id, _ := json.Marshal(m.ID)
	switch {
	case m.Error != nil:
		return fmt.Sprintf("%s error %d", id, m.Error.Code)
	case strings.Contains(string(m.Result), "serverInfo"):
		return string(id) + " initialized"
	}
	return string(id) + " " + string(m.Result)
}

func text(s string) string {
	quoted, _ := json.Marshal(s)
	return `{"content":[{"type":"text","text":` + string(quoted) + `}],"isError":false}`
}

func TestStdio(t *testing.T) {
	t.Parallel()
	ping := `{"jsonrpc":"2.0","id":"last","method":"ping"}`
	tests := []struct {
		name  string
		lines []string
		want  []string // after that of initialize, in any order
	}{
		{"a call at the end of input is answered", []string{callOf(`1`, "echo", `{"q":"[1.0,1e400]"}`)}, []string{`1 ` + text(`[1.0,1e400]`)}},
		{"line feed at the end", []string{callOf(`"a"`, "echo", `{"q":"\"é\u2028<&>\""}`), ""}, []string{`"a" {"content":[{"type":"text","text":"\"é` + "\u2028" + `<&>\""}],"isError":false}`}},
		{"blank lines and carriage returns", []string{"", " \t", "\r", ping + "\r", ""}, []string{`"last" {}`}},
		{"not JSON", []string{`{"jsonrpc":`, `nonsense`, "\xff\xfe", ping}, []string{`null error -32700`, `null error -32700`, `null error -32700`, `"last" {}`}},
		{"two messages in a line", []string{ping + ping, ping}, []string{`null error -32700`, `"last" {}`}},
		{"not JSON-RPC", []string{`1`, `"x"`, `null`, `{}`, `{"jsonrpc":"1.0","id":5,"method":"ping"}`, ping},
			[]string{`null error -32600`, `null error -32600`, `null error -32600`, `null error -32600`, `5 error -32600`, `"last" {}`}},
		{"ids that are none", []string{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":true,"method":"ping"}`, ping},
			[]string{`null error -32600`, `null error -32600`, `"last" {}`}},
		{"nested too deep for the SDK", []string{callOf(`7`, "echo", strings.Repeat("[", 1500)+strings.Repeat("]", 1500)), ping}, []string{`7 error -32600`, `"last" {}`}},
		{"nested too deep for anything", []string{callOf(`7`, "echo", strings.Repeat("[", 20000)+strings.Repeat("]", 20000)), ping}, []string{`null error -32700`, `"last" {}`}},
		{"too long", []string{callOf(`7`, "echo", `{"q":"`+strings.Repeat("x", 200000)+`"}`), ping}, []string{`null error -32600`, `"last" {}`}},
		{"answers to nothing", []string{`{"jsonrpc":"2.0","id":99,"result":{}}`, `{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":""}}`, ping}, []string{`"last" {}`}},
		{"notifications", []string{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","method":"notifications/nope"}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`, `{"jsonrpc":"2.0","id":null,"method":"ping"}`, ping}, []string{`"last" {}`}},
		{"batch", []string{"[" + ping + `, {"jsonrpc":"2.0","method":"notifications/initialized"} ,` + callOf(`2`, "echo", `{"q":"1"}`) + "]"},
			[]string{`"last" {}`, `2 ` + text("1")}},
		{"batch with bad elements", []string{`[1,` + ping + `,{"jsonrpc":"2.0","id":3}]`}, []string{`null error -32600`, `"last" {}`}},
		{"batch of bad elements", []string{`[1,{"id":4,"method":"ping"}]`, ping}, []string{`null error -32600`, `4 error -32600`, `"last" {}`}},
		{"batch without requests", []string{`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`, ping}, []string{`"last" {}`}},
		{"empty batch", []string{` [ ]`, ping}, []string{`null error -32600`, `"last" {}`}},
		{"batch with an id twice", []string{"[" + ping + "," + ping + "]"}, []string{`null error -32600`, `"last" {}`}},
		{"unknown tool", []string{callOf(`1`, "nope", `{}`)}, []string{`1 error -32602`}},
		{"unknown method", []string{`{"jsonrpc":"2.0","id":1,"method":"nope"}`, ping}, []string{`1 error -32601`, `"last" {}`}},
		{"no params", []string{`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":null}`, ping},
			[]string{`1 error -32600`, `2 error -32600`, `"last" {}`}},
		{"cursor", []string{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`}, []string{`1 error -32602`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			lines := append([]string{initialize}, tt.lines...)
			messages, raw := talk(t, newWorld(t), StdioOptions{MaxLine: 100_000}, lines...)
			got := map[string]int{}
			for _, m := range messages {
				got[show(m)]++
			}
			for _, want := range append(tt.want, "0 initialized") {
				if got[want]--; got[want] < 0 {
					t.Errorf("not answered: %s", want)
				}
			}
			if len(messages) != len(tt.want)+1 {
				t.Errorf("wrote %s", raw)
			}
		})
	}
}

func TestStdioBatchIsOneLine(t *testing.T) {
	t.Parallel()
	_, raw := talk(t, newWorld(t), StdioOptions{}, initialize, "["+callOf(`1`, "echo", `{"q":"1"}`)+","+callOf(`2`, "echo", `{"q":"2"}`)+"]")
	if lines := strings.Split(strings.TrimSpace(raw), "\n"); len(lines) != 2 || !strings.HasPrefix(lines[1], `[{"jsonrpc":"2.0","id":`) {
		t.Errorf("wrote %s", raw)
	}
}

// TestStdioToken: the token is asked for at each call and never shown.
func TestStdioToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	messages, raw := talk(t, w, StdioOptions{Token: func() (transport.Token, error) { return transport.Token{}, errors.New("set ECHO_TOKEN") }},
		initialize, callOf(`1`, "echo", `{}`), `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	if !strings.Contains(raw, `\"code\":\"unauthorized\"`) || !strings.Contains(raw, "set ECHO_TOKEN") || !strings.Contains(raw, `request_id`) || len(messages) != 3 {
		t.Errorf("wrote %s", raw)
	}
	if !strings.Contains(w.log.String(), "code=unauthorized") {
		t.Errorf("logged %s", w.log)
	}
	_, raw = talk(t, w, StdioOptions{}, initialize, callOf(`1`, "echo", `{"q":"`+marked+`"}`))
	if got := <-w.authorization; got != "Bearer "+marked || strings.Contains(raw+w.log.String(), "MARKED") {
		t.Errorf("sent %q, wrote %s, logged %s", got, raw, w.log)
	}
}

func TestStdioRateLimit(t *testing.T) {
	t.Parallel()
	lines := []string{initialize}
	for i := range 10 {
		lines = append(lines, callOf(fmt.Sprint(i+1), "echo", `{"q":"1"}`))
	}
	w := newWorld(t)
	_, raw := talk(t, w, StdioOptions{RateLimit: 0.01}, lines...)
	if n := strings.Count(raw, `\"code\":\"rate_limited\"`); n != 9 || strings.Count(raw, `\"retry_after_seconds\":`) != 9 || strings.Count(w.log.String(), "code=rate_limited") != 9 {
		t.Errorf("%d calls were refused in %s", n, raw)
	}
}

func TestStdioPanic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, raw := talk(t, w, StdioOptions{Token: func() (transport.Token, error) { panic("token") }}, initialize, callOf(`1`, "echo", `{}`))
	if !strings.Contains(raw, `-32603`) || !strings.Contains(w.log.String(), "panic in a request") {
		t.Errorf("wrote %s", raw)
	}
	_, raw = talk(t, w, StdioOptions{}, initialize, callOf(`1`, "panic", `{}`), callOf(`2`, "echo", `{"q":"7"}`))
	if !strings.Contains(raw, `\"code\":\"internal\"`) || !strings.Contains(raw, `"text":"7"`) {
		t.Errorf("wrote %s", raw)
	}
}

// conversation is a server whose input stays open.
type conversation struct {
	in     *io.PipeWriter
	out    *syncBuffer
	cancel context.CancelFunc
	ended  chan error
}

func converse(t *testing.T, w *world, o StdioOptions, out io.Writer) *conversation {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, in := io.Pipe()
	c := &conversation{in: in, cancel: cancel, ended: make(chan error, 1), out: &syncBuffer{}}
	if out == nil {
		out = c.out
	}
	o.Token = fromToken(t)
	go func() { c.ended <- w.ServeStdio(ctx, r, out, o) }()
	t.Cleanup(func() { cancel(); _ = in.Close(); _ = r.Close() })
	c.say(initialize)
	return c
}

func (c *conversation) say(line string) { _, _ = io.WriteString(c.in, line+"\n") }

func (c *conversation) end(t *testing.T, within time.Duration) error {
	t.Helper()
	select {
	case err := <-c.ended:
		return err
	case <-time.After(within):
		t.Fatalf("the server does not end; it wrote %s", c.out)
		return nil
	}
}

// TestStdioGrace: what is in flight when input ends is cut off after the grace time.
func TestStdioGrace(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*conversation){
		"end of input": func(c *conversation) { _ = c.in.Close() },
		"ctx done":     func(c *conversation) { c.cancel() },

		"known, end of input": func(c *conversation) { _ = c.in.Close() },
		"known, ctx done":     func(c *conversation) { c.cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := converse(t, w, StdioOptions{Grace: 100 * time.Millisecond}, nil)
			if strings.HasPrefix(name, "known") {
				c.learn(t)
			}
			c.say(callOf(`1`, "hang", `{}`))
			waitFor(t, "the call", w.hanging)
			end(c)
			start := time.Now()
			if err := c.end(t, 5*time.Second); err != nil || time.Since(start) < 90*time.Millisecond {
				t.Errorf("ended after %s: %v", time.Since(start), err)
			}
			waitFor(t, "the end of the upstream call", w.ended)
		})
	}
}

func TestReadLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200_000)
	messages, raw := talk(t, newWorld(t), StdioOptions{MaxLine: 100}, `{"jsonrpc":"2.0","id":1,"method":"ping","x":"`+long+`"}`, long)
	if len(messages) != 2 || strings.Count(raw, "too long") != 2 {
		t.Errorf("wrote %s", raw)
	}
}

// TestStdioKeepsLinesWhole: answers written at once do not mix.
func TestStdioKeepsLinesWhole(t *testing.T) {
	t.Parallel()
	lines := []string{initialize}
	for i := range 200 {
		lines = append(lines, callOf(fmt.Sprint(i+1), "echo", `{"q":"`+strings.Repeat("y", i*10+1)+`"}`))
	}
	messages, _ := talk(t, newWorld(t), StdioOptions{}, lines...)
	if len(messages) != 201 {
		t.Errorf("%d answers", len(messages))
	}
}

// FuzzLines: whatever comes in, only JSON-RPC goes out, and the last ping is answered.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{
		initialize, "\r\n \n", `[` + callOf(`1`, "echo", `{"q":"1"}`) + `,1,{}]`, `{"jsonrpc":"2.0","id":1.5,"method":"tools/list","params":null}`,
		callOf(`1`, "echo", `{}`) + "\n" + callOf(`1`, "echo", `{}`), `{"jsonrpc":"2.0","id":"x","result":1}`, "\xff\x00", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"final"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`, `[[]]`, `[`,
	} {
		f.Add([]byte(seed))
	}
	w := newWorld(f, "hang") // which takes the whole grace time, however its name is escaped
	f.Fuzz(func(t *testing.T, input []byte) {
		const final = `{"jsonrpc":"2.0","id":"final and not to be guessed","method":"ping"}`
		out := &syncBuffer{}
		if err := w.ServeStdio(t.Context(), io.MultiReader(strings.NewReader(string(input)), strings.NewReader("\n"+final)), out, StdioOptions{Token: fromToken(t), MaxLine: 1 << 16, Grace: 5 * time.Second}); err != nil {
			t.Fatal(err)
		}
		answered := false
		for _, m := range parse(t, out.String()) {
			answered = answered || m.ID == "final and not to be guessed"
		}
		if !answered || out.broken {
			t.Fatalf("wrote %q", out)
		}
	})
}
