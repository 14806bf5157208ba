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

type stdioCommand struct {
	upstreamFlags
	tokenFlags
	RateLimit float64       `env:"${prefix}_RATE_LIMIT" default:"0" help:"Calls per second that are let through; 0 is no limit."`
	Grace     time.Duration `env:"${prefix}_GRACE" default:"10s" help:"How long calls in flight may take once input has ended."`
}

// Run serves until input ends or the process is told to stop.
func (c *stdioCommand) Run(ctx context.Context, p *process, file *configFile) error {
	log := c.logger(p.err)
	g, closeGateway, err := c.open(p, file, log)
	if err != nil {
		return err
	}
	defer closeGateway()
	token := tokenSource(p.catalog, c.TokenFile)
	if _, err := token(); err != nil {
		// The client can still list the tools, and each call says what is missing.
		log.Warn("calls will be answered with unauthorized", "error", err)
	}
	return mcpserver.New(g, version(), log).ServeStdio(ctx, p.in, p.out, mcpserver.StdioOptions{
		Token: token, RateLimit: c.RateLimit, Grace: c.Grace,
	})
}

// httpFlags are the settings of the HTTP server.
type httpFlags struct {
	Listen          string        `env:"${prefix}_LISTEN" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address to listen on."`
	TLSCert         string        `name:"tls-cert" env:"${prefix}_TLS_CERT" placeholder:"FILE" help:"Certificate chain in PEM; with --tls-key turns TLS on."`
	TLSKey          string        `name:"tls-key" env:"${prefix}_TLS_KEY" placeholder:"FILE" help:"Private key in PEM."`
	TrustedProxy    []string      `env:"${prefix}_TRUSTED_PROXY" placeholder:"ADDRESS" help:"Address or CIDR prefix of a proxy that ends TLS; plain HTTP from beyond this machine is accepted from it alone."`
	AllowHost       []string      `env:"${prefix}_ALLOW_HOST" placeholder:"NAME" help:"Host that clients may address besides loopback, for example mcp.example.com."`
	AllowOrigin     []string      `env:"${prefix}_ALLOW_ORIGIN" placeholder:"ORIGIN" help:"Origin of web pages that may call besides loopback ones, for example https://app.example.com."`
	RateLimit       float64       `env:"${prefix}_RATE_LIMIT" default:"20" help:"Calls per second for each token, bursts of twice that; 0 is no limit."`
	GlobalRateLimit float64       `env:"${prefix}_GLOBAL_RATE_LIMIT" default:"0" help:"Calls per second for all tokens together; 0 is no limit."`
	MaxRequestBytes int64         `env:"${prefix}_MAX_REQUEST_BYTES" default:"4194304" help:"Largest request body that is accepted."`
	Grace           time.Duration `env:"${prefix}_GRACE" default:"10s" help:"How long requests in flight may take once the process is told to stop."`
}

type serveCommand struct {
	upstreamFlags
	httpFlags
}

// Run serves until the process is told to stop, then lets requests finish.
func (c *serveCommand) Run(ctx context.Context, p *process, file *configFile) error {
	log := c.logger(p.err)
	options, err := c.options(p.catalog.EnvPrefix)
	if err != nil {
		return err
	}
	g, closeGateway, err := c.open(p, file, log)
	if err != nil {
		return err
	}
	defer closeGateway()
	var certificates *tls.Config
	if c.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
		if err != nil {
			return usage("the TLS certificate: %v", err)
		}
		certificates = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	listener, err := net.Listen("tcp", c.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use by another process; choose another address with --listen or %s_LISTEN", c.Listen, p.catalog.EnvPrefix)
	}
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	handler := mcpserver.New(g, version(), log).Handler(options)
	server := mcpserver.NewHTTPServer(handler, c.Timeout, log)
	server.TLSConfig = certificates
	scheme := "http"
	served := make(chan error, 1)
	if certificates != nil {
		scheme = "https"
		go func() { served <- server.ServeTLS(listener, "", "") }()
	} else {
		go func() { served <- server.Serve(listener) }()
	}
	log.Info("listening", slog.String("url", scheme+"://"+listener.Addr().String()+"/mcp"), slog.Int("tools", len(g.Tools())))
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	log.Info("stopping", slog.Duration("grace", c.Grace))
	handler.Drain()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Grace)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		_ = server.Close() // ends what the grace time was not enough for
		log.Warn("requests were cut off", slog.Duration("grace", c.Grace))
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// options checks the settings that decide who can reach the server.
func (f *httpFlags) options(prefix string) (mcpserver.HTTPOptions, error) {
	o := mcpserver.HTTPOptions{
		AllowedHosts: f.AllowHost, AllowedOrigins: f.AllowOrigin,
		RateLimit: f.RateLimit, GlobalRateLimit: f.GlobalRateLimit, MaxRequestBytes: f.MaxRequestBytes,
	}
	host, _, err := net.SplitHostPort(f.Listen)
	if err != nil {
		return o, usage("%s_LISTEN (--listen) is not an address; expected HOST:PORT, for example 127.0.0.1:8080", prefix)
	}
	if (f.TLSCert == "") != (f.TLSKey == "") {
		return o, usage("--tls-cert and --tls-key go together")
	}
	if f.MaxRequestBytes <= 0 || f.RateLimit < 0 || f.GlobalRateLimit < 0 {
		return o, usage("max-request-bytes must be greater than 0, rate limits not less than 0")
	}
	for _, p := range f.TrustedProxy {
		prefix, err := parsePrefix(p)
		if err != nil {
			return o, usage("--trusted-proxy %q is not an address; expected one such as 10.0.0.5 or 10.0.0.0/24", p)
		}
		o.TrustedProxies = append(o.TrustedProxies, prefix)
	}
	if isLoopback(host) || f.TLSCert != "" {
		return o, nil
	}
	if len(o.TrustedProxies) == 0 {
		return o, usage("--listen %s is reachable from other machines, and tokens would cross the network in clear: "+
			"set --tls-cert and --tls-key, or name the proxy that ends TLS with --trusted-proxy, or listen on 127.0.0.1", f.Listen)
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
