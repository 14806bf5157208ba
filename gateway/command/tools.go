package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/postern-mcp/postern/gateway"
)

// tools needs no API: the tools are part of the program.
func tools(p *process, s *settings) action {
	asJSON := s.on("json", "Print the contract: every byte the tools publish.")
	readOnly := readOnlySetting(s)
	s.flagOnly("json")
	return func(context.Context, []string) error {
		g := gateway.New(gateway.Options{Catalog: p.catalog, ReadOnly: *readOnly})
		if *asJSON {
			_, err := p.out.Write(g.ContractJSON())
			return err
		}
		return printTools(p.out, g.Tools())
	}
}

func printTools(out io.Writer, tools []*gateway.Tool) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "TOOL\tARGUMENTS (* required)\tKIND\tTITLE")
	for _, t := range tools {
		var args []string
		for _, a := range t.Args {
			name := a.Name
			if a.Required {
				name += "*"
			}
			args = append(args, name)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.Name, orDash(strings.Join(args, " ")), kind(t), t.Title)
	}
	return w.Flush()
}

// kind is what a tool's published hints say, in a word.
func kind(t *gateway.Tool) string {
	var published struct {
		Annotations struct {
			ReadOnly    bool `json:"readOnlyHint"`
			Destructive bool `json:"destructiveHint"`
		} `json:"annotations"`
	}
	_ = json.Unmarshal([]byte(t.Definition), &published) // generated
	switch {
	case published.Annotations.ReadOnly:
		return "reads"
	case published.Annotations.Destructive:
		return "destructive"
	}
	return "writes"
}

// versions prints one line per version.
func versions(p *process, _ *settings) action {
	return func(context.Context, []string) error {
		_, err := fmt.Fprintf(p.out, "%s %s\ncontract %s\n%s %s/%s\n", p.catalog.Server.Name, version(), p.catalog.ContractVersion,
			runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return err
	}
}

// buildVersion is set by the linker for a release build.
var buildVersion = ""

// version is the program's version: the linker's, else the module's.
func version() string {
	if buildVersion != "" {
		return buildVersion
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
