package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"

	"github.com/postern-mcp/postern/gateway"
)

// configFile is a configuration file, and the lowest source of a setting.
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

// configKeys are the keys that stand for no flag: the defaults of arguments.
func configKeys(c *gateway.CatalogV1) []string {
	var keys []string
	for _, d := range c.Defaults {
		keys = append(keys, d.ConfigKey)
	}
	return keys
}

// loadConfig reads the configuration file. Its place is needed before the
// command line is parsed, so the flag is looked for here.
func (p *process) loadConfig() (*configFile, error) {
	f := &configFile{catalog: p.catalog, path: os.Getenv(p.catalog.EnvPrefix + "_CONFIG")}
	for i, arg := range p.args {
		if arg == "--" {
			break
		}
		if value, ok := strings.CutPrefix(arg, "--config="); ok {
			f.path = value
		} else if arg == "--config" && i+1 < len(p.args) {
			f.path = p.args[i+1]
		}
	}
	named := f.path != ""
	if !named {
		f.path = configPath(p.catalog)
	}
	data, err := os.ReadFile(f.path)
	if !named && (f.path == "" || errors.Is(err, fs.ErrNotExist)) {
		f.path = ""
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	if err := yaml.Unmarshal(data, &f.values); err != nil {
		return nil, fmt.Errorf("the configuration %s is not a YAML mapping of settings: %w", f.path, err)
	}
	return f, nil
}

// Validate implements [kong.Resolver]: a key that means nothing is an error,
// because it would otherwise be a setting that silently does nothing.
func (f *configFile) Validate(app *kong.Application) error {
	known := configKeys(f.catalog)
	_ = kong.Visit(app, func(v kong.Visitable, next kong.Next) error {
		if flag, ok := v.(*kong.Flag); ok && settable(flag) {
			known = append(known, configKey(flag))
		}
		return next(nil)
	})
	slices.Sort(known)
	known = slices.Compact(known)
	for key := range f.values {
		if key == "token" {
			return fmt.Errorf("%s: it must hold no token; use %[2]s_TOKEN or %[2]s_TOKEN_FILE", f.path, f.catalog.EnvPrefix)
		}
		if !slices.Contains(known, key) {
			return fmt.Errorf("%s: unknown setting %q; known are %s", f.path, key, strings.Join(known, ", "))
		}
	}
	return nil
}

// Resolve implements [kong.Resolver].
func (f *configFile) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, set := os.LookupEnv(name); set {
			return nil, nil // the environment comes first
		}
	}
	if !settable(flag) {
		return nil, nil
	}
	switch v := f.values[configKey(flag)].(type) {
	case nil:
		return nil, nil
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = fmt.Sprint(v[i])
		}
		return strings.Join(parts, ","), nil
	default:
		return fmt.Sprint(v), nil
	}
}

// settable are the flags that configure the gateway rather than one command.
func settable(flag *kong.Flag) bool { return len(flag.Envs) > 0 && flag.Name != "config" }

func configKey(flag *kong.Flag) string { return strings.ReplaceAll(flag.Name, "-", "_") }

// defaults are the values that environment and file give for arguments.
func (f *configFile) defaults() (map[string]string, error) {
	out := map[string]string{}
	for _, d := range f.catalog.Defaults {
		if v := os.Getenv(d.Env); v != "" {
			out[d.Argument] = v
			continue
		}
		switch v := f.values[d.ConfigKey].(type) {
		case nil:
		case string:
			out[d.Argument] = v
		default:
			return nil, usage("%s: %s is %v; expected text (quote it)", f.path, d.ConfigKey, v)
		}
	}
	return out, nil
}

// configCommand prints the settings in effect.
type configCommand struct {
	Upstream upstreamFlags `embed:""`
	Token    tokenFlags    `embed:""`
	HTTP     httpFlags     `embed:""`
}

// Run prints one row per setting with its value and source.
func (c *configCommand) Run(p *process, f *configFile, ctx *kong.Context) error {
	w := tabwriter.NewWriter(p.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tVALUE\tFROM\tVARIABLE")
	for _, flag := range ctx.Flags() {
		if settable(flag) {
			fmt.Fprintf(w, "%s\t%v\t%s\t%s\n", configKey(flag), orDash(fmt.Sprint(ctx.FlagValue(flag))), f.source(ctx, flag), flag.Envs[0])
		}
	}
	for _, d := range f.catalog.Defaults {
		value, from := os.Getenv(d.Env), "environment"
		if value == "" {
			value, from = fmt.Sprint(f.values[d.ConfigKey]), f.path
		}
		if value == "" || value == "<nil>" {
			value, from = "-", "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", d.ConfigKey, value, from, d.Env)
	}
	state, from := "not set", "-"
	if os.Getenv(p.catalog.EnvPrefix+"_TOKEN") != "" {
		state, from = "set", "environment"
	}
	fmt.Fprintf(w, "token\t%s\t%s\t%s_TOKEN\n", state, from, p.catalog.EnvPrefix)
	return w.Flush()
}

func (f *configFile) source(ctx *kong.Context, flag *kong.Flag) string {
	for _, path := range ctx.Path {
		if path.Flag == flag && !path.Resolved {
			return "flag"
		}
	}
	for _, name := range flag.Envs {
		if _, set := os.LookupEnv(name); set {
			return "environment"
		}
	}
	if _, set := f.values[configKey(flag)]; set {
		return f.path
	}
	return "default"
}

func orDash(s string) string {
	if s == "" || s == "[]" {
		return "-"
	}
	return s
}
