package exampletest

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"regexp"
	"testing"
)

// Main is the TestMain of an example. It lets the test be the gateway too: the
// functions of this package start it again with AS_GATEWAY set. So the gateway is
// part of the test, and a remembered result is never one of another gateway.
func Main(m *testing.M, gateway func()) {
	if os.Getenv("AS_GATEWAY") != "" {
		gateway()
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

// Serve starts the gateway for many clients and returns its endpoint.
func Serve(t *testing.T, env ...string) string {
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
