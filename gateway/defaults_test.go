package gateway_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postern-mcp/postern/apiclient/transport"
	apierrors "github.com/postern-mcp/postern/errors"
	"github.com/postern-mcp/postern/gateway"
)

// shop is a catalogue whose one argument has a default.
func shop(change ...func(*gateway.CatalogV1)) gateway.CatalogV1 {
	read := row("read", http.MethodGet, "/shops/{shop}", `{"type":"object","properties":{"shop":{"type":["string","null"],"maxLength":8,"pattern":"^[^ ]*$"}},"additionalProperties":false}`,
		gateway.ArgV1{Name: "shop", Key: "shop", In: gateway.InPath})
	c := gateway.CatalogV1{
		Tools: []gateway.ToolV1{read, row("list", http.MethodGet, "/shops", "")},
		Defaults: []gateway.DefaultV1{{
			Argument: "shop", Header: "X-Shop", Env: "SHOP", ConfigKey: "current_shop", Missing: apierrors.ProjectRequired,
			CandidateTool: "list", CandidatePath: []string{"shops", "*", "slug"},
		}},
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, arguments, header, configured string
		path                                string
		code                                apierrors.Code
		message                             string
	}{
		{name: "argument first", arguments: `{"shop":"a"}`, header: "h", configured: "c", path: "/v1/shops/a"},
		{name: "then the header", arguments: `{"shop":null}`, header: "h", configured: "c", path: "/v1/shops/h"},
		{name: "then the configuration", configured: `c"é`, path: "/v1/shops/c%22%C3%A9"},
		{name: "an argument is not replaced because it is empty", arguments: `{"shop":""}`, header: "h", code: apierrors.InvalidArguments, message: "shop cannot stand"},
		{name: "bad header", header: "a b", configured: "c", code: apierrors.InvalidArguments, message: "the default of shop, from the header X-Shop, does not fit"},
		{name: "long header", header: "123456789", code: apierrors.InvalidArguments, message: "from the header X-Shop, does not fit the tool's schema: /shop: expected at most 8 characters"},
		{name: "bad bytes in the header", header: "a\xff", code: apierrors.InvalidArguments, message: "from the header X-Shop, is not valid UTF-8"},
		{name: "header that climbs", header: "..", code: apierrors.InvalidArguments, message: "the default of shop, from the header X-Shop, cannot stand in the request's path"},
		{name: "bad configuration", configured: "a b", code: apierrors.InvalidArguments, message: "from SHOP or current_shop, does not fit"},
		{name: "configuration that climbs", configured: "%2e%2e", code: apierrors.InvalidArguments, message: "from SHOP or current_shop, cannot stand"},
		{name: "wrong arguments come before missing ones", arguments: `{"shopp":1}`, code: apierrors.InvalidArguments, message: "shopp"},
		{name: "missing", code: apierrors.ProjectRequired, message: "no shop was given and none is set as default: pass the argument shop, send the header X-Shop, or set SHOP for the gateway"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			upstream := newAPI(t, respond(200, "application/json", `{"shops":[{"slug":"a"},{"slug":""},{"slug":"b"},{"slug":"a"},{"slug":7},{}]}`))
			g := newGateway(t, upstream.URL, shop(), func(o *gateway.Options, _ *transport.Config) {
				o.Defaults = map[string]string{"shop": tt.configured}
			})
			who := caller(t)
			who.Header = http.Header{"X-Shop": {tt.header}}.Get
			r := call(t.Context(), t, g, who, "read", tt.arguments)
			if tt.code == "" {
				if got := upstream.one(t).path; got != tt.path || r.Err != nil {
					t.Errorf("asked for %s (%+v), want %s", got, r.Err, tt.path)
				}
				return
			}
			e := fails(t, r, tt.code)
			if !strings.Contains(e.Message, tt.message) || e.Delivery != apierrors.NotSent {
				t.Errorf("got %s, want %q", e.Envelope(), tt.message)
			}
			if tt.code == apierrors.ProjectRequired {
				if e.Pointer != "/shop" || !slices.Equal(e.Candidates, []string{"a", "b"}) || !strings.Contains(e.Hint, "one of the candidates") {
					t.Errorf("got %s, want the candidates a and b", e.Envelope())
				}
			}
		})
	}
}

// TestDefaultThatIsNoText: a number's default is a number.
func TestDefaultThatIsNoText(t *testing.T) {
	t.Parallel()
	upstream := newAPI(t, respond(200, "", ""))
	c := shop(func(c *gateway.CatalogV1) {
		c.Tools[0].InputSchema = `{"type":"object","properties":{"shop":{"type":["integer","null"]}}}`
	})
	for value, want := range map[string]string{"12": "/v1/shops/12", "null": "", "[1]": "", "x": ""} {
		g := newGateway(t, upstream.URL, c, func(o *gateway.Options, _ *transport.Config) {
			o.Defaults = map[string]string{"shop": value}
		})
		r := call(t.Context(), t, g, caller(t), "read", "")
		if got := upstream.one(t).path; got != want || (r.Err == nil) != (want != "") {
			t.Errorf("%q: asked for %q (%+v), want %q", value, got, r.Err, want)
		}
	}
}

func TestCandidates(t *testing.T) {
	t.Parallel()
	many := func(n int) string {
		var slugs []string
		for i := range n {
			slugs = append(slugs, fmt.Sprintf(`{"slug":"s%d"}`, i))
		}
		return `{"shops":[` + strings.Join(slugs, ",") + `]}`
	}
	tests := []struct {
		name   string
		change func(*gateway.CatalogV1)
		answer http.HandlerFunc
		want   int
	}{
		{"many", nil, respond(200, "application/json", many(1000)), 50},
		{"overlong ones", nil, respond(200, "application/json", `{"shops":[{"slug":"`+strings.Repeat("x", 257)+`"},{"slug":"a"}]}`), 1},
		{"refused", nil, respond(403, "application/json", many(3)), 0},
		{"not JSON", nil, respond(200, "text/html", "<html>"), 0},
		{"no candidate tool", func(c *gateway.CatalogV1) { c.Defaults[0].CandidateTool = "" }, respond(200, "", many(3)), 0},
		{"no path", func(c *gateway.CatalogV1) { c.Defaults[0].CandidatePath = nil }, respond(200, "", many(3)), 0},
		{"a tool that writes is never called for it", func(c *gateway.CatalogV1) { c.Tools[1].ReadOnly = false }, respond(200, "", many(3)), 0},
		{"a tool that lacks the same default", func(c *gateway.CatalogV1) { c.Defaults[0].CandidateTool = "read" }, respond(200, "", many(3)), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			upstream := newAPI(t, tt.answer)
			var changes []func(*gateway.CatalogV1)
			if tt.change != nil {
				changes = append(changes, tt.change)
			}
			g := newGateway(t, upstream.URL, shop(changes...))
			e := fails(t, call(t.Context(), t, g, caller(t), "read", "{}"), apierrors.ProjectRequired)
			if len(e.Candidates) != tt.want {
				t.Errorf("got %d candidates, want %d", len(e.Candidates), tt.want)
			}
			if strings.Contains(e.Message, "header") {
				t.Errorf("a caller without a request is told to send a header: %s", e.Message)
			}
		})
	}
}

// TestCandidatesAreQuick: an API that hangs does not hold up the failure.
func TestCandidatesAreQuick(t *testing.T) {
	t.Parallel()
	upstream := newAPI(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	g := newGateway(t, upstream.URL, shop(), func(_ *gateway.Options, c *transport.Config) { c.Timeout = time.Minute })
	start := time.Now()
	e := fails(t, call(t.Context(), t, g, caller(t), "read", "{}"), apierrors.ProjectRequired)
	if took := time.Since(start); took > 5*time.Second || e.Candidates != nil {
		t.Errorf("took %s, got %s", took, e.Envelope())
	}
}
