package command

import (
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/postern-mcp/postern/apiclient/transport"
	"github.com/postern-mcp/postern/gateway"
)

// upstreamFlags are the settings of every command that talks to the API.
type upstreamFlags struct {
	apiURL              *string
	timeout             *time.Duration
	maxResponseBytes    *int64
	readOnly            *bool
	insecure            *bool
	logLevel, logFormat *string
}

func upstreamSettings(s *settings) *upstreamFlags {
	return &upstreamFlags{
		apiURL:           s.text("api-url", "", "URL", "URL of the API, such as https://api.example.com."),
		timeout:          s.duration("timeout", 30*time.Second, "Longest time a call may take, retries included."),
		maxResponseBytes: s.size("max-response-bytes", 1<<20, "Largest answer that is passed on."),
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
	up, err := transport.New(transport.Config{
		BaseURL: base, UserAgent: p.catalog.Server.Name + "/" + version(),
		Timeout: *f.timeout, MaxResponseBytes: *f.maxResponseBytes, Logger: log,
	})
	if err != nil {
		return nil, nil, usage("%s_API_URL: %v", p.catalog.EnvPrefix, err)
	}
	g := gateway.New(gateway.Options{Catalog: p.catalog, Upstream: up, ReadOnly: *f.readOnly, Defaults: defaults, Logger: log})
	return g, up.Close, nil
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
	where := "set " + c.EnvPrefix + "_TOKEN to a personal access token, or " + c.EnvPrefix + "_TOKEN_FILE to a file that holds one"
	for i := range c.Tools {
		if c.Tools[i].Operation.Auth.Kind == transport.AuthBasic {
			where = "set " + c.EnvPrefix + "_USERNAME and " + c.EnvPrefix + "_PASSWORD"
		}
	}
	return errors.New("no token: " + where)
}
