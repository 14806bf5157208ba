package openapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// rootExtension is x-mcp at the root of a document.
type rootExtension struct {
	Server struct {
		Name         string `yaml:"name"`
		Title        string `yaml:"title"`
		Instructions string `yaml:"instructions"`
	} `yaml:"server"`
	EnvPrefix       string                      `yaml:"env-prefix"`
	ContractVersion string                      `yaml:"contract-version"`
	Defaults        map[string]defaultParameter `yaml:"default-parameters"`
	Identity        identity                    `yaml:"identity"`
}

// identity is the operation that answers whose token it is and, as JSON
// pointers into its answer, where it says so. The operation's name alone will do.
type identity struct {
	Operation string `yaml:"operation"`
	Subject   string `yaml:"subject"`
	Scopes    string `yaml:"scopes"`
	Expires   string `yaml:"expires"`
}

// UnmarshalYAML implements [yaml.Unmarshaler] for the short form.
func (i *identity) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&i.Operation)
	}
	type plain identity
	return n.Decode((*plain)(i))
}

type defaultParameter struct {
	Env        string `yaml:"env"`
	Config     string `yaml:"config"`
	Header     string `yaml:"header"`
	Missing    string `yaml:"missing"`
	Candidates struct {
		Operation string `yaml:"operation"`
		Value     string `yaml:"value"`
	} `yaml:"candidates"`
}

// operationExtension is x-mcp at an operation.
type operationExtension struct {
	Tool        string `yaml:"tool"`
	Expose      *bool  `yaml:"expose"`
	Annotations struct {
		ReadOnly    *bool `yaml:"readOnly"`
		Destructive *bool `yaml:"destructive"`
		Idempotent  *bool `yaml:"idempotent"`
		OpenWorld   *bool `yaml:"openWorld"`
	} `yaml:"annotations"`
	Retry      retry    `yaml:"retry"`
	Redact     []string `yaml:"redact"`
	ErrorCodes statuses `yaml:"error-codes"`
	Hints      statuses `yaml:"hints"`
}

// retry says whether a request may be sent again: a word, or the header by which the
// API tells a repeated request from a new one.
type retry struct{ word, header string }

// UnmarshalYAML implements [yaml.Unmarshaler].
func (r *retry) UnmarshalYAML(n *yaml.Node) error {
	header := get(n, "header")
	switch {
	case n.Kind == yaml.ScalarNode && (n.Value == "never" || n.Value == "safe"):
		r.word = n.Value
	case header != nil && len(n.Content) == 2 && isOwnHeader(header.Value):
		r.header = http.CanonicalHeaderKey(header.Value)
	default:
		return fmt.Errorf("line %d: retry is %s; expected never, safe or {header: NAME}, the name of a header that carries no credential", n.Line, appendJSON(nil, nodeJSON(n)))
	}
	return nil
}

// isOwnHeader reports the name of a header that an operation may send.
func isOwnHeader(name string) bool {
	lower := strings.ToLower(name)
	return name != "" && isHeaderName(name) && !slices.Contains(credentials, lower) && !slices.Contains(ownHeaders, lower)
}

// statuses maps statuses to texts. In JSON their keys are strings.
type statuses map[int]string

// UnmarshalYAML implements [yaml.Unmarshaler].
func (s *statuses) UnmarshalYAML(n *yaml.Node) error {
	*s = statuses{}
	for key, v := range members(n) {
		status, err := strconv.Atoi(key)
		if err != nil {
			return fmt.Errorf("line %d: %q is no status", n.Line, key)
		}
		(*s)[status] = text(v)
	}
	return nil
}

// extension decodes x-mcp strictly: a misspelt key would otherwise do nothing
// without anybody noticing.
func extension(n *yaml.Node, into any) error {
	x := get(n, "x-mcp")
	if x == nil {
		return nil
	}
	data, err := yaml.Marshal(x)
	if err != nil {
		return err
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("x-mcp (line %d): %s", x.Line, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	return nil
}

// extensionError is a mistake in x-mcp.
type extensionError struct{ error }

// mappable are the envelope codes an operation may map a status to: those that
// say what the caller has to mend.
var mappable = []string{"invalid_arguments", "unauthorized"}

// fillIn takes from the document's own description what x-mcp does not say.
func (x *rootExtension) fillIn(info *yaml.Node) {
	title := text(get(info, "title"))
	if x.Server.Name == "" {
		name := strings.ToLower(strings.Join(words(title), "-"))
		if len(name) > 40 {
			name = strings.TrimRight(name[:40], "-")
		}
		if slices.Contains(unusable, name) {
			name += "-gateway"
		}
		if x.Server.Name = name; !isServerName(name) {
			x.Server.Name = "gateway"
		}
	}
	x.Server.Title = shortenText(printable(orElse(x.Server.Title, title)), 80)
	x.Server.Instructions = orElse(x.Server.Instructions, shortenText(text(get(info, "description")), maxText))
	x.EnvPrefix = orElse(x.EnvPrefix, strings.ToUpper(strings.ReplaceAll(x.Server.Name, "-", "_")))
}

func (x *rootExtension) check() error {
	if !isIdentifier(x.EnvPrefix) || strings.ToUpper(x.EnvPrefix) != x.EnvPrefix {
		return fmt.Errorf("x-mcp: env-prefix is %q; expected capital letters, digits and _ (it starts the names of environment variables)", x.EnvPrefix)
	}
	if !isVersion(x.ContractVersion) {
		return fmt.Errorf("x-mcp: contract-version is %q; expected three numbers such as 1.0.0", x.ContractVersion)
	}
	if !isServerName(x.Server.Name) {
		return fmt.Errorf("x-mcp: server.name is %q; expected at most 40 small letters, digits and -, a letter first, and not testdata or vendor (it names the program and its configuration folder)", x.Server.Name)
	}
	for name, p := range x.Defaults {
		if p.Config != "" && !isIdentifier(p.Config) {
			return fmt.Errorf("x-mcp: default-parameters.%s.config is %q; expected letters, digits and _", name, p.Config)
		}
		if p.Header != "" && !isOwnHeader(p.Header) {
			return fmt.Errorf("x-mcp: default-parameters.%s.header is %q; expected the name of a header that carries no credential", name, p.Header)
		}
		if slices.ContainsFunc(strings.Split(p.Env, "_"), func(word string) bool { return slices.Contains(secrets, word) }) {
			return fmt.Errorf("x-mcp: default-parameters.%s.env is %q, which sounds like a secret", name, p.Env)
		}
		if p.Env != "" && (!strings.HasPrefix(p.Env, x.EnvPrefix+"_") || !isIdentifier(p.Env)) {
			// A document must not be able to make a gateway read AWS_SECRET_ACCESS_KEY.
			return fmt.Errorf("x-mcp: default-parameters.%s.env is %q; expected a name that starts with %s_", name, p.Env, x.EnvPrefix)
		}
		if p.Missing != "project_required" {
			return fmt.Errorf("x-mcp: default-parameters.%s.missing is %q; expected project_required", name, p.Missing)
		}
	}
	return nil
}

func (x *operationExtension) check() error {
	for status, code := range x.ErrorCodes {
		if status < 300 || status > 599 || !slices.Contains(mappable, code) {
			return fmt.Errorf("x-mcp: error-codes maps %d to %q; expected a status from 300 to 599 and one of %s", status, code, strings.Join(mappable, ", "))
		}
	}
	for status := range x.Hints {
		if status < 300 || status > 599 {
			return fmt.Errorf("x-mcp: hints names status %d; expected 300 to 599", status)
		}
	}
	return nil
}

// secrets are words in the names of variables, and credentials are headers, whose
// values a document must not be able to send as an argument.
var (
	secrets     = []string{"TOKEN", "USERNAME", "PASSWORD", "PASSWD", "SECRET", "KEY", "APIKEY", "CREDENTIAL", "CREDENTIALS", "AUTH", "PAT"}
	credentials = []string{"authorization", "proxy-authorization", "cookie", "x-api-key"}
)

// unusable are names of folders that the go command passes over.
var unusable = []string{"testdata", "vendor"}

func isServerName(s string) bool {
	if slices.Contains(unusable, s) {
		return false
	}
	for i, r := range s {
		if (r < 'a' || r > 'z') && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return false
		}
	}
	return s != "" && len(s) <= 40
}

func isHeaderName(s string) bool {
	// RFC 9110, section 5.6.2, token
	return !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune("!#$%&'*+-.^`|~", r) && !isIdentifier("x"+string(r)) })
}

func isIdentifier(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// isVersion reports three dotted numbers. The version names a folder, so
// nothing else may pass.
func isVersion(s string) bool {
	parts := strings.Split(s, ".")
	for _, p := range parts {
		if n, err := strconv.Atoi(p); err != nil || n < 0 || strconv.Itoa(n) != p {
			return false
		}
	}
	return len(parts) == 3
}
