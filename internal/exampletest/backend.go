// Package exampletest runs the tests of the examples: it starts a real backend and
// an example's gateway, and asks both the same question.
package exampletest

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Needs skips the test where a program is not installed. In CI it fails: there a
// skipped proof is no proof.
func Needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err == nil {
			continue
		}
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is not installed, and CI=true", p)
		}
		t.Skipf("%s is not installed: nothing to test against (see examples/README.md)", p)
	}
}

// FreeAddress is a loopback address nobody listens at.
func FreeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Start runs a backend until the test ends, and returns when ready answers.
func Start(t *testing.T, ready string, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-exited })
	for range 200 {
		if resp, err := http.Get(ready); err == nil {
			resp.Body.Close()
			return
		}
		select {
		case <-exited:
			t.Fatalf("%s ended:\n%s", name, &log)
		case <-time.After(50 * time.Millisecond):
		}
	}
	_ = cmd.Process.Kill()
	<-exited
	t.Fatalf("%s does not answer:\n%s", name, &log)
}

// API is the backend asked without the gateway.
type API struct {
	Base      string // with the path all its operations share
	Authorize func(*http.Request)
}

// Do sends a plain request. The answer is compacted if it is JSON.
func (a API) Do(t *testing.T, method, path, body string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, a.Base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	a.Authorize(r)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if json.Compact(&b, data) == nil {
		return resp.StatusCode, b.String()
	}
	return resp.StatusCode, string(data)
}

// Get is the answer to a GET that must succeed.
func (a API) Get(t *testing.T, path string) string {
	t.Helper()
	status, answer := a.Do(t, http.MethodGet, path, "")
	if status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, status, answer)
	}
	return answer
}

// Without is a JSON object with members left out.
func Without(t *testing.T, object string, names ...string) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &m); err != nil {
		t.Fatalf("%v: %s", err, object)
	}
	for _, n := range names {
		if m[n] == nil {
			t.Errorf("the API's own answer has no %s: %s", n, object)
		}
		delete(m, n)
	}
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
