package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// build puts the three binaries into a folder, as make run does.
func build(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", bin+"/", "../../cmd/postern", "../../cmd/controlplane", ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// output collects what a process prints while it runs.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func TestWhatItPrintsWorksAsPrinted(t *testing.T) {
	t.Parallel()
	bin, addr, api := build(t), freeAddr(t), freeAddr(t)
	var out, errs output
	demo := exec.Command(filepath.Join(bin, "demo"), "-bin", bin, "-addr", addr, "-controlplane-addr", api)
	demo.Stdout, demo.Stderr = &out, &errs
	if err := demo.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- demo.Wait() }()
	defer func() { _ = demo.Process.Kill() }()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(out.String(), "Client configuration, HTTP:"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("nothing was announced:\n%s\n%s", out.String(), errs.String())
		}
	}
	time.Sleep(50 * time.Millisecond) // the rest of the page
	page := out.String()
	export := regexp.MustCompile(`(?m)^export .*$`).FindString(page)
	commands := regexp.MustCompile(`(?m)^/.* call .*$`).FindAllString(page, -1)
	if export == "" || len(commands) != 2 || !strings.Contains(page, "http://"+addr+"/mcp") || !strings.Contains(page, "viat_demo_viewer") {
		t.Fatalf("the page lacks something:\n%s", page)
	}
	for _, command := range commands {
		cmd := exec.Command("sh", "-c", export+"\n"+command)
		cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
		if got, err := cmd.CombinedOutput(); err != nil || !json.Valid(got) {
			t.Errorf("%s: %v\n%s", command, err, got)
		}
	}
	for _, configuration := range regexp.MustCompile(`(?ms)^\{$.*?^\}$`).FindAllString(page, -1) {
		var c struct {
			MCPServers map[string]struct{ Command, URL string }
		}
		if err := json.Unmarshal([]byte(configuration), &c); err != nil || c.MCPServers["postern"].Command == "" && c.MCPServers["postern"].URL == "" {
			t.Errorf("%v in %s", err, configuration)
		}
	}
	if err := demo.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("after Ctrl-C: %v\n%s", err, errs.String())
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it does not stop")
	}
	for _, a := range []string{addr, api} {
		if err := free(a, "ADDR"); err != nil {
			t.Errorf("after stopping: %v", err)
		}
	}
}

func TestAPortInUseIsAClearMessage(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, variable := range []string{"ADDR", "CONTROLPLANE_ADDR"} {
		addr, api := taken.Addr().String(), freeAddr(t)
		if variable == "CONTROLPLANE_ADDR" {
			addr, api = api, addr
		}
		err := run(context.Background(), t.TempDir(), addr, api)
		if err == nil || !strings.Contains(err.Error(), "is in use by another process; choose another with `make run "+variable+"=") {
			t.Errorf("%s: %v", variable, err)
		}
	}
}

func TestPrefixedWritesWholeLines(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := &prefixed{w: &b, prefix: "x | "}
	for _, part := range []string{"a", "b\nc", "\n", "d"} {
		if _, err := io.WriteString(p, part); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := b.String(), "x | ab\nx | c\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
