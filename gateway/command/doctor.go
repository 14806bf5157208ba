package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/postern-mcp/postern/apiclient/transport"
	apierrors "github.com/postern-mcp/postern/errors"
	"github.com/postern-mcp/postern/gateway"
)

// expirySoon is when doctor begins to mention that a token runs out.
const expirySoon = 7 * 24 * time.Hour

// checkup is a table of findings.
type checkup struct {
	w        *tabwriter.Writer
	failed   bool
	basePath string // what the document adds to the API's URL
}

func (c *checkup) ok(what, finding string) { fmt.Fprintf(c.w, "ok\t%s\t%s\n", what, finding) }

func (c *checkup) warn(what, finding, todo string) {
	fmt.Fprintf(c.w, "warn\t%s\t%s: %s\n", what, finding, todo)
}

func (c *checkup) fail(what, finding, todo string) {
	c.failed = true
	fmt.Fprintf(c.w, "FAIL\t%s\t%s: %s\n", what, finding, todo)
}

// doctor checks one thing after another and stops where nothing further can be known.
func doctor(p *process, s *settings) action {
	up, tokenFile := upstreamSettings(s), tokenSettings(s)
	return func(ctx context.Context, _ []string) error {
		t := &checkup{w: tabwriter.NewWriter(p.out, 0, 8, 2, ' ', 0)}
		*up.logLevel = "error"
		examine(ctx, p, s, up, tokenSource(p.catalog, s, *tokenFile), t)
		if err := t.w.Flush(); err != nil {
			return err
		}
		if t.failed {
			return errSilent
		}
		return nil
	}
}

func examine(ctx context.Context, p *process, s *settings, up *upstreamFlags, source func() (transport.Token, error), t *checkup) {
	prefix := p.catalog.EnvPrefix
	g, closeGateway, err := up.open(p, s, up.logger(p.err))
	if err != nil {
		t.fail("configuration", "not usable", err.Error())
		return
	}
	defer closeGateway()
	t.ok("configuration", "the API is at "+g.BaseURL())
	t.basePath = p.catalog.BasePath
	token, err := source()
	switch needed := takes(p.catalog, func(op *transport.Operation) bool { return !op.NeedsNone() }); {
	case err != nil && needed:
		t.fail("token", "none to send", err.Error())
		return
	case err != nil:
		t.ok("token", "none to send, and none is needed")
	}
	caller := gateway.Caller{Token: token}
	identity := p.catalog.Identity
	tool, ok := g.Tool(identity.Tool)
	if !ok {
		if !examineConnection(ctx, t, g, caller, prefix) {
			return
		}
	} else if !examineIdentity(ctx, t, g, caller, tool, identity, prefix) {
		return
	}
	defaults, err := s.file.defaults()
	if err != nil {
		t.fail("configuration", "not usable", err.Error())
		return
	}
	for i := range p.catalog.Defaults {
		examineDefault(ctx, t, g, caller, &p.catalog.Defaults[i], defaults)
	}
}

// examineConnection makes do without an identity operation: any tool that only
// reads and needs no argument shows whether the API is there and takes the token.
func examineConnection(ctx context.Context, t *checkup, g *gateway.Gateway, caller gateway.Caller, prefix string) bool {
	for _, tool := range g.Tools() {
		if !tool.ReadOnly || slices.ContainsFunc(tool.Args, func(a gateway.ArgV1) bool { return a.Required }) {
			continue
		}
		if r := g.Call(ctx, caller, tool, nil); r.Err != nil && !examineFailure(t, r.Err, prefix) {
			return false
		}
		t.ok("connection", "answered "+tool.Name)
		return true
	}
	t.warn("connection", "cannot be checked", "no tool can be called without arguments; call one by hand")
	return true
}

// examineIdentity reports on the token; false means that no call can work.
func examineIdentity(ctx context.Context, t *checkup, g *gateway.Gateway, caller gateway.Caller, tool *gateway.Tool, identity gateway.IdentityV1, prefix string) bool {
	start := time.Now()
	r := g.Call(ctx, caller, tool, nil)
	took := time.Since(start).Round(time.Millisecond)
	if r.Err != nil {
		examineFailure(t, r.Err, prefix)
		return false
	}
	t.ok("connection", "answered in "+took.String())
	who := strings.Join(gateway.Collect(r.Text, identity.Subject), ", ")
	if scopes := gateway.Collect(r.Text, identity.Scopes); len(scopes) > 0 {
		who = orElse(who, "unnamed") + ", with the scopes " + strings.Join(scopes, ", ")
	}
	t.ok("token", "accepted; it belongs to "+orElse(who, fmt.Sprintf("%.200s", r.Text)))
	for _, s := range gateway.Collect(r.Text, identity.Expires) {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			continue
		}
		if left := time.Until(at); left < expirySoon {
			t.warn("expiry", "the token expires at "+s, "ask for a new one in time")
		} else {
			t.ok("expiry", fmt.Sprintf("the token expires at %s, in %d days", s, int(left.Hours()/24)))
		}
		return true
	}
	if identity.Expires != nil {
		t.ok("expiry", "the token does not expire")
	}
	return true
}

// examineFailure reports why a call failed; true means that the API answered and
// took the token all the same.
func examineFailure(t *checkup, e *apierrors.Error, prefix string) bool {
	switch {
	case e.Code == apierrors.ProjectRequired:
		return true
	case e.Code == apierrors.NetworkError || e.Code == apierrors.Timeout:
		t.fail("connection", e.Message, "start the API, or correct "+prefix+"_API_URL")
	case e.Status == 401:
		t.ok("connection", "it answered")
		t.fail("token", "refused ("+e.Message+")", "put a new personal access token into "+prefix+"_TOKEN or the token file")
	case e.Status == 403:
		return true
	case e.Status == 404:
		t.fail("connection", "something answers, but not this API", "correct "+prefix+"_API_URL: the API's without "+orElse(t.basePath, "a path")+", which is added to it")
	default:
		t.fail("connection", e.Error(), orElse(e.Hint, "see the message"))
	}
	return false
}

// examineDefault reports whether a default is set and visible to the token.
func examineDefault(ctx context.Context, t *checkup, g *gateway.Gateway, caller gateway.Caller, d *gateway.DefaultV1, defaults map[string]string) {
	what, value := "default "+d.Argument, defaults[d.Argument]
	choices := g.Candidates(ctx, caller, d)
	visible := "the token can see " + orElse(strings.Join(choices, ", "), "none")
	how := "set " + d.Env + " or " + d.ConfigKey
	switch {
	case value == "":
		t.warn(what, "not set", how+", or pass "+d.Argument+" in each call; "+visible)
	case d.CandidateTool == "":
		t.ok(what, value)
	case slices.Contains(choices, value):
		t.ok(what, value+" is visible to the token")
	default:
		t.fail(what, value+" is not visible to the token", how+" to one that is; "+visible)
	}
}

func orElse(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
