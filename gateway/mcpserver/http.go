package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postern-mcp/postern/apiclient/transport"
	apierrors "github.com/postern-mcp/postern/errors"
	"github.com/postern-mcp/postern/gateway"
)

// HTTPOptions configure [Server.Handler].
type HTTPOptions struct {
	// AllowedHosts are the Host values accepted besides loopback ones, on any port.
	AllowedHosts []string
	// AllowedOrigins are the Origin values accepted besides loopback ones, as
	// scheme://host[:port].
	AllowedOrigins []string
	// TrustedProxies may reach a listener without TLS from beyond loopback.
	// It is only asked when PlainRemote is set.
	TrustedProxies []netip.Prefix
	// PlainRemote is set for a listener that speaks plain HTTP beyond loopback.
	PlainRemote bool
	// RateLimit and GlobalRateLimit are calls per second, for each token and for
	// all together; 0 is no limit.
	RateLimit, GlobalRateLimit float64
	// MaxRequestBytes bounds a request's body. Default 4 MiB.
	MaxRequestBytes int64
}

// maxRequests is how many requests of the largest size are held at a time; of
// ordinary ones that is tens of thousands.
const maxRequests = 64

// room bounds the bytes of the requests that are held, as they come: what is only
// announced takes none.
type room struct {
	limit int64
	used  atomic.Int64
}

// share is what one request takes of a room.
type share struct {
	of   *room
	used int64
}

var errNoRoom = errors.New("there is no room for the request")

func (r *room) share() *share { return &share{of: r} }

// Write implements [io.Writer] for bytes that have come.
func (s *share) Write(p []byte) (int, error) {
	n := int64(len(p))
	if s.used += n; s.of.used.Add(n) > s.of.limit {
		return 0, errNoRoom
	}
	return len(p), nil
}

func (s *share) give() { s.of.used.Add(-s.used) }

// Handler is the gateway over HTTP: POST /mcp, GET /healthz and GET /readyz.
type Handler struct {
	mux    *http.ServeMux
	guard  *guard
	drain  drain
	expire context.CancelFunc
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// Drain turns new requests away, which /readyz says to load balancers, and
// returns a channel that is closed once no request is under way.
func (h *Handler) Drain() <-chan struct{} { return h.drain.begin() }

// Expire ends the calls that are under way; they are answered with what they came to.
func (h *Handler) Expire() { h.expire() }

// Handler returns the gateway over Streamable HTTP (MCP 2025-11-25, Transports),
// stateless and with JSON answers: no request depends on an earlier one, so that
// replicas scale behind any load balancer.
//
// A request passes these in order, each with an outcome of its own: whether the
// gateway is shutting down (503), who may connect (403), Host and Origin (403), the
// method (405), the bearer (401), the size (413), the syntax (400), the rate (429),
// and then a template of the SDK's answer, else the SDK.
func (s *Server) Handler(o HTTPOptions) *Handler {
	if o.MaxRequestBytes == 0 {
		o.MaxRequestBytes = 4 << 20
	}
	calls, expire := context.WithCancel(context.Background())
	h := &Handler{mux: http.NewServeMux(), expire: expire}
	guard := &guard{
		next: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.sdk }, &mcp.StreamableHTTPOptions{
			Stateless: true, JSONResponse: true, PropagateRequestCancellation: true,
			Logger: slog.New(quiet{s.log.Handler()}),
			// Host is checked here, where allowed names are known.
			DisableLocalhostProtection: true,
			MaxRequestBodyBytes:        o.MaxRequestBytes,
		}),
		server:  s,
		options: o,
		proxies: unmapped(o.TrustedProxies),
		realm:   s.gateway.Catalog().Server.Name,
		limits:  newRateLimits(o.RateLimit, o.GlobalRateLimit),
		drain:   &h.drain,
		reading: &room{limit: maxRequests * o.MaxRequestBytes},
		log:     s.log,
		calls:   calls,
	}
	for _, t := range s.gateway.Catalog().Tools {
		guard.basic = guard.basic || t.Operation.TakesBasic()
		guard.bearer = guard.bearer || t.Operation.TakesToken()
		guard.open = guard.open || t.Operation.NeedsNone()
	}
	h.guard = guard
	h.mux.Handle("/mcp", guard)
	h.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writePlain(w, http.StatusOK, "ok") })
	h.mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if h.drain.begun() {
			writePlain(w, http.StatusServiceUnavailable, "shutting down")
			return
		}
		text := "ready"
		for _, circuit := range s.gateway.OpenCircuits() {
			text += "\ncircuit open: " + circuit
		}
		writePlain(w, http.StatusOK, text)
	})
	return h
}

func writePlain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

// guard is everything between the listener and the SDK.
type guard struct {
	next             http.Handler
	server           *Server
	templates, lists templates // of calls, and of lists, which the API does not see
	options          HTTPOptions
	proxies          []netip.Prefix
	realm            string
	limits           *rateLimits
	drain            *drain
	reading          *room
	log              *slog.Logger
	calls            context.Context // ends when calls must
	// bearer is set where a tool sends a token, basic where one sends a user and a
	// password (RFC 7617), open where one needs neither: then who sends none is let in,
	// and the others answer with an envelope.
	bearer, basic, open bool
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.drain.enter() {
		e := apierrors.New(apierrors.RateLimited, "this gateway is shutting down; another replica, or this one after its restart, will answer")
		e.RetryAfterSeconds = 1
		g.refuse(w, r, http.StatusServiceUnavailable, e)
		return
	}
	defer g.drain.leave()
	if g.options.PlainRemote && !trusted(r.RemoteAddr, g.proxies) {
		g.forbid(w, r, "plain HTTP is accepted from the trusted proxies only (--trusted-proxy)")
		return
	}
	if !allowedHost(r.Host, g.options.AllowedHosts) {
		g.forbid(w, r, "this Host is not allowed; --allow-host adds one")
		return
	}
	for _, origin := range r.Header.Values("Origin") {
		if !allowedOrigin(origin, g.options.AllowedOrigins) {
			g.forbid(w, r, "this Origin is not allowed; --allow-origin adds one")
			return
		}
		allowBrowser(w.Header(), origin)
	}
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		g.plain(w, r, http.StatusMethodNotAllowed, "POST a JSON-RPC message; this server keeps no streams and no sessions")
		return
	}
	token, err := g.credential(r.Header)
	letIn := g.open && r.Header.Get("Authorization") == "" || !g.bearer && !g.basic && errors.Is(err, errNoCredential)
	if err != nil && !letIn {
		g.challenge(w, r, err)
		return
	}
	share := g.reading.share()
	defer share.give()
	body, err := io.ReadAll(io.TeeReader(http.MaxBytesReader(w, r.Body, g.options.MaxRequestBytes), share))
	if err != nil {
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			g.plain(w, r, http.StatusRequestEntityTooLarge, "the request is larger than this gateway accepts (--max-request-bytes)")
		case errors.Is(err, errNoRoom):
			e := apierrors.New(apierrors.RateLimited, "this gateway holds as many requests as it has room for")
			e.RetryAfterSeconds = 1
			g.refuse(w, r, http.StatusServiceUnavailable, e)
		default:
			g.plain(w, r, http.StatusBadRequest, "the request's body could not be read")
		}
		return
	}
	found, err := look(body)
	if err != nil {
		code := int(jsonrpc.CodeInvalidRequest)
		if !json.Valid(body) {
			code = jsonrpc.CodeParseError
		}
		g.logRefusal(r, http.StatusBadRequest, slog.String("reason", err.Error()))
		writeJSON(w, http.StatusBadRequest, errorMessage(nil, code, err.Error()))
		return
	}
	if refusal := g.limits.take(token, found.calls, time.Now()); refusal != nil {
		status := http.StatusTooManyRequests
		if refusal.RetryAfterSeconds == 0 {
			status = http.StatusBadRequest // to come again is of no use
		}
		g.refuse(w, r, status, refusal)
		return
	}
	if g.server.sdkAlone {
		g.forward(w, r, token, body, nil)
		return
	}
	done, lesson := g.express(w, r, token, body)
	if !done {
		g.forward(w, r, token, body, lesson)
	}
}

// forward hands the request to the SDK, with its caller in the context.
func (g *guard) forward(w http.ResponseWriter, r *http.Request, token transport.Token, body []byte, l *lesson) {
	caller := gateway.Caller{Token: token, Header: r.Header.Get}
	done, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(g.calls, cancel)()
	var mu sync.Mutex // a batch's calls run at once
	var held []*gateway.Result
	defer func() {
		mu.Lock()
		defer mu.Unlock()
		for _, result := range held {
			result.Release()
		}
	}()
	out := r.Clone(withPeer(r.Context(), &peer{
		caller: func(*gateway.Tool) (gateway.Caller, *apierrors.Error) { return caller, nil },
		mask:   token.Mask,
		done:   done,
		lesson: l,
		hold: func(result *gateway.Result) string {
			mu.Lock()
			defer mu.Unlock()
			held = append(held, result)
			return g.server.standIn(result, len(held)-1)
		},
	}))
	out.Header.Del("Authorization") // nothing behind here needs it
	out.Body = io.NopCloser(bytes.NewReader(body))
	if acceptsJSON(r.Header.Values("Accept")) {
		// Answers are JSON; a client that accepts that need not accept streams too.
		out.Header.Set("Accept", "application/json, text/event-stream")
	}
	masked := &maskedWriter{ResponseWriter: w, token: token, write: func(o outgoing) error {
		o.result = func(index int) *gateway.Result {
			mu.Lock()
			defer mu.Unlock()
			return held[index]
		}
		return g.server.write(w, o)
	}}
	if l == nil {
		g.next.ServeHTTP(masked, out)
		return
	}
	before := maps.Clone(w.Header())
	masked.written = func(message []byte) { l.check(message, g.server.placeholder) }
	g.next.ServeHTTP(masked, out)
	if masked.status == http.StatusOK {
		g.templatesOf(&l.request).learn(l, before, w.Header())
	}
}

// maskedWriter masks the credential in errors. The SDK writes a message at once.
type maskedWriter struct {
	http.ResponseWriter
	token   transport.Token
	write   func(outgoing) error
	written func(message []byte) // is told what is written; nil for nobody
	status  int
}

// WriteHeader implements [http.ResponseWriter].
func (w *maskedWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *maskedWriter) Write(b []byte) (int, error) {
	o := outgoing{message: b}
	if holdsError(b) || w.Header().Get("Content-Type") != "application/json" {
		o.mask = w.token.Mask
	}
	if w.status == 0 {
		w.status = http.StatusOK
	}
	if w.written != nil {
		w.written(b)
	}
	if err := w.write(o); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Unwrap is for [http.ResponseController].
func (w *maskedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

var errNoCredential = errors.New("there is no credential")

// credential reads the caller's token (RFC 6750, section 2.1) or encoded user and
// password (RFC 7617), whichever the API takes.
func (g *guard) credential(h http.Header) (transport.Token, error) {
	values := h.Values("Authorization")
	if len(values) > 1 {
		return transport.Token{}, errors.New("there is more than one Authorization header")
	}
	if len(values) == 1 {
		scheme, value, _ := strings.Cut(values[0], " ")
		value = strings.TrimLeft(value, " ")
		switch {
		case (g.bearer || !g.basic) && strings.EqualFold(scheme, "Bearer"):
			return transport.NewToken(value)
		case g.basic && strings.EqualFold(scheme, "Basic"):
			return transport.NewBasic(value)
		}
	}
	if g.basic && !g.bearer {
		return transport.Token{}, fmt.Errorf("%w: send your user and password as `Authorization: Basic …` (RFC 7617)", errNoCredential)
	}
	return transport.Token{}, fmt.Errorf("%w: send your personal access token as `Authorization: Bearer TOKEN`", errNoCredential)
}

// challenge answers a missing or malformed bearer (RFC 6750, section 3): a request
// without one, or with another scheme, is not told that its token is wrong.
func (g *guard) challenge(w http.ResponseWriter, r *http.Request, err error) {
	challenge := "Bearer realm=" + strconv.QuoteToASCII(g.realm)
	switch {
	case g.basic && !g.bearer:
		challenge = "Basic realm=" + strconv.QuoteToASCII(g.realm) + `, charset="UTF-8"`
	case !errors.Is(err, errNoCredential):
		challenge += `, error="invalid_token"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
	e := apierrors.New(apierrors.Unauthorized, err.Error())
	e.Status = http.StatusUnauthorized
	g.refuse(w, r, http.StatusUnauthorized, e)
}

// refuse answers a request that gets no further with an envelope.
func (g *guard) refuse(w http.ResponseWriter, r *http.Request, status int, e *apierrors.Error) {
	if e.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.RetryAfterSeconds))
	}
	e.RequestID = gateway.NewRequestID()
	g.logRefusal(r, status, slog.String("code", string(e.Code)), slog.String("request_id", e.RequestID))
	writeJSON(w, status, e.Envelope())
}

// forbid answers a request that must not come from where it comes from.
func (g *guard) forbid(w http.ResponseWriter, r *http.Request, why string) {
	g.plain(w, r, http.StatusForbidden, why)
}

// plain answers a request that is none of the protocol's.
func (g *guard) plain(w http.ResponseWriter, r *http.Request, status int, why string) {
	g.logRefusal(r, status, slog.String("reason", why))
	writePlain(w, status, why)
}

func (g *guard) logRefusal(r *http.Request, status int, attrs ...slog.Attr) {
	attrs = append([]slog.Attr{slog.Int("status", status), slog.String("remote", r.RemoteAddr)}, attrs...)
	g.log.LogAttrs(r.Context(), slog.LevelInfo, "refused", attrs...)
}

// allowBrowser lets a page of an allowed origin read the answer (Fetch Standard,
// CORS protocol). Credentials are the bearer alone, which a page sets itself.
func allowBrowser(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Allow-Methods", http.MethodPost)
	// A wildcard does not cover Authorization.
	h.Set("Access-Control-Allow-Headers", "Authorization, *")
	h.Set("Access-Control-Expose-Headers", "WWW-Authenticate, Retry-After")
	h.Set("Access-Control-Max-Age", "600")
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func acceptsJSON(values []string) bool {
	if len(values) == 0 {
		return true // RFC 9110, section 12.5.1: anything is acceptable
	}
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			mediaType, _, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(mediaType)) {
			case "application/json", "application/*", "*/*":
				return true
			}
		}
	}
	return false
}

// basedKey marks the contexts of requests that end when the handler's calls must.
type basedKey struct{}

// NewHTTPServer returns a server with the bounds that a gateway needs: nothing a
// client does slowly holds a connection for longer than a call may take.
func NewHTTPServer(h *Handler, callTimeout time.Duration, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      callTimeout + 40*time.Second, // the read of the body counts
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(quiet{log.Handler()}, slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return context.WithValue(h.guard.calls, basedKey{}, true) },
	}
}
