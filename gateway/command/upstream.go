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
	APIURL                string        `name:"api-url" env:"${prefix}_API_URL" placeholder:"URL" help:"URL of the API, such as https://api.example.com."`
	Timeout               time.Duration `env:"${prefix}_TIMEOUT" default:"30s" help:"Longest time a call may take, retries included."`
	MaxResponseBytes      int64         `env:"${prefix}_MAX_RESPONSE_BYTES" default:"1048576" help:"Largest answer that is passed on."`
	ReadOnly              bool          `env:"${prefix}_READ_ONLY" help:"Hide and refuse every tool that is not read-only."`
	AllowInsecureUpstream bool          `env:"${prefix}_ALLOW_INSECURE_UPSTREAM" help:"Allow http:// to a host that is not this machine; tokens then cross the network in clear."`
	LogLevel              string        `env:"${prefix}_LOG_LEVEL" default:"info" enum:"debug,info,warn,error" help:"Lowest level to log (${enum}); info is one line per call."`
	LogFormat             string        `env:"${prefix}_LOG_FORMAT" default:"text" enum:"text,json" help:"Format of the log on standard error (${enum})."`
}

// tokenFlags are the settings of a command whose token is its own.
type tokenFlags struct {
	TokenFile string `env:"${prefix}_TOKEN_FILE" placeholder:"FILE" help:"File that holds the token; read again when it changes."`
}

// logger writes to standard error: standard output is the protocol's.
func (f *upstreamFlags) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(f.LogLevel)) // one of the enumerated
	o := &slog.HandlerOptions{Level: level}
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// open makes the gateway that a command works with; close it after use.
func (f *upstreamFlags) open(p *process, file *configFile, log *slog.Logger) (*gateway.Gateway, func(), error) {
	base, err := f.baseURL(p.catalog)
	if err != nil {
		return nil, nil, err
	}
	defaults, err := file.defaults()
	if err != nil {
		return nil, nil, err
	}
	if f.Timeout <= 0 || f.MaxResponseBytes <= 0 {
		return nil, nil, usage("timeout and max-response-bytes must be greater than 0")
	}
	up, err := transport.New(transport.Config{
		BaseURL: base, UserAgent: p.catalog.Server.Name + "/" + version(),
		Timeout: f.Timeout, MaxResponseBytes: f.MaxResponseBytes, Logger: log,
	})
	if err != nil {
		return nil, nil, usage("%s_API_URL: %v", p.catalog.EnvPrefix, err)
	}
	g := gateway.New(gateway.Options{Catalog: p.catalog, Upstream: up, ReadOnly: f.ReadOnly, Defaults: defaults, Logger: log})
	return g, up.Close, nil
}

// baseURL is the operator's URL with the document's base path. Errors do not
// repeat the URL, which may hold a password.
func (f *upstreamFlags) baseURL(c *gateway.CatalogV1) (*url.URL, error) {
	name := c.EnvPrefix + "_API_URL"
	if f.APIURL == "" {
		return nil, usage("the API's URL is not set: set %s (or --api-url, or api_url in the configuration file), for example %s=https://api.example.com", name, name)
	}
	u, err := url.Parse(f.APIURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usage("%s is not a URL; expected http:// or https:// and a host, for example https://api.example.com", name)
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) && !f.AllowInsecureUpstream {
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
	return errors.New("no token: set " + c.EnvPrefix + "_TOKEN to a personal access token, or " + c.EnvPrefix + "_TOKEN_FILE to a file that holds one")
}
