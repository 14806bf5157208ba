package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/seed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves until the returned function is called, which answers the exit
// status and all that was written after the line with the address.
func start(t *testing.T, args ...string) (url string, stop func() (int, string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	status := make(chan int, 1)
	go func() {
		status <- Main(ctx, append([]string{"--listen", "127.0.0.1:0"}, args...), io.Discard, writer)
		writer.Close()
	}()
	stderr := bufio.NewReader(reader)
	line, err := stderr.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url, found := strings.CutPrefix(strings.TrimSpace(line), "controlplane listening on ")
	if !found {
		t.Fatalf("first line %q", line)
	}
	rest := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(stderr)
		rest <- string(all)
	}()
	return url, func() (int, string) {
		cancel()
		return <-status, <-rest
	}
}

func get(t *testing.T, url, token string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

func TestServesUntilItIsToldToStop(t *testing.T) {
	url, stop := start(t)
	if status := get(t, url+"/healthz", ""); status != 200 {
		t.Errorf("healthz: %d", status)
	}
	for _, token := range seed.Tokens {
		get(t, url+"/v1/projects?x="+token.Value, token.Value)
	}
	status, log := stop()
	if status != success {
		t.Errorf("exit status %d", status)
	}
	if !strings.Contains(log, "path=/v1/projects") || strings.Contains(log, "viat_") || strings.Contains(log, "Bearer") {
		t.Errorf("log:\n%s", log)
	}
}

func TestFileIsSeededOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cp.db")
	for range 2 {
		url, stop := start(t, "--db", path)
		if status := get(t, url+"/v1/triggers/trg_01HXP9DLQ", "viat_demo_full"); status != 200 {
			t.Errorf("status %d", status)
		}
		if status, log := stop(); status != success {
			t.Fatalf("exit status %d: %s", status, log)
		}
	}
}

func TestWithoutSeedNobodyIsKnown(t *testing.T) {
	url, stop := start(t, "--seed=false")
	defer stop()
	if status := get(t, url+"/v1/projects", "viat_demo_full"); status != 401 {
		t.Errorf("status %d", status)
	}
}

func TestWhatIsRefusedSaysWhatToDo(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"--listen " + taken.Addr().String(), failed, "is in use by another program"},
		{"--listen :0", usage, "add --allow-remote"},
		{"--listen 0.0.0.0:0", usage, "add --allow-remote"},
		{"--listen nonsense", failed, "missing port"},
		{"--listen 127.0.0.1:0 --db /no/such/folder/x.db", failed, "/no/such/folder/x.db"},
		{"--nonsense", usage, "flag provided but not defined"},
		{"serve", usage, `unexpected argument "serve"`},
		{"demo-tokens x", usage, "unexpected argument"},
		{"--help", success, "-listen"},
	} {
		var stderr bytes.Buffer
		if status := Main(t.Context(), strings.Fields(c.args), io.Discard, &stderr); status != c.status || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%s: status %d, %q", c.args, status, stderr.String())
		}
	}
}

func TestDemoTokensAreTheSeededOnes(t *testing.T) {
	var table, raw, stderr bytes.Buffer
	if Main(t.Context(), []string{"demo-tokens"}, &table, &stderr)+Main(t.Context(), []string{"demo-tokens", "--json"}, &raw, &stderr) != 0 {
		t.Fatal(stderr.String())
	}
	var tokens []struct{ Name, Value, May string }
	if err := json.Unmarshal(raw.Bytes(), &tokens); err != nil {
		t.Fatal(err)
	}
	url, stop := start(t)
	defer stop()
	for _, token := range tokens {
		if !strings.Contains(table.String(), token.Value) || token.May == "" {
			t.Errorf("%+v is not in the table", token)
		}
		want := 200
		if strings.HasPrefix(token.May, "nothing") {
			want = 401
		}
		if got := get(t, url+"/v1/identity", token.Value); got != want {
			t.Errorf("%s: status %d, want %d", token.Name, got, want)
		}
	}
}
