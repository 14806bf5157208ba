package gateway

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/postern-mcp/postern/apiclient/transport"
	apierrors "github.com/postern-mcp/postern/errors"
	"github.com/postern-mcp/postern/gateway/schema"
)

const (
	// candidatesTimeout bounds the search for candidates: it is a courtesy to a
	// call that has already failed.
	candidatesTimeout = 3 * time.Second
	maxCandidates     = 50
	// maxCandidate is the longest text, in bytes, that can be one: names are short.
	maxCandidate = 256
)

// fillDefaults supplies arguments that were left out: from the caller's
// request, else from the environment or the configuration.
func (c *call) fillDefaults(a *Args) *apierrors.Error {
	for i := range c.gateway.catalog.Defaults {
		d := &c.gateway.catalog.Defaults[i]
		at := a.index(d.Argument)
		if at < 0 || a.values[at] != nil {
			continue
		}
		value, from := c.defaultOf(d)
		if value == "" {
			return c.missing(d)
		}
		if err := c.useDefault(a, at, value, "the default of "+d.Argument+", from "+from+","); err != nil {
			return err
		}
	}
	return nil
}

// defaultOf finds the value of a default, "" if there is none, and where it is from.
func (c *call) defaultOf(d *DefaultV1) (value, from string) {
	if c.caller.Header != nil && d.Header != "" {
		if value = c.caller.Header(d.Header); value != "" {
			return value, "the header " + d.Header
		}
	}
	sources := slices.DeleteFunc([]string{d.Env, d.ConfigKey}, func(s string) bool { return s == "" })
	return c.gateway.defaults[d.Argument], strings.Join(sources, " or ")
}

// useDefault makes value the argument at index at, held to the same rules as one
// that was passed. Defaults are texts; where the schema takes none, for example
// for a number, the text is taken as JSON.
func (c *call) useDefault(a *Args, at int, value, what string) *apierrors.Error {
	if !utf8.ValidString(value) {
		e := apierrors.New(apierrors.InvalidArguments, what+" is not valid UTF-8")
		e.Pointer = pointer(a.tool.Args[at].Name)
		return e
	}
	a.values[at] = appendJSON(nil, value)
	v := c.tool.schema().Validate(a.object())
	if raw := []byte(value); v != nil && !schema.IsNull(raw) && schema.Check(raw, 1) == nil {
		a.values[at] = bytes.TrimSpace(raw)
		if c.tool.schema().Validate(a.object()) == nil {
			v = nil
		}
	}
	if v != nil {
		e := invalid(v)
		e.Message = what + " does not fit the tool's schema: " + v.Message()
		return e
	}
	if arg := &a.tool.Args[at]; arg.In == InPath && !transport.SafePathValue(a.String(arg.Name)) {
		return unsafePath(arg.Name, what)
	}
	return nil
}

// missing is the envelope of an argument that nothing supplies, with the values
// the caller could choose from, as far as they can be found quickly.
func (c *call) missing(d *DefaultV1) *apierrors.Error {
	how := "pass the argument " + d.Argument
	if c.caller.Header != nil && d.Header != "" {
		how += ", send the header " + d.Header
	}
	if d.Env != "" {
		how += ", or set " + d.Env + " for the gateway"
	}
	e := apierrors.New(d.Missing, fmt.Sprintf("no %s was given and none is set as default: %s", d.Argument, how))
	e.Pointer = pointer(d.Argument)
	if !c.courtesy {
		e.Candidates = c.gateway.candidates(c.ctx, c.caller, d, c.requestID)
	}
	if len(e.Candidates) > 0 {
		e.Hint = "Choose one of the candidates and call again with it as " + d.Argument + "."
	}
	return e
}

// Candidates lists the values a caller can choose from for an argument with a
// default, at most 50; none when they cannot be found quickly.
func (g *Gateway) Candidates(ctx context.Context, caller Caller, d *DefaultV1) []string {
	return g.candidates(ctx, caller, d, NewRequestID())
}

func (g *Gateway) candidates(ctx context.Context, caller Caller, d *DefaultV1, requestID string) []string {
	tool, ok := g.Tool(d.CandidateTool)
	if !ok || !tool.ReadOnly {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, candidatesTimeout)
	defer cancel()
	look := call{gateway: g, ctx: ctx, caller: caller, tool: tool, requestID: requestID, courtesy: true}
	r := look.run(nil)
	if r.Err != nil {
		return nil
	}
	return Collect(r.Text, d.CandidatePath)
}

// Collect returns the distinct strings of 1 to 256 bytes that a path of keys
// reaches in a JSON text, at most 50 of them; "*" is every element. A nil path
// reaches nothing.
func Collect(text []byte, path []string) []string {
	var found []string
	if path == nil {
		return nil
	}
	collect(text, path, func(s string) bool {
		if s != "" && len(s) <= maxCandidate && !slices.Contains(found, s) {
			found = append(found, s)
		}
		return len(found) < maxCandidates
	})
	return found
}

// collect yields the strings that a path of keys reaches; "*" is every element.
func collect(raw []byte, path []string, yield func(string) bool) bool {
	if len(path) == 0 {
		s, ok := schema.String(raw)
		return !ok || yield(s)
	}
	more := true
	if path[0] == "*" {
		_ = schema.SplitArray(raw, func(v []byte) bool {
			more = collect(v, path[1:], yield)
			return more
		})
		return more
	}
	_ = schema.SplitObject(raw, func(key string, v []byte) bool {
		if key == path[0] {
			more = collect(v, path[1:], yield)
		}
		return more
	})
	return more
}
