package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/postern-mcp/postern/apiclient/transport"
	apierrors "github.com/postern-mcp/postern/errors"
	"github.com/postern-mcp/postern/gateway/schema"
)

// Options configure a Gateway.
type Options struct {
	// Catalog is what the gateway can do; required and not changed afterwards.
	Catalog *CatalogV1
	// Upstream sends its requests; a gateway without one can only be asked for its tools.
	Upstream *transport.Upstream
	// ReadOnly hides and refuses every tool that is not read-only.
	ReadOnly bool
	// Defaults are the values that environment and configuration give for
	// arguments, by argument name.
	Defaults map[string]string
	// Logger gets one line per call; never arguments, bodies or tokens.
	Logger *slog.Logger
}

// Caller is on whose behalf a call is made.
type Caller struct {
	// Token is the credential that the API sees. A zero token is answered with
	// the code unauthorized before anything is sent.
	Token transport.Token
	// Renewed reads the token again after the API has refused it, which it may have
	// because it was replaced in the meantime; nil where there is no other token.
	Renewed func() transport.Token
	// Header reads a header of the caller's request; nil where there is none.
	Header func(name string) string
	// IdempotencyKey makes a call that is repeated with the same key, for instance
	// after an unknown delivery, count once. Only operations whose API takes such a
	// key have a use for it. Empty: one is made up for each call.
	IdempotencyKey string
}

// Gateway answers tool calls. It is safe for concurrent use and keeps nothing
// between calls.
type Gateway struct {
	catalog  *CatalogV1
	upstream *transport.Upstream
	defaults map[string]string
	log      *slog.Logger
	server   string
	tools    []*Tool // visible ones, by name
	listSize int
}

// Tool is a tool of a gateway, with its schema compiled on first use.
type Tool struct {
	*ToolV1
	schema func() *schema.Schema
}

// New returns a gateway. The catalogue is trusted: it was generated. One that
// contradicts itself panics here or on first use rather than misbehaving.
func New(o Options) *Gateway {
	g := &Gateway{catalog: o.Catalog, upstream: o.Upstream, defaults: o.Defaults, log: o.Logger}
	if g.upstream != nil {
		g.server = g.upstream.BaseURL()
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	all := make([]Tool, len(o.Catalog.Tools))
	for i := range o.Catalog.Tools {
		row := &o.Catalog.Tools[i]
		if i > 0 && row.Name <= o.Catalog.Tools[i-1].Name {
			panic("gateway: the catalogue is not sorted at " + row.Name)
		}
		if o.ReadOnly && !row.ReadOnly {
			continue
		}
		t := &all[i]
		t.ToolV1 = row
		t.schema = sync.OnceValue(func() *schema.Schema {
			s, err := schema.Compile([]byte(row.InputSchema))
			if err != nil {
				panic(fmt.Sprintf("gateway: schema of %s: %v", row.Name, err))
			}
			return s
		})
		g.tools = append(g.tools, t)
	}
	g.listSize = listSize(g.tools)
	return g
}

// Tools returns the visible tools by name; do not change the slice.
func (g *Gateway) Tools() []*Tool { return g.tools }

// Tool finds a visible tool.
func (g *Gateway) Tool(name string) (*Tool, bool) {
	i, ok := slices.BinarySearchFunc(g.tools, name, func(t *Tool, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		return nil, false
	}
	return g.tools[i], true
}

// Catalog returns what the gateway was made from.
func (g *Gateway) Catalog() *CatalogV1 { return g.catalog }

// BaseURL is the URL below which every request of the gateway goes.
func (g *Gateway) BaseURL() string { return g.upstream.BaseURL() }

// OpenCircuits names what calls are refused to for now because it keeps failing:
// "the API", or ids of operations.
func (g *Gateway) OpenCircuits() []string {
	names := g.upstream.OpenCircuits()
	if len(names) > 0 && names[0] == "" {
		names[0] = "the API"
	}
	return names
}

// Call makes one call and logs it. It always returns a result, also when the
// handler panics, of which Release must be called. ctx cancels the request to the API.
func (g *Gateway) Call(ctx context.Context, caller Caller, tool *Tool, arguments []byte) *Result {
	start := time.Now()
	c := call{gateway: g, ctx: ctx, caller: caller, tool: tool, requestID: NewRequestID()}
	lease, refusal := g.upstream.Admit(caller.Token)
	if refusal != nil {
		return c.finish(failure(refusal), 0)
	}
	r := c.finish(c.run(arguments), time.Since(start))
	r.lease = lease
	return r
}

// Refuse is Call for a call that a way in refuses by itself, for want of a token
// or because of its own limits: logged and answered like every other.
func (g *Gateway) Refuse(ctx context.Context, tool *Tool, refusal *apierrors.Error) *Result {
	c := call{gateway: g, ctx: ctx, tool: tool, requestID: NewRequestID()}
	return c.finish(failure(refusal), 0)
}

// NewRequestID makes up an id to find a call or a refusal in the log by. It need be
// unique, not secret.
func NewRequestID() string { return "rq_" + strconv.FormatUint(rand.Uint64(), 36) }

// call is the state of one tool call.
type call struct {
	gateway   *Gateway
	ctx       context.Context
	caller    Caller
	tool      *Tool
	requestID string
	upstream  *transport.Call // nil until there is a request to send
	courtesy  bool            // made by the gateway for another call; looks for no candidates itself
}

// finish puts the last touch to a result, and logs it.
func (c *call) finish(r *Result, took time.Duration) *Result {
	if e := r.Err; e != nil {
		e.RequestID = c.requestID
		// The upstream's words are masked already; those of the gateway repeat arguments.
		e.Message, e.Pointer = c.mask(e.Message), c.mask(e.Pointer)
	}
	c.log(r, took)
	return r
}

// run is the whole of a call; a panic in it is a defect of ours, not the
// process's end.
func (c *call) run(arguments []byte) (r *Result) {
	defer func() {
		if v := recover(); v != nil {
			c.gateway.log.LogAttrs(c.ctx, slog.LevelError, "panic in a call", slog.String("tool", c.tool.Name),
				slog.String("request_id", c.requestID), slog.String("panic", c.mask(fmt.Sprint(v))), slog.String("stack", string(debug.Stack())))
			e := apierrors.New(apierrors.Internal, "the gateway failed while handling this call; its log has the details under the request id")
			if c.upstream == nil {
				e.Delivery = apierrors.NotSent
			}
			r = failure(c.advise(e))
		}
	}()
	if err := c.checkIdempotencyKey(); err != nil {
		return failure(err)
	}
	args, err := c.arguments(arguments)
	if err != nil {
		return failure(err)
	}
	c.upstream = c.gateway.upstream.NewCall(c.caller.Token, &c.tool.Operation)
	c.upstream.UseIdempotencyKey(c.caller.IdempotencyKey)
	c.upstream.RenewToken(c.caller.Renewed)
	if _, err := c.tool.Invoke(c.ctx, Client{Server: c.gateway.server, Doer: c.upstream}, args); err != nil {
		e, ok := errors.AsType[*apierrors.Error](err)
		if !ok {
			e = apierrors.New(apierrors.Internal, "the request could not be built").WithCause(err)
			e.Delivery = c.upstream.Answer().Delivery
		}
		return failure(c.advise(e))
	}
	answer := c.upstream.Answer()
	if answer.Status == 0 {
		e := apierrors.New(apierrors.Internal, "the tool made no request")
		e.Delivery = answer.Delivery
		return failure(e)
	}
	return c.result(answer)
}

// maxIdempotencyKey bounds a caller's key, in bytes; the APIs known take 255.
const maxIdempotencyKey = 255

// checkIdempotencyKey refuses a key that could not be sent, and one for an operation
// that would be carried out twice all the same.
func (c *call) checkIdempotencyKey() *apierrors.Error {
	key := c.caller.IdempotencyKey
	if key == "" {
		return nil
	}
	if len(key) > maxIdempotencyKey || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		e := apierrors.New(apierrors.InvalidArguments, "the idempotency key cannot be sent")
		e.Expected = "1 to 255 visible ASCII characters"
		return e
	}
	if !c.tool.Operation.TellsRepeats() {
		e := apierrors.New(apierrors.InvalidArguments, "this tool takes no idempotency key: the API would carry out a repeated call again")
		e.Expected = "no idempotency key"
		return e
	}
	return nil
}

// mask is a text without the token, should it hold it.
func (c *call) mask(s string) string {
	if c.upstream != nil {
		return string(c.upstream.Mask([]byte(s)))
	}
	return string(c.caller.Token.Mask([]byte(s)))
}

func (c *call) log(r *Result, took time.Duration) {
	log, level := c.gateway.log, slog.LevelInfo
	if r.Err != nil && r.Err.Code == apierrors.Internal {
		level = slog.LevelError
	}
	if !log.Enabled(c.ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 8)
	attrs = append(attrs, slog.String("tool", c.tool.Name))
	if c.upstream != nil {
		answer := c.upstream.Answer()
		attrs = append(attrs, slog.Int("status", answer.Status), slog.Int("attempts", answer.Attempts))
	}
	if r.Err != nil {
		attrs = append(attrs, slog.String("code", string(r.Err.Code)))
		if cause := errors.Unwrap(r.Err); cause != nil && r.Err.Code == apierrors.Internal {
			if e, ok := errors.AsType[*url.Error](cause); ok {
				cause = e.Err // the wrapper spells out the URL, which is made of arguments
			}
			attrs = append(attrs, slog.String("cause", c.mask(cause.Error())))
		}
	}
	attrs = append(attrs, slog.Float64("duration_ms", float64(took.Microseconds())/1000), slog.Int("bytes", r.Size()), slog.String("request_id", c.requestID))
	log.LogAttrs(c.ctx, level, "call", attrs...)
}
