// Command postern-gen derives a gateway from an OpenAPI document.
package main

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"

	"github.com/postern-mcp/postern/openapi"
)

type source struct {
	Spec    string `required:"" type:"existingfile" placeholder:"FILE" help:"OpenAPI 3.0 or 3.1 document, YAML or JSON."`
	Overlay string `type:"existingfile" placeholder:"FILE" help:"OpenAPI Overlay 1.0 applied to the document first."`
	Out     string `default:"." type:"existingdir" placeholder:"DIR" help:"Folder of the Go module the files are derived for (default: this one)."`
}

func (s *source) files() ([]openapi.File, error) {
	doc, err := openapi.Load(s.Spec, s.Overlay)
	if err != nil {
		return nil, err
	}
	return doc.Generate(s.Out)
}

type generate struct{ source }

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
	return nil
}

type check struct{ source }

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

func main() {
	var cli struct {
		Generate generate `cmd:"" help:"Write the client, the catalogue, the contract and the tool pages."`
		Check    check    `cmd:"" help:"List derived files that are missing, stale or orphaned; exit 1 if there are any."`
	}
	ctx := kong.Parse(&cli,
		kong.Name("postern-gen"),
		kong.Description("Derives an MCP gateway from an OpenAPI document."),
		kong.UsageOnError(),
	)
	if err := ctx.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "postern-gen:", err)
		os.Exit(1)
	}
}
