package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestAnIdempotentCallIsRetriedAndAnotherIsNot(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		up := record(t, nil)
		p := dial(t, w, settings{api: up.url, token: "any", project: "p"})
		for _, tool := range contract() {
			var asked atomic.Int32
			up.respond(func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1) == 1 {
					reply(503, "application/json", `{"detail":"busy"}`)(w, r)
					return
				}
				reply(200, "application/json", `{}`)(w, r)
			})
			r := p.call(t, tool.Name, tool.arguments(nil))
			sent := up.take()
			if again := tool.Method == "GET" || tool.Method == "DELETE"; again && (r.isError || len(sent) != 2) || !again && (r.failure.Status != 503 || !*r.failure.Retryable || len(sent) != 1) {
				t.Errorf("%s: %d requests, %s", tool.Name, len(sent), r.raw)
			}
		}
	})
}

func TestAnUpstreamThatIsDownOrSlowIsAnEnvelope(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		down := dial(t, w, settings{api: "http://127.0.0.1:1", token: "any"})
		if f := down.call(t, "list_projects", "{}").failure; f.Code != "network_error" || f.Delivery != "not_sent" || !*f.Retryable {
			t.Errorf("down: %+v", f)
		}
		up := newSlow(t)
		late := dial(t, w, settings{api: up.url, token: "any", args: []string{"--timeout=200ms"}})
		for tool, arguments := range map[string]string{"list_projects": `{}`, "trigger.complete": `{"trigger_id":"t","outcome":"executed"}`} {
			if f := late.call(t, tool, arguments).failure; f.Code != "timeout" || f.Delivery != "unknown" || !*f.Retryable {
				t.Errorf("slow, %s: %+v", tool, f)
			}
		}
	})
}

func TestATokenFileIsReadAgainWhenItChanges(t *testing.T) {
	t.Parallel()
	up := record(t, nil)
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	p := dial(t, way{"stdio", legacy}, settings{api: up.url, args: []string{"--token-file=" + file}})
	for _, token := range []string{"first", "the-second", "the-third-one"} {
		write(token)
		late := time.Now().Add(patience)
		for got := ""; !strings.HasSuffix(got, " "+token); {
			p.ok(t, "list_projects", "{}")
			if got = up.take()[0].Header.Get("Authorization"); time.Now().After(late) {
				t.Fatalf("%s is never sent, but %q", token, got)
			}
		}
	}
}
