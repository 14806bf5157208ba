package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"go.yaml.in/yaml/v3"

	"github.com/postern-mcp/postern/gateway"
)

// configFile is a configuration file, the lowest source of a setting.
type configFile struct {
	path    string // "" when there is none
	values  map[string]any
	catalog *gateway.CatalogV1
}

// configPath is where the configuration file is looked for by default.
func configPath(c *gateway.CatalogV1) string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, c.Server.Name, "config.yaml")
}

func displayConfigPath(c *gateway.CatalogV1) string {
	path := configPath(c)
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(path, home+string(filepath.Separator)) {
		return "~" + path[len(home):]
	}
	return path
}

// argumentKeys are the keys of the file that stand for no flag: the defaults of arguments.
func argumentKeys(c *gateway.CatalogV1) []string {
	var keys []string
	for _, d := range c.Defaults {
		keys = append(keys, d.ConfigKey)
	}
	return keys
}

// loadConfig takes --config out of the arguments and reads the file: its place
// must be known before the other settings are parsed.
func (p *process) loadConfig(args []string) (*configFile, []string, error) {
	f := &configFile{catalog: p.catalog, path: os.Getenv(p.catalog.EnvPrefix + "_CONFIG")}
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, value, ok := strings.Cut(args[i], "=")
		if name != "--config" && name != "-config" {
			continue
		}
		n := 1
		if !ok {
			if i+1 == len(args) {
				return nil, nil, errors.New("--config needs a file")
			}
			value, n = args[i+1], 2
		}
		f.path, args = value, slices.Delete(slices.Clone(args), i, i+n)
		i--
	}
	named := f.path != ""
	if !named {
		f.path = configPath(p.catalog)
	}
	data, err := os.ReadFile(f.path)
	if !named && (f.path == "" || errors.Is(err, fs.ErrNotExist)) {
		f.path = ""
		return f, args, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the configuration: %w", err)
	}
	if err := yaml.Unmarshal(data, &f.values); err != nil {
		// Not the library's words, which quote the file: it may be the wrong one.
		return nil, nil, fmt.Errorf("the configuration %s is not a YAML mapping of settings", f.path)
	}
	return f, args, f.check()
}

// check refuses a key that means nothing: it would otherwise be a setting that
// silently does nothing.
func (f *configFile) check() error {
	known := argumentKeys(f.catalog)
	for _, cmd := range commands {
		s := newSettings(cmd.name, f.catalog.EnvPrefix, f)
		cmd.setup(&process{catalog: f.catalog}, s)
		for _, r := range s.rows {
			if !r.flagOnly && !slices.Contains(known, r.key()) {
				known = append(known, r.key())
			}
		}
	}
	slices.Sort(known)
	for key := range f.values {
		if key == "token" {
			return fmt.Errorf("%s must hold no token; use %[2]s_TOKEN, or %[2]s_TOKEN_FILE and token_file", f.path, f.catalog.EnvPrefix)
		}
		if !slices.Contains(known, key) {
			return fmt.Errorf("%s: unknown setting %q; known are %s", f.path, key, strings.Join(known, ", "))
		}
	}
	return nil
}

// value is a setting's text in the file.
func (f *configFile) value(key string) (string, bool) {
	switch v := f.values[key].(type) {
	case nil:
		return "", false
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = fmt.Sprint(v[i])
		}
		return strings.Join(parts, ","), true
	default:
		return fmt.Sprint(v), true
	}
}

// argument is the default of one argument and where it comes from, or "".
func (f *configFile) argument(d *gateway.DefaultV1) (value, source string, err error) {
	if v := os.Getenv(d.Env); v != "" {
		return v, "environment", nil
	}
	switch v := f.values[d.ConfigKey].(type) {
	case nil:
		return "", "", nil
	case string:
		return v, f.path, nil
	default:
		return "", "", usage("%s: %s is %v; expected text (quote it)", f.path, d.ConfigKey, v)
	}
}

// defaults are the values that environment and file give for arguments.
func (f *configFile) defaults() (map[string]string, error) {
	out := map[string]string{}
	for i := range f.catalog.Defaults {
		d := &f.catalog.Defaults[i]
		value, _, err := f.argument(d)
		if err != nil {
			return nil, err
		}
		if value != "" {
			out[d.Argument] = value
		}
	}
	return out, nil
}

// config prints one row per setting with its value and source.
func config(p *process, s *settings) action {
	upstreamSettings(s)
	tokenSettings(s)
	httpSettings(s)
	return func(context.Context, []string) error {
		w := tabwriter.NewWriter(p.out, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "SETTING\tVALUE\tFROM\tVARIABLE")
		for _, r := range s.rows {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.key(), orDash(shown(r)), r.source, s.variable(r))
		}
		for i := range p.catalog.Defaults {
			d := &p.catalog.Defaults[i]
			value, source, err := s.file.argument(d)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", d.ConfigKey, orDash(value), orDash(source), d.Env)
		}
		state, source := "not set", "-"
		if os.Getenv(p.catalog.EnvPrefix+"_TOKEN") != "" {
			state, source = "set", "environment"
		}
		fmt.Fprintf(w, "token\t%s\t%s\t%s_TOKEN\n", state, source, p.catalog.EnvPrefix)
		return w.Flush()
	}
}

// shown is a setting's value without the password that a URL may hold.
func shown(r *setting) string {
	value := r.flag.Value.String()
	u, err := url.Parse(value)
	switch {
	case err != nil && strings.Contains(value, "@"):
		return "(not a URL; it may hold a password)"
	case err == nil && u.User != nil:
		return u.Redacted()
	}
	return value
}

func orDash(s string) string {
	if s == "" || s == "[]" {
		return "-"
	}
	return s
}
