package command

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/postern-mcp/postern/gateway/catalog"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"postern": func() { Main(&catalog.Gateway) }})
}

// TestScripts runs testdata/script against the real control plane.
func TestScripts(t *testing.T) {
	t.Parallel()
	api := controlPlane(t)
	contract, err := os.ReadFile("../../contracts/1.1.0/mcp-tools.json")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
			e.Setenv("API", api)
			return os.WriteFile(filepath.Join(e.WorkDir, "contract.json"), contract, 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "listening": listening},
	})
}

// exits runs a command that must end with a status: exits 2 postern nonsense.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND [ARGUMENT ...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := err.(*exec.ExitError); ok { //nolint:errorlint // as os/exec returns it
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// listening occupies a port until the script ends and sets an environment
// variable to its address: listening ADDR.
func listening(ts *testscript.TestScript, _ bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	ts.Setenv(args[0], l.Addr().String())
}

// controlPlane builds and starts the reference control plane and returns its URL.
func controlPlane(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "controlplane")
	if out, err := exec.Command("go", "build", "-o", bin, "../../cmd/controlplane").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	cmd := exec.Command(bin, "--listen", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	if !lines.Scan() {
		t.Fatal("the control plane did not start")
	}
	url, ok := strings.CutPrefix(lines.Text(), "controlplane listening on ")
	if !ok {
		t.Fatalf("unexpected %q", lines.Text())
	}
	go func() {
		for lines.Scan() { // so that it never blocks on a full pipe
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	return url
}
