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
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

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
}

// Main runs the gateway and ends the process.
func Main(catalog *gateway.CatalogV1) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	p := &process{catalog: catalog, args: os.Args[1:], in: os.Stdin, out: os.Stdout, err: os.Stderr}
	os.Exit(p.run(ctx))
}

// cli is the command line. Settings that several commands share are embedded.
type cli struct {
	Config string `env:"${prefix}_CONFIG" placeholder:"FILE" help:"YAML file with settings; its keys are the flags' names with _ for -, and ${config_keys}. Default: ${config_default}, if it exists."`

	Stdio   stdioCommand   `cmd:"" help:"Serve one MCP client over standard input and output."`
	Serve   serveCommand   `cmd:"" help:"Serve MCP clients over HTTP (POST /mcp)."`
	Tools   toolsCommand   `cmd:"" help:"List the tools."`
	Call    callCommand    `cmd:"" help:"Call one tool, exactly as an agent would."`
	Doctor  doctorCommand  `cmd:"" help:"Check the configuration, the API and the token, and say what to do."`
	Version versionCommand `cmd:"" help:"Print the versions of the gateway and its contract."`
	Setup   configCommand  `cmd:"" name:"config" help:"Print the settings in effect and where each comes from."`
}

// usageError is wrong input on the command line or in the configuration.
type usageError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errSilent fails a command that has already said why.
var errSilent = errors.New("failed")

func (p *process) run(ctx context.Context) int {
	tuneCollector()
	// net/http writes what an upstream sends unasked to the standard logger.
	log.SetOutput(io.Discard)
	var c cli
	exit := -1
	file, err := p.loadConfig()
	if err != nil {
		fmt.Fprintf(p.err, "%s: %v\n", p.catalog.Server.Name, err)
		return exitUsage
	}
	parser, err := kong.New(&c,
		kong.Name(p.catalog.Server.Name),
		kong.Description(p.catalog.Server.Title+": an MCP gateway. Contract "+p.catalog.ContractVersion+", "+fmt.Sprint(len(p.catalog.Tools))+" tools.\n\nThe personal access token is read from "+p.catalog.EnvPrefix+"_TOKEN or from the file named by "+p.catalog.EnvPrefix+"_TOKEN_FILE (over HTTP: from each request), never from a flag. A setting comes from its flag, else its variable, else the configuration file."),
		kong.Vars{
			"prefix": p.catalog.EnvPrefix, "config_default": displayConfigPath(p.catalog),
			"config_keys": strings.Join(configKeys(p.catalog), ", "), "name": p.catalog.Server.Name,
		},
		kong.Writers(p.out, p.err),
		kong.Exit(func(code int) { exit = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.Resolvers(file),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(p, file),
	)
	if err != nil {
		panic(err) // the definition above is wrong
	}
	run, err := parser.Parse(p.args)
	if exit >= 0 {
		return exit // --help
	}
	if err != nil {
		fmt.Fprintf(p.err, "%s: %v\nRun `%s --help` for the commands and their settings.\n", p.catalog.Server.Name, err, p.catalog.Server.Name)
		return exitUsage
	}
	err = run.Run()
	var wrong usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errSilent):
		return exitFailure
	case errors.As(err, &wrong):
		fmt.Fprintf(p.err, "%s: %v\n", p.catalog.Server.Name, err)
		return exitUsage
	}
	fmt.Fprintf(p.err, "%s: %v\n", p.catalog.Server.Name, err)
	return exitFailure
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
