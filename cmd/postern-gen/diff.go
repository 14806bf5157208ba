package main

import (
	"encoding/json"
	"io"
	"os"

	"github.com/postern-mcp/postern/openapi"
)

type diff struct {
	Old  string `arg:"" placeholder:"OLD" help:"The contract (mcp-tools.json) that callers know."`
	New  string `arg:"" placeholder:"NEW" help:"The contract that shall replace it."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run says what changed between two contracts and fails when it breaks callers.
func (d *diff) Run() error { return d.print(os.Stdout) }

func (d *diff) print(w io.Writer) error {
	changes, err := openapi.DiffFiles(d.Old, d.New)
	if err != nil {
		return err
	}
	if d.JSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		if err := enc.Encode(changes); err != nil {
			return err
		}
	} else {
		changes.Print(w)
	}
	if changes.Breaking() {
		return errSilent
	}
	return nil
}
