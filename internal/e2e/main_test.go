// Package e2e tests what users run: the built binaries, real HTTP, the MCP SDK's
// own client and the reference control plane.
//
//	SDK client or raw JSON-RPC ──stdio / HTTP──▶ postern ──▶ controlplane, or a listener
//	                                                        that records requests
//
// Nothing of the product is imported: a test that passes here says something
// about the programs. `go test ./internal/e2e -update` writes the conversations
// in testdata anew.
package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write the conversations in testdata anew")

// binaries is the folder of the built programs.
var binaries string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "postern-e2e-")
	if err != nil {
		return failed(err)
	}
	defer os.RemoveAll(dir)
	binaries = dir
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator),
		"-ldflags", "-X github.com/postern-mcp/postern/gateway/command.buildVersion=v0.0.0-test",
		"./cmd/postern", "./cmd/controlplane")
	build.Dir = filepath.Join("..", "..")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return failed(err)
	}
	status := m.Run()
	if err := goleak.Find(); err != nil && status == 0 {
		return failed(err)
	}
	return status
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, "e2e:", err)
	return 1
}
