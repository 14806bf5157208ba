package e2e

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/postern-mcp/postern/internal/faulty"
)

func TestTheEnvironmentsProxyIsUsed(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.URL.String() + " " + r.Header.Get("Authorization")
		reply(200, "application/json", `{}`)(w, r)
	}))
	t.Cleanup(proxy.Close)
	p := dial(t, way{"stdio", modern}, settings{
		api: "http://api.example.test", token: "the-token", environment: []string{"HTTP_PROXY=" + proxy.URL}, args: []string{"--allow-insecure-upstream"},
	})
	p.ok(t, "list_projects", `{}`)
	if got, want := <-asked, "GET http://api.example.test/v1/projects Bearer the-token"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestEachPhaseHasADeadline(t *testing.T) {
	t.Parallel()
	api := newFaulty(t)
	api.fault.Store(&faulty.StallAfterRequest)
	// A listener that accepts and says nothing stands for a handshake that stalls.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	for name, c := range map[string]struct{ api, flag, code, delivery string }{
		"first byte":    {api.URL, "--first-byte-timeout=100ms", "timeout", "unknown"},
		"TLS handshake": {"https://" + silent.Addr().String(), "--connect-timeout=100ms", "network_error", "not_sent"},
		"whole call":    {api.URL, "--timeout=100ms", "timeout", "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := dial(t, way{"stdio", legacy}, settings{api: c.api, token: "any", args: []string{c.flag}})
			start := time.Now()
			f := p.call(t, "list_projects", `{}`).failure
			if f.Code != c.code || f.Delivery != c.delivery || time.Since(start) > 5*time.Second {
				t.Errorf("%+v after %v", f, time.Since(start))
			}
		})
	}
}

// What a client gives up is given up upstream within 100 ms, unless the machine is
// busy: the best of several counts.
func TestGivingUpReachesTheAPIAtOnce(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		up := newSlow(t)
		best := time.Hour
		for range 5 {
			p := dial(t, w, settings{api: up.url, token: "any"})
			hangUp := make(chan struct{})
			if p.stdio != nil {
				p.stdio.send(t, p.message("tools/call", callParams("list_projects", "{}")))
			} else {
				go func() {
					c, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(p.endpoint, "http://"), "/mcp"))
					if err != nil {
						return
					}
					defer c.Close()
					req, err := http.NewRequest("POST", p.endpoint, strings.NewReader(p.message("tools/call", callParams("list_projects", "{}"))))
					if err != nil {
						return
					}
					req.Header = p.headers("tools/call", "list_projects")
					_ = req.Write(c)
					<-hangUp
				}()
			}
			within(t, patience, up.started, "the request")
			start := time.Now()
			close(hangUp)
			if p.stdio != nil {
				p.stdio.send(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+strconv.Itoa(p.last)+`}}`)
			}
			within(t, patience, up.canceled, "the end of the request")
			best = min(best, time.Since(start))
		}
		if best > 100*time.Millisecond {
			t.Errorf("it took %v", best)
		}
	})
}
