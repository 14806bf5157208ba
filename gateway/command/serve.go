package command

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"github.com/postern-mcp/postern/gateway/mcpserver"
)

// What stdio and serve say of the settings they share. The grace time stays below
// the 30 s after which Kubernetes kills.
const (
	defaultGrace  = 25 * time.Second
	graceHelp     = "How long calls in flight may take once the process is to stop; longer ones are answered with canceled."
	rateLimitHelp = "Calls per second for each token, bursts of twice that; 0 is no limit."
)

// stdio serves until input ends or the process is told to stop.
func stdio(p *process, s *settings) action {
	up, tokenFile := upstreamSettings(s), tokenSettings(s)
	rateLimit := s.number("rate-limit", 0, rateLimitHelp)
	grace := s.duration("grace", defaultGrace, graceHelp)
	return func(ctx context.Context, _ []string) error {
		if err := s.checkRate("rate-limit", *rateLimit); err != nil {
			return err
		}
		if *grace < 0 {
			return s.mustBe("grace", "0 or more")
		}
		log := up.logger(p.err)
		g, closeGateway, err := up.open(p, s, log)
		if err != nil {
			return err
		}
		defer closeGateway()
		token := tokenSource(p.catalog, s, *tokenFile)
		if _, err := token(); err != nil {
			// The client can still list the tools, and each call says what is missing.
			log.Warn("calls will be answered with unauthorized", "error", err)
		}
		return mcpserver.New(g, version(), log).ServeStdio(ctx, p.in, p.out, mcpserver.StdioOptions{
			Token: token, RateLimit: *rateLimit, Grace: *grace,
		})
	}
}

// httpFlags are the settings of the HTTP server.
type httpFlags struct {
	listen, tlsCert, tlsKey              *string
	trustedProxy, allowHost, allowOrigin *[]string
	rateLimit, globalRateLimit           *float64
	maxRequestBytes, maxInFlightPerToken *int64
	grace                                *time.Duration
}

func httpSettings(s *settings) *httpFlags {
	return &httpFlags{
		listen:              s.text("listen", "127.0.0.1:8080", "HOST:PORT", "Address to listen on."),
		tlsCert:             s.text("tls-cert", "", "FILE", "Certificate chain in PEM; with --tls-key turns TLS on."),
		tlsKey:              s.text("tls-key", "", "FILE", "Private key in PEM."),
		trustedProxy:        s.list("trusted-proxy", "ADDRESS", "Address or CIDR prefix of a proxy that ends TLS; plain HTTP from beyond this machine is accepted from it alone."),
		allowHost:           s.list("allow-host", "NAME", "Host that clients may address besides loopback, for example mcp.example.com."),
		allowOrigin:         s.list("allow-origin", "ORIGIN", "Origin of web pages that may call besides loopback ones, for example https://app.example.com."),
		rateLimit:           s.number("rate-limit", 20, rateLimitHelp),
		globalRateLimit:     s.number("global-rate-limit", 0, "Calls per second for all tokens together; 0 is no limit."),
		maxInFlightPerToken: s.count("max-in-flight-per-token", 64, "Calls to the API under way at most for each token, so that none keeps others waiting."),
		maxRequestBytes:     s.size("max-request-bytes", 4<<20, "Largest request body that is accepted."),
		grace:               s.duration("grace", defaultGrace, graceHelp),
	}
}

// serve serves until the process is told to stop, then lets requests finish.
func serve(p *process, s *settings) action {
	up, http := upstreamSettings(s), httpSettings(s)
	up.maxInFlightPerToken = http.maxInFlightPerToken
	return func(ctx context.Context, _ []string) error { return http.run(ctx, p, s, up) }
}

func (f *httpFlags) run(ctx context.Context, p *process, s *settings, up *upstreamFlags) error {
	log := up.logger(p.err)
	options, err := f.options(s)
	if err != nil {
		return err
	}
	g, closeGateway, err := up.open(p, s, log)
	if err != nil {
		return err
	}
	defer closeGateway()
	var certificates *tls.Config
	if *f.tlsCert != "" {
		pair, err := tls.LoadX509KeyPair(*f.tlsCert, *f.tlsKey)
		if err != nil {
			return usage("the TLS certificate: %v", err)
		}
		certificates = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", *f.listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use by another process; choose another address with --listen or %s_LISTEN", *f.listen, p.catalog.EnvPrefix)
	}
	if err != nil && ctx.Err() != nil {
		return nil // told to stop while a name was looked up
	}
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	handler := mcpserver.New(g, version(), log).Handler(options)
	server := mcpserver.NewHTTPServer(handler, *up.timeout, log)
	server.TLSConfig = certificates
	scheme := "http"
	served := make(chan error, 1)
	if certificates != nil {
		scheme = "https"
		go func() { served <- server.ServeTLS(listener, "", "") }()
	} else {
		go func() { served <- server.Serve(listener) }()
	}
	if p.stoppable != nil {
		<-p.stoppable
	}
	log.Info("listening", slog.String("url", scheme+"://"+listener.Addr().String()+"/mcp"), slog.Int("tools", len(g.Tools())))
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	log.Info("stopping", slog.String("grace", f.grace.String()))
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), *f.grace)
	defer cancel()
	// Until the last call is answered /readyz can still be asked.
	select {
	case <-handler.Drain():
	case <-grace.Done():
		log.Warn("calls were cut off", slog.String("grace", f.grace.String()))
		handler.Expire() // they are answered all the same
	}
	last, cancelLast := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancelLast()
	if err := server.Shutdown(last); err != nil {
		_ = server.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// options checks the settings that decide who can reach the server.
func (f *httpFlags) options(s *settings) (mcpserver.HTTPOptions, error) {
	o := mcpserver.HTTPOptions{
		AllowedHosts: *f.allowHost, AllowedOrigins: *f.allowOrigin,
		RateLimit: *f.rateLimit, GlobalRateLimit: *f.globalRateLimit, MaxRequestBytes: *f.maxRequestBytes,
	}
	host, _, err := net.SplitHostPort(*f.listen)
	if err != nil {
		return o, usage("%s_LISTEN (--listen) is not an address; expected HOST:PORT, for example 127.0.0.1:8080", s.prefix)
	}
	if (*f.tlsCert == "") != (*f.tlsKey == "") {
		return o, usage("--tls-cert and --tls-key go together")
	}
	if *f.maxRequestBytes <= 0 || *f.maxRequestBytes > maxBytes {
		return o, s.mustBe("max-request-bytes", "from 1 byte to 1 GiB")
	}
	if err := s.checkRate("rate-limit", *f.rateLimit); err != nil {
		return o, err
	}
	if *f.grace < 0 {
		return o, s.mustBe("grace", "0 or more")
	}
	if err := s.checkRate("global-rate-limit", *f.globalRateLimit); err != nil {
		return o, err
	}
	for _, host := range *f.allowHost {
		if strings.ContainsAny(host, "/@") {
			return o, usage("--allow-host %q is no host; expected one such as mcp.example.com", host)
		}
	}
	for _, p := range *f.trustedProxy {
		prefix, err := parsePrefix(p)
		if err != nil {
			return o, usage("--trusted-proxy %q is not an address; expected one such as 10.0.0.5 or 10.0.0.0/24", p)
		}
		o.TrustedProxies = append(o.TrustedProxies, prefix)
	}
	if isLoopback(host) || *f.tlsCert != "" {
		return o, nil
	}
	if len(o.TrustedProxies) == 0 {
		return o, usage("--listen %s is reachable from other machines, and tokens would cross the network in clear: "+
			"set --tls-cert and --tls-key, or name the proxy that ends TLS with --trusted-proxy, or listen on 127.0.0.1", *f.listen)
	}
	o.PlainRemote = true
	return o, nil
}

func parsePrefix(s string) (netip.Prefix, error) {
	if strings.Contains(s, "/") {
		return netip.ParsePrefix(s)
	}
	addr, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, err
	}
	return addr.Prefix(addr.BitLen())
}
