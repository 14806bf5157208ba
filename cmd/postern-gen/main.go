// Command postern-gen derives a gateway from an OpenAPI document.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/postern-mcp/postern/openapi"
)

// source is the document that a command works on.
type source struct {
	Spec       string   `required:"" type:"existingfile" placeholder:"FILE" help:"Swagger 2.0 or OpenAPI 3 document, YAML or JSON."`
	Overlay    string   `type:"existingfile" placeholder:"FILE" help:"OpenAPI Overlay 1.0 applied to the document first."`
	IncludeTag []string `placeholder:"TAG" help:"Only operations with this tag; may be repeated."`
	IncludeOp  []string `placeholder:"ID" help:"Only, or also, the operation with this operationId or tool name; may be repeated."`
	ExcludeOp  []string `placeholder:"ID" help:"Not the operation with this operationId or tool name; may be repeated."`
}

func (s *source) filter() openapi.Filter {
	return openapi.Filter{IncludeTags: s.IncludeTag, IncludeOps: s.IncludeOp, ExcludeOps: s.ExcludeOp}
}

func (s *source) load() (*openapi.Document, error) {
	doc, err := openapi.Load(s.Spec, s.Overlay)
	if err != nil {
		return nil, err
	}
	doc.Choose(s.filter())
	return doc, nil
}

// refresh is a module that is there already.
type refresh struct {
	source
	Out string `default:"." type:"existingdir" placeholder:"DIR" help:"Folder of the Go module the files are derived for (default: this one)."`
}

func (r *refresh) files() ([]openapi.File, error) {
	doc, err := r.load()
	if err != nil {
		return nil, err
	}
	files, err := doc.Generate(r.Out)
	if err != nil {
		return nil, err
	}
	return files, openapi.CheckReleased(r.Out, files)
}

type generate struct{ refresh }

// Run brings the derived files up to date.
func (g *generate) Run() error {
	files, err := g.files()
	if err != nil {
		return err
	}
	changes, err := openapi.Write(g.Out, files)
	if err != nil {
		return err
	}
	for _, c := range changes {
		fmt.Printf("%-8s %s\n", map[string]string{"missing": "wrote", "stale": "rewrote", "orphaned": "removed"}[c.Kind], c.Path)
	}
	fmt.Printf("%d files, %d changed\n", len(files), len(changes))
	return openapi.Seal(g.Out)
}

type check struct{ refresh }

// Run fails when a derived file is not what the document gives.
func (c *check) Run() error {
	files, err := c.files()
	if err != nil {
		return err
	}
	changes, err := openapi.Stale(c.Out, files)
	if err != nil {
		return err
	}
	for _, c := range changes {
		fmt.Printf("%-8s %s\n", c.Kind, c.Path)
	}
	if len(changes) > 0 {
		return fmt.Errorf("%d of %d derived files are not up to date: run generate", len(changes), len(files))
	}
	return nil
}

type create struct {
	source
	Out     string `required:"" placeholder:"DIR" help:"Folder to write the module into; empty, or made."`
	Module  string `required:"" placeholder:"PATH" help:"Path of the new Go module."`
	Runtime string `required:"" placeholder:"DIR" help:"Checkout of github.com/postern-mcp/postern that the new module is built with."`
}

// Run writes a complete gateway module.
func (c *create) Run() error {
	report, err := openapi.Project{
		Spec: c.Spec, Overlay: c.Overlay, Out: c.Out, Module: c.Module, Runtime: c.Runtime, Filter: c.filter(),
	}.Create(context.Background())
	if err != nil {
		return err
	}
	report.Print(os.Stdout)
	fmt.Printf("\nwritten to %s; next: cd %s && make build test\n", c.Out, c.Out)
	return nil
}

type report struct {
	source
	JSON      bool `name:"json" help:"Print JSON."`
	MaxTokens *int `placeholder:"N" help:"Fail when the list of tools costs more than about this many tokens."`
}

// Run says what would become of a document, without writing anything.
func (r *report) Run() error {
	doc, err := r.load()
	if err != nil {
		return err
	}
	rep, err := doc.Report()
	if err != nil {
		return err
	}
	if r.JSON {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		if err := enc.Encode(rep); err != nil {
			return err
		}
	} else {
		rep.Print(os.Stdout)
	}
	if r.MaxTokens != nil && rep.Tokens > *r.MaxTokens {
		return fmt.Errorf("the list of tools costs about %d tokens; the budget is %d (choose operations with --include-tag, --include-op, --exclude-op)", rep.Tokens, *r.MaxTokens)
	}
	return nil
}

// errSilent fails a command that has already said why.
var errSilent = errors.New("failed")

func main() {
	var cli struct {
		New      create   `cmd:"" help:"Write a complete gateway module for a document."`
		Generate generate `cmd:"" help:"Write the client, the catalogue, the contract and the tool pages."`
		Check    check    `cmd:"" help:"List derived files that are missing, stale or orphaned; exit 1 if there are any."`
		Report   report   `cmd:"" help:"Say what would become of a document: tools, what is left out and why, costs."`
		Diff     diff     `cmd:"" help:"Compare two contracts; exit 1 when the change is breaking, 2 when they cannot be read."`
	}
	ctx := kong.Parse(&cli,
		kong.Name("postern-gen"),
		kong.Description("Derives an MCP gateway from an OpenAPI document."),
		kong.UsageOnError(),
	)
	if err := ctx.Run(); err != nil {
		if errors.Is(err, errSilent) {
			os.Exit(1)
		}
		fmt.Fprintln(os.Stderr, "postern-gen:", err)
		if strings.HasPrefix(ctx.Command(), "diff") {
			os.Exit(2) // 1 says that the change is breaking
		}
		os.Exit(1)
	}
}
