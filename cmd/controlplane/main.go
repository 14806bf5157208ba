// Command controlplane is the reference control plane: a real server of what
// openapi/control-plane.yaml describes, for the demo and for honest tests.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command.Main(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
