package server_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/consumer"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/seed"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/server"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	full      = "viat_demo_full"
	admin     = "viat_demo_admin"
	developer = "viat_demo_developer"
	viewer    = "viat_demo_viewer"
	confined  = "viat_demo_confined"
	readonly  = "viat_demo_readonly"
)

const lab = "/v1/projects/mcp-lab"

// plane is a seeded control plane on a real port, of one test.
type plane struct {
	t   *testing.T
	srv *httptest.Server
}

func newPlane(t *testing.T) *plane {
	t.Helper()
	t.Parallel()
	db, err := store.Open(t.Context(), store.Memory)
	if err != nil {
		t.Fatal(err)
	}
	if err := seed.Fill(t.Context(), db, time.Now()); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	consume := consumer.New(db, log)
	ctx, stop := context.WithCancel(context.Background())
	var consumed sync.WaitGroup
	consumed.Go(func() { consume.Run(ctx) })
	srv := httptest.NewServer(server.New(db, consume.Wake, log))
	t.Cleanup(func() {
		srv.Close()
		stop()
		consumed.Wait()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return &plane{t: t, srv: srv}
}

// answer is what came back.
type answer struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	body   string
}

// call sends a request; headers are pairs.
func (p *plane) call(token, method, path, body string, headers ...string) answer {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.srv.URL+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	client := *p.srv.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return answer{p.t, method + " " + path, resp.StatusCode, resp.Header, string(raw)}
}

func (p *plane) get(path string) answer { p.t.Helper(); return p.call(full, "GET", path, "") }

func (p *plane) post(path, body string) answer {
	p.t.Helper()
	return p.call(full, "POST", path, body)
}

// is checks the status and returns the answer for more.
func (a answer) is(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s: status %d, want %d: %s", a.what, a.status, status, a.body)
	}
	return a
}

type problemDocument struct {
	Type, Title, Detail, Code string
	Status                    int
	RequestID                 string `json:"request_id"`
	Errors                    []struct{ Pointer, Detail string }
}

// problem checks that the answer is a whole problem document with this code.
func (a answer) problem(status int, code string) problemDocument {
	a.t.Helper()
	a.is(status)
	var d problemDocument
	a.decode(&d)
	if ct := a.header.Get("Content-Type"); ct != "application/problem+json" {
		a.t.Errorf("%s: Content-Type %q", a.what, ct)
	}
	if d.Code != code || d.Status != status || d.Type == "" || d.Title == "" || d.Detail == "" {
		a.t.Errorf("%s: problem %s, want code %s", a.what, a.body, code)
	}
	if d.RequestID == "" || d.RequestID != a.header.Get("X-Request-Id") {
		a.t.Errorf("%s: request_id %q, X-Request-Id %q", a.what, d.RequestID, a.header.Get("X-Request-Id"))
	}
	return d
}

func (a answer) decode(into any) {
	a.t.Helper()
	if err := json.Unmarshal([]byte(a.body), into); err != nil {
		a.t.Fatalf("%s: %v: %s", a.what, err, a.body)
	}
}

func decode[T any](a answer) T {
	a.t.Helper()
	var v T
	a.decode(&v)
	return v
}
