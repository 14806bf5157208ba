package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The same file in every example: it starts a real backend and the gateway, and
// asks both the same question.

// needs skips the test where a program is not installed. In CI it fails: there a
// skipped proof is no proof.
func needs(t *testing.T, programs ...string) {
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

// freeAddress is a loopback address nobody listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start runs a backend until the test ends, and returns when ready answers.
func start(t *testing.T, ready string, name string, args ...string) {
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

// TestMain lets the test be the gateway too: gateway starts it again with
// AS_GATEWAY set. So the gateway is part of the test, and a remembered result is
// never one of another gateway.
func TestMain(m *testing.M) {
	if os.Getenv("AS_GATEWAY") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// gateway is the command that runs the gateway.
func gateway(ctx context.Context, t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	// Nothing of the environment: no credential and no settings of whoever runs the test.
	cmd.Env = append([]string{"AS_GATEWAY=1", "HOME=" + t.TempDir()}, env...)
	return cmd
}

// api is the backend asked without the gateway.
type api struct {
	base      string
	authorize func(*http.Request)
}

// do sends a plain request. The answer is compacted if it is JSON.
func (a api) do(t *testing.T, method, path, body string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, a.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	a.authorize(r)
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

// get is the answer to a GET that must succeed.
func (a api) get(t *testing.T, path string) string {
	t.Helper()
	status, answer := a.do(t, http.MethodGet, path, "")
	if status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, status, answer)
	}
	return answer
}

// agent is the SDK's client, connected to the gateway.
type agent struct{ *mcp.ClientSession }

// overStdio starts the gateway as an editor does.
func overStdio(t *testing.T, env ...string) agent {
	t.Helper()
	return connect(t, &mcp.CommandTransport{Command: gateway(context.Background(), t, env, "stdio")})
}

// serve starts the gateway for many clients and returns its endpoint.
func serve(t *testing.T, env ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := gateway(ctx, t, env, "serve", "--listen", "127.0.0.1:0")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(log)
	listening := regexp.MustCompile(`msg=listening url=(\S+)`)
	for lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			read := make(chan struct{})
			go func() { _, _ = io.Copy(io.Discard, log); close(read) }()
			t.Cleanup(func() {
				cancel()
				<-read
				_ = cmd.Wait()
				if code := cmd.ProcessState.ExitCode(); code != 0 {
					t.Errorf("serve ended with %d", code)
				}
			})
			return m[1]
		}
	}
	cancel()
	t.Fatalf("the gateway does not listen: %v", cmd.Wait())
	return ""
}

// overHTTP connects to a gateway that serves many, with a credential of its own.
func overHTTP(t *testing.T, endpoint, authorization string) agent {
	t.Helper()
	return connect(t, &mcp.StreamableClientTransport{
		Endpoint: endpoint, DisableStandaloneSSE: true,
		HTTPClient: &http.Client{Transport: withAuthorization(authorization)},
	})
}

type withAuthorization string

func (a withAuthorization) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", string(a))
	return http.DefaultTransport.RoundTrip(r)
}

func connect(t *testing.T, transport mcp.Transport) agent {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return agent{session}
}

// call calls a tool with a JSON object.
func (a agent) call(t *testing.T, tool, arguments string) (text string, failed bool) {
	t.Helper()
	result, err := a.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	if len(result.Content) != 1 {
		t.Fatalf("%s %s: %d content blocks", tool, arguments, len(result.Content))
	}
	block, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("%s %s: answered %T", tool, arguments, result.Content[0])
	}
	return block.Text, result.IsError
}

// answers calls a tool that must succeed, with this answer.
func (a agent) answers(t *testing.T, tool, arguments, want string) {
	t.Helper()
	if got, failed := a.call(t, tool, arguments); failed || got != want {
		t.Errorf("%s %s:\ngot  %s\nwant %s", tool, arguments, got, want)
	}
}

// envelope is the gateway's error.
type envelope struct {
	Error struct {
		Code, Message, Hint, Pointer, Delivery string
		Status                                 int
		Candidates                             []string
		Upstream                               json.RawMessage
	}
	text string
}

// refused calls a tool that must fail.
func (a agent) refused(t *testing.T, tool, arguments, code string, status int) envelope {
	t.Helper()
	text, failed := a.call(t, tool, arguments)
	var e envelope
	if err := json.Unmarshal([]byte(text), &e); err != nil || !failed || e.Error.Code != code || e.Error.Status != status {
		t.Fatalf("%s %s: got %s, want %s %d", tool, arguments, text, code, status)
	}
	e.text = text
	return e
}

// without is a JSON object with members left out.
func without(t *testing.T, object string, names ...string) string {
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
