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

// call prints the content block of the result. A tool error is printed like a
// result, because it is one, and fails the command.
func call(p *process, s *settings) action {
	up, tokenFile := upstreamSettings(s), tokenSettings(s)
	asJSON := s.text("json", "", "OBJECT", "All arguments as one JSON object; - reads it from standard input.")
	s.flagOnly("json")
	return func(ctx context.Context, args []string) error {
		if len(args) == 0 {
			return usage("call needs a tool; `%s tools` lists them", p.catalog.Server.Name)
		}
		if s.row("log-level").source == "default" {
			*up.logLevel = "warn" // a person who calls one tool sees its result
		}
		g, closeGateway, err := up.open(p, s, up.logger(p.err))
		if err != nil {
			return err
		}
		defer closeGateway()
		tool, ok := g.Tool(args[0])
		if !ok {
			return usage("there is no tool %q; `%s tools` lists them", args[0], p.catalog.Server.Name)
		}
		var arguments []byte
		if *asJSON != "" {
			arguments, err = wholeArguments(ctx, p.in, *asJSON, args[1:])
		} else {
			arguments, err = pairArguments(tool, args[1:])
		}
		if err != nil {
			return err
		}
		var caller gateway.Caller
		if caller.Token, err = tokenSource(p.catalog, s, *tokenFile)(); err != nil && !tool.Operation.NeedsNone() {
			return printResult(p.out, g.Refuse(ctx, tool, apierrors.New(apierrors.Unauthorized, err.Error())))
		}
		return printResult(p.out, g.Call(ctx, caller, tool, arguments))
	}
}

func printResult(out io.Writer, r *gateway.Result) error {
	var err error
	switch {
	case r.Err != nil:
		if _, err = fmt.Fprintf(out, "%s\n", r.Err.Envelope()); err == nil {
			err = errSilent
		}
	case r.MIMEType != "":
		_, err = out.Write(r.Data)
	default:
		_, err = fmt.Fprintf(out, "%s\n", r.Text)
	}
	return err
}

// wholeArguments is the object given as --json.
func wholeArguments(ctx context.Context, in io.Reader, given string, pairs []string) ([]byte, error) {
	if len(pairs) > 0 {
		return nil, usage("pass arguments either as --json or as KEY=VALUE, not both")
	}
	data := []byte(given)
	if given == "-" {
		type input struct {
			data []byte
			err  error
		}
		read := make(chan input, 1)
		go func() {
			data, err := io.ReadAll(io.LimitReader(in, 16<<20))
			read <- input{data, err}
		}()
		select {
		case got := <-read:
			if got.err != nil {
				return nil, fmt.Errorf("read the arguments: %w", got.err)
			}
			data = got.data
		case <-ctx.Done(): // a terminal does not end a read
			return nil, ctx.Err()
		}
	}
	if !json.Valid(data) {
		return nil, usage("--json is not valid JSON; expected an object such as '{\"name\":\"x\"}'")
	}
	return data, nil
}

// pairArguments makes the JSON object an agent would send of KEY=VALUE.
func pairArguments(tool *gateway.Tool, pairs []string) ([]byte, error) {
	var schema struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	if err := json.Unmarshal([]byte(tool.InputSchema), &schema); err != nil {
		return nil, err
	}
	given := map[string]json.RawMessage{}
	for _, arg := range pairs {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || key == "" {
			return nil, usage("%q is not KEY=VALUE", arg)
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
