package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// slow is an upstream whose answers wait.
type slow struct {
	*recorder
	started, canceled chan struct{} // one value for each request
	release           chan struct{} // closing it lets answers go
}

func newSlow(t testing.TB) *slow {
	s := &slow{started: make(chan struct{}, 100), canceled: make(chan struct{}, 100), release: make(chan struct{})}
	s.recorder = record(t, func(w http.ResponseWriter, r *http.Request) {
		s.started <- struct{}{}
		select {
		case <-s.release:
			reply(200, "application/json", `{"late":true}`)(w, r)
		case <-r.Context().Done():
			s.canceled <- struct{}{}
		}
	})
	return s
}

// within waits for an event that must come soon.
func within(t testing.TB, d time.Duration, event <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(d):
		t.Fatalf("%s: not within %v", what, d)
	}
}

// messages checks that every line is a JSON-RPC message and nothing else.
func messages(t testing.TB, lines []string) {
	t.Helper()
	for _, line := range lines {
		var batch []struct{ JSONRPC string }
		if !strings.HasPrefix(line, "[") {
			line = "[" + line + "]"
		}
		if err := json.Unmarshal([]byte(line), &batch); err != nil || len(batch) == 0 || batch[0].JSONRPC != "2.0" {
			t.Errorf("no JSON-RPC message: %.300s", line)
		}
	}
}

func TestALineThatIsNoMessageIsAnsweredAndTheNextOneServed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, line string
		codes      []int
	}{
		{"text", "hello", []int{-32700}},
		{"half an object", `{"jsonrpc":"2.0","id":7,`, []int{-32700}},
		{"invalid UTF-8", "\xff\xfe", []int{-32700}},
		{"a NUL", "\x00", []int{-32700}},
		{"two messages", `{"jsonrpc":"2.0","id":7,"method":"ping"} {}`, []int{-32700}},
		{"a number", "7", []int{-32600}},
		{"a string", `"x"`, []int{-32600}},
		{"an object", `{}`, []int{-32600}},
		{"another version", `{"jsonrpc":"1.0","id":7,"method":"ping"}`, []int{-32600}},
		{"an id of the wrong type", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, []int{-32600}},
		{"an empty batch", "[]", []int{-32600}},
		{"100,000 arrays", strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), []int{-32700, -32600}},
		{"100,000 objects", strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000), []int{-32700, -32600}},
		{"100,000 open arrays", strings.Repeat("[", 100_000), []int{-32700}},
		{"nested in params", `{"jsonrpc":"2.0","id":7,"method":"ping","params":` + strings.Repeat(`[`, 100_000) + strings.Repeat("]", 100_000) + "}", []int{-32700, -32600}},
		{"over the limit", `{"a":"` + strings.Repeat("x", 5<<20) + `"}`, []int{-32600}},
	} {
		for _, revision := range []string{legacy, modern} {
			t.Run(c.name+"/"+revision, func(t *testing.T) {
				t.Parallel()
				p := dial(t, way{"stdio", revision}, settings{api: record(t, nil).url, token: "any"})
				p.stdio.send(t, c.line)
				var refusal struct {
					ID    json.RawMessage
					Error struct{ Code int }
				}
				line := p.stdio.receive(t)
				if err := json.Unmarshal([]byte(line), &refusal); err != nil || !slices.Contains(c.codes, refusal.Error.Code) {
					t.Errorf("want %v: %.300s", c.codes, line)
				}
				if string(refusal.ID) != "null" && string(refusal.ID) != "7" {
					t.Errorf("id %s", refusal.ID)
				}
				p.ok(t, "list_projects", "{}")
				if rest := p.stdio.rest(t); len(rest) != 0 {
					t.Errorf("further output %.300q", rest)
				}
				if status := p.process.wait(t); status != 0 {
					t.Errorf("exit status %d: %s", status, p.process.stderr)
				}
			})
		}
	}
}

func TestBlankLinesAndLineEndingsAreNothing(t *testing.T) {
	t.Parallel()
	p := dial(t, way{"stdio", legacy}, settings{api: record(t, nil).url, token: "any"})
	for _, blank := range []string{"", " ", "\t", "\r", " \r"} {
		p.stdio.send(t, blank)
	}
	p.stdio.send(t, `{"jsonrpc":"2.0","id":50,"method":"ping"}`+"\r")
	if line := p.stdio.receive(t); line != `{"jsonrpc":"2.0","id":50,"result":{}}` {
		t.Errorf("ping: %s", line)
	}
	messages(t, p.stdio.rest(t))
}

func TestABatchIsAnsweredAsABatch(t *testing.T) {
	t.Parallel()
	up := record(t, nil)
	p := dial(t, way{"stdio", legacy}, settings{api: up.url, token: "any"})
	p.stdio.send(t, `[{"jsonrpc":"2.0","id":10,"method":"tools/call","params":`+callParams("list_projects", "{}")+`},`+
		`{"jsonrpc":"2.0","method":"notifications/nothing"},{"jsonrpc":"2.0","id":"b","method":"ping"},`+
		`{"jsonrpc":"2.0","id":12,"method":"tools/call","params":`+callParams("nobody", "{}")+`}]`)
	var answers []struct {
		ID     any
		Result any
		Error  *struct{ Code int }
	}
	line := p.stdio.receive(t)
	if err := json.Unmarshal([]byte(line), &answers); err != nil || len(answers) != 3 {
		t.Fatalf("%v: %s", err, line)
	}
	for _, a := range answers {
		if a.ID == 12.0 && (a.Error == nil || a.Error.Code != -32602) || a.ID != 12.0 && a.Result == nil {
			t.Errorf("%+v", a)
		}
	}
	p.stdio.send(t, `[{"jsonrpc":"2.0","method":"notifications/nothing"}]`) // wants no answer
	p.ok(t, "list_projects", "{}")
}

func TestClosingStdinAfterARequestStillYieldsItsAnswer(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{legacy, modern} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			up := record(t, nil)
			for range 5 { // each time another race
				p := newPeer(t, way{"stdio", revision}, settings{api: up.url, token: "any"})
				want := 1
				if revision == legacy {
					p.stdio.send(t, p.message("initialize", `{"protocolVersion":"`+legacy+`","capabilities":{},"clientInfo":`+clientInfo+`}`)+"\n"+
						`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
					want++
				}
				p.stdio.send(t, p.message("tools/call", callParams("list_projects", "{}")))
				lines := p.stdio.rest(t)
				if messages(t, lines); len(lines) != want {
					t.Errorf("%d answers: %q", len(lines), lines)
				}
				if status := p.process.wait(t); status != 0 {
					t.Errorf("exit status %d: %s", status, p.process.stderr)
				}
			}
		})
	}
}

func TestClosingStdinDuringASlowCallStillYieldsItsAnswer(t *testing.T) {
	t.Parallel()
	ending(t, func(p *peer) { p.stdio.in.Close() })
}

func TestSIGTERMDuringASlowCallStillYieldsItsAnswer(t *testing.T) {
	t.Parallel()
	ending(t, func(p *peer) { p.process.signal(syscall.SIGTERM) })
}

// ending tells a gateway to end while a call is in flight.
func ending(t *testing.T, end func(*peer)) {
	for _, revision := range []string{legacy, modern} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			up := newSlow(t)
			p := dial(t, way{"stdio", revision}, settings{api: up.url, token: "any"})
			p.stdio.send(t, p.message("tools/call", callParams("list_projects", "{}")))
			within(t, patience, up.started, "the request")
			end(p)
			time.Sleep(100 * time.Millisecond) // so that it has noticed
			close(up.release)
			if r := readResult(t, p.stdio.receive(t)); r.text != `{"late":true}` {
				t.Errorf("answer %s", r.raw)
			}
			if status := p.process.wait(t); status != 0 {
				t.Errorf("exit status %d: %s", status, p.process.stderr)
			}
		})
	}
}

func TestTheGraceTimeBoundsAnEnding(t *testing.T) {
	t.Parallel()
	up := newSlow(t)
	p := dial(t, way{"stdio", legacy}, settings{api: up.url, token: "any", args: []string{"--grace=200ms"}})
	p.stdio.send(t, p.message("tools/call", callParams("list_projects", "{}")))
	within(t, patience, up.started, "the request")
	p.stdio.in.Close()
	within(t, 3*time.Second, p.process.done, "the end of the process")
	within(t, time.Second, up.canceled, "the end of the request")
}

func TestCancellingCancelsTheUpstreamRequest(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{legacy, modern} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			up := newSlow(t)
			p := dial(t, way{"stdio", revision}, settings{api: up.url, token: "any"})
			p.stdio.send(t, p.message("tools/call", callParams("list_projects", "{}")))
			within(t, patience, up.started, "the request")
			p.stdio.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, p.last))
			within(t, 500*time.Millisecond, up.canceled, "the end of the request")
			close(up.release)
			// An answer to the canceled call may come first, or not at all.
			p.stdio.send(t, p.message("tools/list", "{}"))
			line := p.stdio.receive(t)
			if strings.Contains(line, fmt.Sprintf(`"id":%d,`, p.last-1)) {
				line = p.stdio.receive(t)
			}
			if !strings.Contains(line, fmt.Sprintf(`"id":%d,"result":`, p.last)) {
				t.Errorf("the next answer: %.300s", line)
			}
			messages(t, p.stdio.rest(t))
		})
	}
}

// The same over both transports, as the SDK's client does it: by a message on
// stdio, by hanging up over HTTP.
func TestTheSDKsClientCancels(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		up := newSlow(t)
		a := connect(t, w, settings{api: up.url, token: "any"})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: "list_projects"})
			ended <- err
		}()
		within(t, patience, up.started, "the request")
		cancel()
		within(t, 500*time.Millisecond, up.canceled, "the end of the request")
		if err := <-ended; err == nil {
			t.Error("the call succeeded")
		}
	})
}

func TestManyCallsAtOnceAreAnsweredEachToItsOwn(t *testing.T) {
	t.Parallel()
	up := record(t, func(w http.ResponseWriter, r *http.Request) {
		reply(200, "application/json", fmt.Sprintf("%q", r.URL.Path))(w, r)
	})
	p := dial(t, way{"stdio", legacy}, settings{api: up.url, token: "any"})
	const calls = 200
	for i := range calls {
		p.stdio.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`, 1000+i,
			callParams("trigger.inspect", fmt.Sprintf(`{"trigger_id":"t%d"}`, i))))
	}
	lines := p.stdio.rest(t)
	if messages(t, lines); len(lines) != calls {
		t.Fatalf("%d answers", len(lines))
	}
	for _, line := range lines {
		var answer struct{ ID int }
		if err := json.Unmarshal([]byte(line), &answer); err != nil || readResult(t, line).text != fmt.Sprintf(`"/v1/triggers/t%d"`, answer.ID-1000) {
			t.Errorf("%v: %s", err, line)
		}
	}
}
