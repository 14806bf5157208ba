package openapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
	Retry      string         `yaml:"retry"`
	Redact     []string       `yaml:"redact"`
	ErrorCodes map[int]string `yaml:"error-codes"`
	Hints      map[int]string `yaml:"hints"`
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

// mappable are the envelope codes an operation may map a status to: those that
// say what the caller has to mend.
var mappable = []string{"invalid_arguments", "unauthorized"}

func (x *rootExtension) check() error {
	if !isIdentifier(x.EnvPrefix) || strings.ToUpper(x.EnvPrefix) != x.EnvPrefix {
		return fmt.Errorf("x-mcp: env-prefix is %q; expected capital letters, digits and _ (it starts the names of environment variables)", x.EnvPrefix)
	}
	if !isVersion(x.ContractVersion) {
		return fmt.Errorf("x-mcp: contract-version is %q; expected three numbers such as 1.0.0", x.ContractVersion)
	}
	for name, p := range x.Defaults {
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
	switch x.Retry {
	case "", "never", "safe":
	default:
		return fmt.Errorf("x-mcp: retry is %q; expected never or safe", x.Retry)
	}
	return nil
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
