// Package command is the command line of the reference control plane:
//
//	controlplane [--listen ADDR] [--db PATH] [--seed=false] [--allow-remote]
//	controlplane demo-tokens [--json]
package command

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"syscall"
	"text/tabwriter"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/seed"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/store"
)

// Exit statuses.
const (
	success = 0
	failed  = 1
	usage   = 2
)

// Main runs the command until it is done or ctx ends and returns its exit
// status.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "demo-tokens" {
		return demoTokens(args[1:], stdout, stderr)
	}
	return serve(ctx, args, stderr)
}

func demoTokens(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("controlplane demo-tokens", flag.ContinueOnError)
	flags.SetOutput(stderr)
	asJSON := flags.Bool("json", false, "print JSON instead of a table")
	if status, done := parse(flags, args, stderr); done {
		return status
	}
	if *asJSON {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		return report(stderr, enc.Encode(seed.Tokens))
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tTOKEN\tMAY")
	for _, t := range seed.Tokens {
		fmt.Fprintf(table, "%s\t%s\t%s\n", t.Name, t.Value, t.May)
	}
	return report(stderr, table.Flush())
}

func serve(ctx context.Context, args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("controlplane", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var o options
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8081", "`address` to listen on; port 0 picks a free one")
	flags.StringVar(&o.db, "db", store.Memory, "`path` of the SQLite database")
	flags.BoolVar(&o.seed, "seed", true, "fill a new database with the demo")
	flags.BoolVar(&o.remote, "allow-remote", false, "allow --listen on an address other machines can reach: the demo's tokens are public")
	if status, done := parse(flags, args, stderr); done {
		return status
	}
	if !o.remote && !loopback(o.listen) {
		fmt.Fprintf(stderr, "controlplane: %s is not a loopback address and the demo's tokens are public; add --allow-remote if that is meant\n", o.listen)
		return usage
	}
	err := run(ctx, o, slog.New(slog.NewTextHandler(stderr, nil)), func(addr net.Addr) {
		fmt.Fprintf(stderr, "controlplane listening on http://%s\n", addr)
	})
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%s is in use by another program; stop it or choose another --listen", o.listen)
	}
	return report(stderr, err)
}

// parse reads flags and says whether that already ends the command.
func parse(flags *flag.FlagSet, args []string, stderr io.Writer) (status int, done bool) {
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return success, true
	case err != nil:
		return usage, true // flag has said why
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "controlplane: unexpected argument %q\n", flags.Arg(0))
		return usage, true
	}
	return success, false
}

func report(stderr io.Writer, err error) int {
	if err != nil {
		fmt.Fprintf(stderr, "controlplane: %v\n", err)
		return failed
	}
	return success
}

func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return true // listening says what is wrong with it
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
