package e2e

import (
	"bytes"
	"errors"
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

// patience is how long anything that should happen soon may take on a busy machine.
const patience = 15 * time.Second

// output collects what a process writes and lets a test wait for it.
type output struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	news chan struct{} // closed and replaced at each write
}

func newOutput() *output { return &output{news: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.news)
	o.news = make(chan struct{})
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// match waits for a pattern and returns its first group.
func (o *output) match(t testing.TB, pattern string) string {
	t.Helper()
	re, late := regexp.MustCompile(pattern), time.After(patience)
	for {
		o.mu.Lock()
		found, news := re.FindSubmatch(o.buf.Bytes()), o.news
		o.mu.Unlock()
		if found != nil {
			return string(found[1])
		}
		select {
		case <-news:
		case <-late:
			t.Fatalf("no %s in the output:\n%s", pattern, o)
		}
	}
}

// process is a running program.
type process struct {
	cmd    *exec.Cmd
	stderr *output
	done   chan struct{} // closed once it has ended
	err    error         // how it ended
}

// command prepares a program with nothing in its environment but env.
func command(t testing.TB, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(binaries, name), args...)
	home := t.TempDir()
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home}, env...)
	return cmd
}

// start runs a prepared program and stops it with the test.
func start(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, stderr: newOutput(), done: make(chan struct{})}
	cmd.Stderr = p.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.signal(syscall.SIGTERM)
		select {
		case <-p.done:
		case <-time.After(patience):
			_ = p.cmd.Process.Kill()
			<-p.done
			t.Errorf("%s did not stop; its log:\n%s", filepath.Base(cmd.Path), p.stderr)
		}
	})
	return p
}

func (p *process) signal(s os.Signal) { _ = p.cmd.Process.Signal(s) }

// wait waits for the end and returns the exit status.
func (p *process) wait(t testing.TB) int {
	t.Helper()
	select {
	case <-p.done:
		return exitStatus(p.err)
	case <-time.After(patience):
		t.Fatalf("%s is still running; its log:\n%s", filepath.Base(p.cmd.Path), p.stderr)
		return -1
	}
}

func exitStatus(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

// postern runs the gateway's command line to its end.
func postern(t testing.TB, env []string, stdin string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	cmd := command(t, env, "postern", args...)
	var out, log bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &log
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err := cmd.Run()
	return out.String(), log.String(), exitStatus(err)
}
