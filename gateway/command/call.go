package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	apierrors "github.com/postern-mcp/postern/errors"
	"github.com/postern-mcp/postern/gateway"
)

type callCommand struct {
	upstreamFlags
	tokenFlags
	JSON string   `name:"json" placeholder:"OBJECT" help:"All arguments as one JSON object; - reads it from standard input."`
	Tool string   `arg:"" help:"Name of the tool."`
	Args []string `arg:"" optional:"" name:"key=value" help:"Arguments; a value is text or JSON as the tool's schema has it, and key:=value is always JSON."`
}

// Run prints the content block of the result. A tool error is printed like a
// result, because it is one, and fails the command.
func (c *callCommand) Run(ctx context.Context, p *process, file *configFile) error {
	log := c.logger(p.err)
	if c.LogLevel == "info" { // a person who calls one tool sees its result
		c.LogLevel = "warn"
		log = c.logger(p.err)
	}
	g, closeGateway, err := c.open(p, file, log)
	if err != nil {
		return err
	}
	defer closeGateway()
	tool, ok := g.Tool(c.Tool)
	if !ok {
		return usage("there is no tool %q; `%s tools` lists them", c.Tool, p.catalog.Server.Name)
	}
	arguments, err := c.arguments(p, tool)
	if err != nil {
		return err
	}
	var caller gateway.Caller
	if caller.Token, err = tokenSource(p.catalog, c.TokenFile)(); err != nil {
		return c.print(p, &gateway.Result{Err: apierrors.New(apierrors.Unauthorized, err.Error())})
	}
	return c.print(p, g.Call(ctx, caller, tool, arguments))
}

func (c *callCommand) print(p *process, r *gateway.Result) error {
	var err error
	switch {
	case r.Err != nil:
		if _, err = fmt.Fprintf(p.out, "%s\n", r.Err.Envelope()); err == nil {
			err = errSilent
		}
	case r.MIMEType != "":
		_, err = p.out.Write(r.Data)
	default:
		_, err = fmt.Fprintf(p.out, "%s\n", r.Text)
	}
	return err
}

// arguments makes the JSON object an agent would send.
func (c *callCommand) arguments(p *process, tool *gateway.Tool) ([]byte, error) {
	if c.JSON != "" {
		if len(c.Args) > 0 {
			return nil, usage("pass arguments either as --json or as key=value, not both")
		}
		data := []byte(c.JSON)
		if c.JSON == "-" {
			var err error
			if data, err = io.ReadAll(io.LimitReader(p.in, 16<<20)); err != nil {
				return nil, fmt.Errorf("read the arguments: %w", err)
			}
		}
		if !json.Valid(data) {
			return nil, usage("--json is not valid JSON; expected an object such as '{\"name\":\"x\"}'")
		}
		return data, nil
	}
	var schema struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	if err := json.Unmarshal([]byte(tool.InputSchema), &schema); err != nil {
		return nil, err
	}
	given := map[string]json.RawMessage{}
	for _, arg := range c.Args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || key == "" {
			return nil, usage("%q is not key=value", arg)
		}
		key, asJSON := strings.CutSuffix(key, ":")
		if _, twice := given[key]; twice {
			return nil, usage("%s is given twice", key)
		}
		if asJSON && !json.Valid([]byte(value)) {
			return nil, usage("the value of %s:= is not valid JSON", key)
		}
		if asJSON || !takesText(schema.Properties[key].Type) && json.Valid([]byte(value)) {
			given[key] = json.RawMessage(value)
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		given[key] = text
	}
	return json.Marshal(given)
}

// takesText reports a schema type that a plain value on the command line is text for.
func takesText(schemaType any) bool {
	switch t := schemaType.(type) {
	case string:
		return t == "string"
	case []any:
		return slices.Contains(t, any("string"))
	}
	return false
}
