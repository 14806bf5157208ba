package transport

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Config configures an [Upstream]. Only BaseURL is required.
type Config struct {
	// BaseURL is the operator's URL with the document's server path appended.
	BaseURL *url.URL
	// UserAgent is sent with every request.
	UserAgent string
	// Timeout bounds a whole call, retries and waits included. Default 30 s.
	Timeout time.Duration
	// DialTimeout and TLSHandshakeTimeout bound making a connection, so that a
	// dead address leaves time for another try. Default 5 s each.
	DialTimeout, TLSHandshakeTimeout time.Duration
	// ResponseHeaderTimeout bounds the wait for the first byte of an answer.
	// By default only Timeout does: a slow operation is not a broken one.
	ResponseHeaderTimeout time.Duration
	// MaxResponseBytes bounds an answer's body, counted after decompression.
	// Default 1 MiB.
	MaxResponseBytes int64
	// MaxAttempts bounds the requests made for one call; 1 turns retries off.
	// Default 3.
	MaxAttempts int
	// RetryWait bounds the wait before the second attempt, which is drawn at random
	// below it; it doubles with each further one, up to 2 s. Default 100 ms.
	RetryWait time.Duration
	// MaxRetryAfter is the longest Retry-After that is waited for; an answer
	// that asks for more comes back at once. Default 5 s.
	MaxRetryAfter time.Duration
	// MaxInFlight and MaxInFlightPerToken bound the calls under way; more are
	// refused with rate_limited. Defaults 256 and 64.
	MaxInFlight, MaxInFlightPerToken int
	// CircuitCooldown is how long calls are refused with circuit_open once what they
	// go to keeps failing. Default 5 s; negative turns circuits off.
	CircuitCooldown time.Duration
	// TLS verifies the API and proves to it who the gateway is; nil is the system's
	// certificate authorities and no client certificate. It is not changed.
	TLS *tls.Config
	// Logger gets a debug line for each repeated request and a warning for each
	// change of a circuit. Default: none.
	Logger *slog.Logger
}

// Upstream is the one REST API that calls go to: its origin, its limits and
// the pool of connections that all callers share. It is safe for concurrent use.
type Upstream struct {
	base     *url.URL
	basePath string // escaped, without the final slash
	address  string // host:port, for messages
	conf     Config
	pool     *http.Transport
	wire     http.RoundTripper // what an attempt goes through last: pool

	userAgent []string // a header value
	inFlight  inFlight
	circuits  circuits
}

// New checks the configuration and returns an Upstream. Nothing is dialled.
func New(conf Config) (*Upstream, error) {
	base, err := checkBase(conf.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("base URL: %w", err)
	}
	conf.Timeout = cmp.Or(conf.Timeout, 30*time.Second)
	conf.DialTimeout = cmp.Or(conf.DialTimeout, 5*time.Second)
	conf.TLSHandshakeTimeout = cmp.Or(conf.TLSHandshakeTimeout, 5*time.Second)
	conf.MaxResponseBytes = cmp.Or(conf.MaxResponseBytes, 1<<20)
	conf.MaxAttempts = cmp.Or(conf.MaxAttempts, 3)
	conf.RetryWait = cmp.Or(conf.RetryWait, 100*time.Millisecond)
	conf.MaxRetryAfter = cmp.Or(conf.MaxRetryAfter, 5*time.Second)
	conf.MaxInFlight = cmp.Or(conf.MaxInFlight, 256)
	conf.MaxInFlightPerToken = cmp.Or(conf.MaxInFlightPerToken, 64)
	conf.CircuitCooldown = cmp.Or(conf.CircuitCooldown, 5*time.Second)
	if conf.Logger == nil {
		conf.Logger = slog.New(slog.DiscardHandler)
	}
	if !validHeaderValue(conf.UserAgent) {
		return nil, errors.New("user agent: holds a control character")
	}
	pool := newPool(conf)
	return &Upstream{
		base:     base,
		basePath: base.EscapedPath(),
		address:  net.JoinHostPort(base.Hostname(), cmp.Or(base.Port(), map[string]string{"http": "80", "https": "443"}[base.Scheme])),
		conf:     conf,
		pool:     pool,
		wire:     pool,

		userAgent: []string{conf.UserAgent},
		inFlight:  inFlight{max: conf.MaxInFlight, perToken: conf.MaxInFlightPerToken, byToken: map[uint64]int{}},
		circuits:  newCircuits(conf.CircuitCooldown, conf.Logger),
	}, nil
}

// checkBase returns a copy of base without the final slash of its path. Its
// errors say nothing of the URL itself, which may hold a password.
func checkBase(base *url.URL) (*url.URL, error) {
	switch {
	case base == nil:
		return nil, errors.New("missing")
	case base.Scheme != "http" && base.Scheme != "https":
		return nil, errors.New("the scheme must be http or https")
	case base.Hostname() == "" || base.Opaque != "":
		return nil, errors.New("there is no host")
	case base.User != nil:
		return nil, errors.New("it must hold no user or password; the caller's token is the only credential")
	case base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return nil, errors.New("it must hold no query and no fragment")
	}
	clean := &url.URL{Scheme: base.Scheme, Host: base.Host}
	path := strings.TrimRight(base.EscapedPath(), "/")
	if path != "" && path[0] != '/' {
		path = "/" + path // what url.URL.JoinPath makes of an empty path
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if path != "" && !safeValue(part) {
			return nil, errors.New("the path holds an empty part, a dot segment or a control character")
		}
	}
	var err error
	if clean.Path, err = url.PathUnescape(path); err != nil {
		return nil, errors.New("the path is not correctly escaped")
	}
	clean.RawPath = path
	return clean, nil
}

// newPool returns the connections that all calls share. Every number is here.
func newPool(conf Config) *http.Transport {
	dialer := &net.Dialer{Timeout: conf.DialTimeout, KeepAlive: 30 * time.Second}
	tlsConfig := &tls.Config{}
	if conf.TLS != nil {
		tlsConfig = conf.TLS.Clone()
	}
	tlsConfig.MinVersion = max(tlsConfig.MinVersion, tls.VersionTLS12)
	// HTTP/2 repeats requests that the peer says it has not handled, and others whose
	// stream it reset, as often as it likes and without a way to object.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialing(dialer),
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    conf.TLSHandshakeTimeout,
		Protocols:              protocols,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    128, // there is one host; two, the default, means dialling under load
		IdleConnTimeout:        90 * time.Second,
		ResponseHeaderTimeout:  conf.ResponseHeaderTimeout,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// BaseURL returns what a generated client takes as its server: no credential,
// no query, no final slash.
func (u *Upstream) BaseURL() string { return u.base.String() }

// Close closes the idle connections. Calls under way finish.
func (u *Upstream) Close() { u.pool.CloseIdleConnections() }
