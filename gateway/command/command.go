// Package command is the command line that every generated gateway shares. Its
// main is one line:
//
//	func main() { command.Main(&catalog.Gateway) }
//
// The names of environment variables come from the catalogue's prefix. A
// setting is taken from the flag, else the environment, else the configuration
// file, else its default. No flag takes a token, because command lines are
// visible to others.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/postern-mcp/postern/gateway"
)

// Exit statuses.
const (
	exitOK      = 0
	exitFailure = 1 // the call, the check or the server failed
	exitUsage   = 2 // the command line or the configuration is wrong
)

// process is what a command may touch of the process it runs in.
type process struct {
	catalog *gateway.CatalogV1
	args    []string
	in      io.Reader
	out     io.Writer
	err     io.Writer
	// stoppable is closed once a signal stops the command instead of ending the process;
	// nil where there are no signals.
	stoppable <-chan struct{}
}

// command is one of the program's commands. setup declares its settings and
// returns what runs once they are parsed.
type command struct {
	name, positional, help, more string
	setup                        func(p *process, s *settings) action
}

type action func(ctx context.Context, args []string) error

// commands is filled by init because help refers to it.
var commands []*command

func init() {
	commands = []*command{
		{name: "stdio", help: "Serve one MCP client over standard input and output.", setup: stdio},
		{name: "serve", help: "Serve MCP clients over HTTP (POST /mcp).", setup: serve},
		{name: "tools", help: "List the tools.", setup: tools},
		{name: "call", positional: "TOOL [KEY=VALUE ...]", help: "Call one tool, exactly as an agent would.", setup: call,
			more: "A value is text or JSON, as the tool's schema has it; KEY:=VALUE is always JSON. The exit status is 0, 1 for a tool error, 2 for wrong usage."},
		{name: "doctor", help: "Check the configuration, the API and the token, and say what to do.", setup: doctor},
		{name: "config", help: "Print the settings in effect and where each comes from.", setup: config},
		{name: "version", help: "Print the versions of the gateway and its contract.", setup: versions},
	}
}

// Main runs the gateway and ends the process.
func Main(catalog *gateway.CatalogV1) {
	ctx, stop := context.WithCancel(context.Background())
	// Beside the start: the runtime makes a thread for signals, which takes as long as
	// reading the settings. A signal before that ends the process, which has nothing to finish.
	stoppable := make(chan struct{})
	go stopOnSignal(stop, stoppable)
	tuneCollector()
	// net/http writes what an upstream sends unasked to the standard logger.
	log.SetOutput(io.Discard)
	p := &process{catalog: catalog, args: os.Args[1:], in: os.Stdin, out: os.Stdout, err: os.Stderr, stoppable: stoppable}
	os.Exit(p.run(ctx))
}

// stopOnSignal calls stop at the first signal that asks for an end. A second one ends
// the process at once.
func stopOnSignal(stop func(), waiting chan<- struct{}) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	close(waiting)
	<-signals
	signal.Stop(signals)
	stop()
}

// usageError is wrong input on the command line or in the configuration.
type usageError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errSilent fails a command that has already said why.
var errSilent = errors.New("failed")

func (p *process) run(ctx context.Context) int {
	err := p.dispatch(ctx)
	var wrong usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errSilent):
		return exitFailure
	}
	fmt.Fprintf(p.err, "%s: %v\n", p.catalog.Server.Name, err)
	if errors.As(err, &wrong) {
		return exitUsage
	}
	return exitFailure
}

func (p *process) dispatch(ctx context.Context) error {
	name, args := "", p.args
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	if slices.Contains([]string{"--help", "-help", "-h", "help"}, name) {
		p.usage()
		return nil
	}
	i := slices.IndexFunc(commands, func(c *command) bool { return c.name == name })
	if i < 0 {
		var names []string
		for _, c := range commands {
			names = append(names, c.name)
		}
		if name == "" {
			return usage("no command; expected one of %s (`%s --help` explains them)", strings.Join(names, ", "), p.catalog.Server.Name)
		}
		if strings.HasPrefix(name, "-") {
			// Not repeated: somebody may have tried to pass a token.
			return usage("the command comes first, then its settings; expected one of %s", strings.Join(names, ", "))
		}
		return usage("there is no command %q; expected one of %s", name, strings.Join(names, ", "))
	}
	cmd := commands[i]
	file, args, err := p.loadConfig(args)
	if err != nil {
		return usageError{err}
	}
	s := newSettings(cmd.name, p.catalog.EnvPrefix, file)
	run := cmd.setup(p, s)
	positional, err := s.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		p.usageOf(cmd, s)
		return nil
	}
	if err != nil {
		return usage("%w (`%s %s --help` lists the settings)", err, p.catalog.Server.Name, cmd.name)
	}
	if cmd.positional == "" && len(positional) > 0 {
		return usage("%s takes no argument, but got %q", cmd.name, positional[0])
	}
	return run(ctx, positional)
}

// tuneCollector lets the heap grow to five times what is live before it is
// collected: a gateway holds a few megabytes and churns through many, and at
// the default would spend a third of its time collecting. GOGC and GOMEMLIMIT,
// where set, decide instead.
func tuneCollector() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(400)
	}
}
