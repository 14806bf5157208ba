package command

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/postern-mcp/postern/apiclient/transport"
	"github.com/postern-mcp/postern/gateway"
)

// upstreamFlags are the settings of every command that talks to the API.
type upstreamFlags struct {
	apiURL              *string
	timeout             *time.Duration
	connectTimeout      *time.Duration
	firstByteTimeout    *time.Duration
	maxResponseBytes    *int64
	maxInFlight         *int64
	maxInFlightPerToken *int64 // nil where there is one token
	circuitCooldown     *time.Duration
	ca, cert, key       *string
	readOnly            *bool
	insecure            *bool
	logLevel, logFormat *string
}

func upstreamSettings(s *settings) *upstreamFlags {
	return &upstreamFlags{
		apiURL:           s.text("api-url", "", "URL", "URL of the API, such as https://api.example.com."),
		timeout:          s.duration("timeout", 30*time.Second, "Longest time a call may take, retries included."),
		connectTimeout:   s.duration("connect-timeout", 5*time.Second, "Longest time to connect to the API, and again for the TLS handshake."),
		firstByteTimeout: s.duration("first-byte-timeout", 0, "Longest wait for an answer to begin; 0 leaves it to --timeout."),
		maxResponseBytes: s.size("max-response-bytes", 1<<20, "Largest answer that is passed on."),
		maxInFlight:      s.count("max-in-flight", 256, "Calls to the API under way at most; more are refused with rate_limited."),
		circuitCooldown:  s.duration("circuit-cooldown", 5*time.Second, "How long calls are refused with circuit_open once what they go to keeps failing; 0 is never."),
		ca:               s.text("upstream-ca", "", "FILE", "Certificate authorities in PEM that the API is verified with instead of the system's."),
		cert:             s.text("upstream-cert", "", "FILE", "Client certificate in PEM that the gateway shows the API; read again for each connection."),
		key:              s.text("upstream-key", "", "FILE", "Private key of the client certificate, in PEM."),
		readOnly:         readOnlySetting(s),
		insecure:         s.on("allow-insecure-upstream", "Allow http:// to a host that is not this machine; tokens then cross the network in clear."),
		logLevel:         s.choice("log-level", "info", []string{"debug", "info", "warn", "error"}, "Lowest level to log; info is one line per call."),
		logFormat:        s.choice("log-format", "text", []string{"text", "json"}, "Format of the log on standard error."),
	}
}

func readOnlySetting(s *settings) *bool {
	return s.on("read-only", "Hide and refuse every tool that is not read-only.")
}

// tokenSettings are those of a command whose token is its own.
func tokenSettings(s *settings) (file *string) {
	return s.text("token-file", "", "FILE", "File that holds the token; read again when it changes.")
}

// maxBytes bounds the settings that bound sizes.
const maxBytes = 1 << 30

// logger writes to standard error: standard output is the protocol's.
func (f *upstreamFlags) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(*f.logLevel)) // one of the enumerated
	o := &slog.HandlerOptions{Level: level}
	if *f.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// open makes the gateway that a command works with; close it after use.
func (f *upstreamFlags) open(p *process, s *settings, log *slog.Logger) (*gateway.Gateway, func(), error) {
	base, err := f.baseURL(p.catalog)
	if err != nil {
		return nil, nil, err
	}
	defaults, err := s.file.defaults()
	if err != nil {
		return nil, nil, err
	}
	if *f.timeout <= 0 {
		return nil, nil, s.mustBe("timeout", "greater than 0")
	}
	if *f.maxResponseBytes <= 0 || *f.maxResponseBytes > maxBytes {
		return nil, nil, s.mustBe("max-response-bytes", "from 1 byte to 1 GiB")
	}
	if *f.connectTimeout <= 0 {
		return nil, nil, s.mustBe("connect-timeout", "greater than 0")
	}
	perToken := *f.maxInFlight
	if f.maxInFlightPerToken != nil {
		perToken = *f.maxInFlightPerToken
	}
	for name, n := range map[string]int64{"max-in-flight": *f.maxInFlight, "max-in-flight-per-token": perToken} {
		if n < 1 || n > 1_000_000 {
			return nil, nil, s.mustBe(name, "from 1 to 1000000")
		}
	}
	for name, d := range map[string]time.Duration{"first-byte-timeout": *f.firstByteTimeout, "circuit-cooldown": *f.circuitCooldown} {
		if d < 0 {
			return nil, nil, s.mustBe(name, "0 or more")
		}
	}
	cooldown := *f.circuitCooldown
	if cooldown == 0 {
		cooldown = -1 // transport.Config: off
	}
	if base.Scheme != "https" && *f.ca+*f.cert != "" {
		return nil, nil, usage("--upstream-ca and --upstream-cert are of no use for an http:// API")
	}
	trust, err := f.tls()
	if err != nil {
		return nil, nil, err
	}
	up, err := transport.New(transport.Config{
		BaseURL: base, UserAgent: p.catalog.Server.Name + "/" + version(),
		Timeout: *f.timeout, DialTimeout: *f.connectTimeout, TLSHandshakeTimeout: *f.connectTimeout, ResponseHeaderTimeout: *f.firstByteTimeout,
		MaxResponseBytes: *f.maxResponseBytes, MaxInFlight: int(*f.maxInFlight), MaxInFlightPerToken: int(perToken),
		CircuitCooldown: cooldown, TLS: trust, Logger: log,
	})
	if err != nil {
		return nil, nil, usage("%s_API_URL: %v", p.catalog.EnvPrefix, err)
	}
	g := gateway.New(gateway.Options{Catalog: p.catalog, Upstream: up, ReadOnly: *f.readOnly, Defaults: defaults, Logger: log})
	return g, up.Close, nil
}

// tls is how the API is verified and what is shown to it; nil for the system's way.
// The files are tried at once, so that a mistake in them is no matter of calls.
func (f *upstreamFlags) tls() (*tls.Config, error) {
	if (*f.cert == "") != (*f.key == "") {
		return nil, usage("--upstream-cert and --upstream-key go together")
	}
	if *f.ca == "" && *f.cert == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if *f.ca != "" {
		data, err := os.ReadFile(*f.ca)
		if err != nil {
			return nil, usage("--upstream-ca: %v", err)
		}
		if c.RootCAs, err = authorities(data); err != nil {
			return nil, usage("--upstream-ca: %s: %v", *f.ca, err)
		}
	}
	if *f.cert != "" {
		if _, err := tls.LoadX509KeyPair(*f.cert, *f.key); err != nil {
			return nil, usage("--upstream-cert: %v", err)
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(*f.cert, *f.key)
			return &pair, err
		}
	}
	return c, nil
}

// authorities reads certificates in PEM, all of them or none: one left out is missed
// only when it is needed.
func authorities(data []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	n := 0
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		n++
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d cannot be read: %w", n, err)
		}
		pool.AddCert(cert)
	}
	if n == 0 {
		return nil, errors.New("there is no certificate in PEM")
	}
	return pool, nil
}

// baseURL is the operator's URL with the document's base path. Errors do not
// repeat the URL, which may hold a password.
func (f *upstreamFlags) baseURL(c *gateway.CatalogV1) (*url.URL, error) {
	name := c.EnvPrefix + "_API_URL"
	if *f.apiURL == "" {
		return nil, usage("the API's URL is not set: set %s (or --api-url, or api_url in the configuration file), for example %s=https://api.example.com", name, name)
	}
	u, err := url.Parse(*f.apiURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usage("%s is not a URL; expected http:// or https:// and a host, for example https://api.example.com", name)
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) && !*f.insecure {
		return nil, usage("%s is plain http to another machine, which would send tokens in clear: use https, or allow it with --allow-insecure-upstream", name)
	}
	return u.JoinPath("/", c.BasePath), nil
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// errNoToken says where a token is looked for.
func errNoToken(c *gateway.CatalogV1) error {
	var ways []string
	if takes(c, (*transport.Operation).TakesToken) {
		ways = append(ways, "set "+c.EnvPrefix+"_TOKEN to a personal access token, or "+c.EnvPrefix+"_TOKEN_FILE to a file that holds one")
	}
	if takes(c, (*transport.Operation).TakesBasic) {
		ways = append(ways, "set "+c.EnvPrefix+"_USERNAME and "+c.EnvPrefix+"_PASSWORD")
	}
	return errors.New("no token: " + strings.Join(ways, "; or "))
}

// takes reports whether some tool's operation is of a kind.
func takes(c *gateway.CatalogV1, is func(*transport.Operation) bool) bool {
	return slices.ContainsFunc(c.Tools, func(t gateway.ToolV1) bool { return is(&t.Operation) })
}
