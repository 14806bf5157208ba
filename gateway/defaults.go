package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "github.com/postern-mcp/postern/errors"
	"github.com/postern-mcp/postern/gateway/schema"
)

const (
	// candidatesTimeout bounds the search for candidates: it is a courtesy to a
	// call that has already failed.
	candidatesTimeout = 3 * time.Second
	maxCandidates     = 50
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
		value, from := "", ""
		if c.caller.Header != nil && d.Header != "" {
			value, from = c.caller.Header(d.Header), "the header "+d.Header
		}
		if value == "" {
			value, from = c.gateway.defaults[d.Argument], d.Env+" or "+d.ConfigKey
		}
		if value == "" {
			return c.missing(d)
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return apierrors.New(apierrors.Internal, "the default of "+d.Argument+" cannot be encoded").WithCause(err)
		}
		a.values[at] = raw
		// A default is held to the same rules as an argument.
		if v := c.tool.schema().Validate(a.object()); v != nil {
			e := invalid(v)
			e.Message = fmt.Sprintf("the default of %s, from %s, does not fit the tool's schema: %s", d.Argument, from, v.Message())
			return e
		}
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
	e.Pointer, e.Candidates = pointer(d.Argument), c.gateway.candidates(c.ctx, c.caller, d, c.requestID)
	if len(e.Candidates) > 0 {
		e.Hint = "Choose one of the candidates and call again with it as " + d.Argument + "."
	}
	return e
}

// Candidates lists the values a caller can choose from for an argument with a
// default, at most 50; none when they cannot be found quickly.
func (g *Gateway) Candidates(ctx context.Context, caller Caller, d *DefaultV1) []string {
	return g.candidates(ctx, caller, d, newRequestID())
}

func (g *Gateway) candidates(ctx context.Context, caller Caller, d *DefaultV1, requestID string) []string {
	tool, ok := g.Tool(d.CandidateTool)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, candidatesTimeout)
	defer cancel()
	look := call{gateway: g, ctx: ctx, caller: caller, tool: tool, requestID: requestID}
	r := look.run(nil)
	if r.Err != nil {
		return nil
	}
	return Collect(r.Text, d.CandidatePath)
}

// Collect returns the distinct, non-empty strings that a path of keys reaches in
// a JSON text, at most 50; "*" is every element. A nil path reaches nothing.
func Collect(text []byte, path []string) []string {
	var found []string
	if path == nil {
		return nil
	}
	collect(text, path, func(s string) bool {
		if s != "" && !slices.Contains(found, s) {
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
