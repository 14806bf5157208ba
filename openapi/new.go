package openapi

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"gopkg.in/yaml.v3"
)

// Project is a gateway module that is to be written.
type Project struct {
	// Spec is the document, Overlay its overlay or empty.
	Spec, Overlay string
	// Out is the folder of the module; it must be empty or not exist.
	Out string
	// Module is its path.
	Module string
	// Runtime is a checkout of this project's module, which the new module uses in
	// its place: it is not published yet.
	Runtime string
	Filter  Filter
}

//go:embed scaffold
var scaffold embed.FS

// Create writes a complete module: the document and its overlay, everything that is
// derived from them, a main, a smoke test, a Makefile and a README. It builds
// without the network where the runtime does.
func (p Project) Create(ctx context.Context) (*Report, error) {
	if err := module.CheckPath(p.Module); err != nil {
		return nil, fmt.Errorf("module: %w", err)
	}
	if p.Module == runtimeModule {
		return nil, fmt.Errorf("module: %s is the runtime's own path; name one of yours", p.Module)
	}
	if err := empty(p.Out); err != nil {
		return nil, err
	}
	goMod, goSum, err := p.goMod(ctx)
	if err != nil {
		return nil, err
	}
	// Read in its place, then from the module, so that both are known to work.
	source, err := Load(p.Spec, p.Overlay)
	if err != nil {
		return nil, err
	}
	source.Choose(p.Filter)
	a, err := source.api()
	if err != nil {
		return nil, err
	}
	if len(a.tools) == 0 {
		return nil, errNoTools(source.name, a.left)
	}
	document, spec, kept, err := p.document()
	if err != nil {
		return nil, err
	}
	starter, err := p.overlay(a)
	if err != nil {
		return nil, err
	}
	files := []File{{"go.mod", goMod}, {"go.sum", goSum}, {spec, document}, {"openapi/overlay.yaml", starter}}
	rendered, err := p.render(a, spec)
	if err != nil {
		return nil, err
	}
	others, err := p.others(source.names, kept)
	if err != nil {
		return nil, err
	}
	files = append(files, others...)
	if err := os.MkdirAll(p.Out, 0o755); err != nil {
		return nil, err
	}
	if _, err := Write(p.Out, append(files, rendered...)); err != nil {
		return nil, err
	}
	d, err := Load(filepath.Join(p.Out, filepath.FromSlash(spec)), filepath.Join(p.Out, "openapi", "overlay.yaml"))
	if err != nil {
		return nil, err
	}
	d.Choose(p.Filter)
	derived, err := d.Generate(p.Out)
	if err != nil {
		return nil, err
	}
	if _, err = Write(p.Out, derived); err != nil {
		return nil, err
	}
	report, err := d.Report()
	if err != nil {
		return nil, err
	}
	report.Document = p.Spec
	return report, nil
}

// errNoTools says why nothing is left to generate.
func errNoTools(document string, left []LeftOut) error {
	if len(left) == 0 {
		return fmt.Errorf("%s: no operation is left to become a tool", document)
	}
	return fmt.Errorf("%s: no operation can become a tool; the first of %d: %s: %s", document, len(left), left[0].Operation, left[0].Reason)
}

// others are the files that only the overlay refers to, beside the document.
func (p Project) others(names, kept []string) ([]File, error) {
	var files []File
	for _, name := range names {
		if slices.Contains(kept, name) {
			continue
		}
		to := "openapi/" + name
		if slices.Contains([]string{"openapi/overlay.yaml", "openapi/document.yaml", "openapi/document.json"}, to) {
			return nil, fmt.Errorf("the overlay refers to %s, a name that the module needs for a file of its own", name)
		}
		data, err := os.ReadFile(filepath.Join(filepath.Dir(p.Spec), filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		files = append(files, File{to, data})
	}
	return files, nil
}

func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty; name a new folder, or refresh what is there with generate", dir)
	}
	return err
}

// document is the document as the module keeps it: as it was, or in one file if it
// was spread over several, whose names are returned.
func (p Project) document() (data []byte, path string, names []string, err error) {
	if data, err = readBounded(p.Spec); err != nil {
		return nil, "", nil, err
	}
	doc, err := decode(data)
	if err != nil {
		return nil, "", nil, err
	}
	root, err := plainTree(doc)
	if err != nil {
		return nil, "", nil, err
	}
	path = "openapi/document.yaml"
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		path = "openapi/document.json"
	}
	done, err := bundle(root, p.Spec)
	if err != nil {
		return nil, "", nil, err
	}
	if done.changed {
		if data, err = yaml.Marshal(root); err != nil {
			return nil, "", nil, err
		}
		path = "openapi/document.yaml"
	}
	return data, path, done.names, nil
}

// overlay is the overlay that was given, or a starter that names what is worth
// reviewing.
func (p Project) overlay(a *api) ([]byte, error) {
	if p.Overlay != "" {
		return os.ReadFile(p.Overlay)
	}
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Changes to the document that the API's owners need not make (OpenAPI Overlay 1.0).\n# Edit, then `make generate`.")
	line("overlay: 1.0.0\ninfo: {title: Overlay of %s, version: 1.0.0}\nactions:", a.root.Server.Name)
	line("  - target: $\n    update:\n      x-mcp:\n        server: {name: %s, title: %s}\n        env-prefix: %s\n        contract-version: %s",
		a.root.Server.Name, quoteYAML(a.root.Server.Title), a.root.EnvPrefix, a.root.ContractVersion)
	var review []string
	for _, t := range a.tools {
		why := ""
		says := func(verbs ...string) bool {
			return slices.ContainsFunc(words(orElse(t.id, "")+" "+t.path), func(word string) bool { return slices.Contains(verbs, strings.ToLower(word)) })
		}
		switch {
		case t.method == "post" && says("search", "list", "query", "get", "find", "read", "count", "lookup", "check", "validate", "preview"):
			why = "a POST that may only read: if so, {readOnly: true, destructive: false}"
		case t.method == "get" && says("delete", "remove", "create", "update", "start", "restart", "stop", "run", "reset", "send", "cancel", "enable", "disable", "trigger", "logout"):
			why = "a GET that may change something: if so, {readOnly: false}"
		default:
			continue
		}
		review = append(review, fmt.Sprintf("#   %s (%s): %s", t.name, printable(t.where()), why))
	}
	line("\n# Worth reviewing: names (x-mcp: {tool: …}), what must not be offered (x-mcp: {expose: false}),\n# secrets in answers (x-mcp: {redact: [a.b]}) and hints (x-mcp: {annotations: {…}}). For example:")
	line("#  - target: $.paths['/things/{id}'].get\n#    update: {x-mcp: {tool: read_thing, hints: {404: Call list_things for the ids there are.}}}")
	if review != nil {
		line("# Hints to look at:\n%s", strings.Join(review[:min(100, len(review))], "\n"))
	}
	return b.Bytes(), nil
}

func quoteYAML(s string) string { return string(appendString(nil, s)) }

// render fills in the files that are the module's own from now on.
func (p Project) render(a *api, spec string) ([]File, error) {
	name := a.root.Server.Name
	runtime, err := p.replacement()
	if err != nil {
		return nil, err
	}
	values := map[string]any{
		"Name": name, "Title": strings.ReplaceAll(a.root.Server.Title, "<", "‹"), "Module": p.Module, "Spec": spec, "Prefix": a.root.EnvPrefix,
		"Tools": len(a.tools), "Runtime": makeQuoted(runtime), "Flags": p.flags(), "Basic": a.basic(), "NoAuth": a.anonymous(),
	}
	var files []File
	for from, to := range map[string]string{
		"main.go": "cmd/" + name + "/main.go", "smoke_test.go": "cmd/" + name + "/smoke_test.go",
		"Makefile": "Makefile", "README.md": "README.md", "gitignore": ".gitignore",
	} {
		t, err := template.ParseFS(scaffold, "scaffold/"+from+".tmpl")
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := t.Execute(&b, values); err != nil {
			return nil, err
		}
		files = append(files, File{to, b.Bytes()})
	}
	return files, nil
}

// makeQuoted is a word of a shell command in a Makefile.
func makeQuoted(word string) string {
	quoted := strings.NewReplacer("$", "$$", "#", `\#`, "\n", " ").Replace(word)
	if strings.Trim(quoted, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") == "" {
		return quoted
	}
	return "'" + strings.ReplaceAll(quoted, "'", `'\''`) + "'"
}

// basic reports a gateway whose tools send a user and a password and no token.
func (a *api) basic() bool {
	return !a.anonymous() && !slices.ContainsFunc(a.tools, func(t *tool) bool { return t.auth != nil && t.auth.kind != "Basic" })
}

// anonymous reports a gateway none of whose tools sends a credential.
func (a *api) anonymous() bool {
	return !slices.ContainsFunc(a.tools, func(t *tool) bool { return t.auth != nil })
}

// flags repeats the choice of operations for the Makefile.
func (p Project) flags() string {
	var b strings.Builder
	for _, f := range []struct {
		name   string
		values []string
	}{{"include-tag", p.Filter.IncludeTags}, {"include-op", p.Filter.IncludeOps}, {"exclude-op", p.Filter.ExcludeOps}} {
		for _, v := range f.values {
			b.WriteString(" --" + f.name + " " + makeQuoted(v))
		}
	}
	return b.String()
}

// goMod pins what the runtime is built with, so that nothing has to be looked up.
func (p Project) goMod(ctx context.Context) (goMod, goSum []byte, err error) {
	runtime, err := filepath.Abs(p.Runtime)
	if err != nil {
		return nil, nil, err
	}
	data, err := os.ReadFile(filepath.Join(runtime, "go.mod"))
	if err != nil {
		return nil, nil, fmt.Errorf("runtime: %w (name a checkout of %s with --runtime)", err, runtimeModule)
	}
	if modfile.ModulePath(data) != runtimeModule {
		return nil, nil, fmt.Errorf("runtime: %s is not a checkout of %s", p.Runtime, runtimeModule)
	}
	theirs, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("runtime: %w", err)
	}
	used, err := usedModules(ctx, runtime)
	if err != nil {
		return nil, nil, err
	}
	replace, err := p.replacement()
	if err != nil {
		return nil, nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "module %s\n\ngo %s\n\nrequire %s v0.0.0\n\nrequire (\n", p.Module, theirs.Go.Version, runtimeModule)
	for _, r := range theirs.Require {
		if slices.Contains(used, r.Mod.Path) {
			fmt.Fprintf(&b, "\t%s %s // indirect\n", r.Mod.Path, r.Mod.Version)
		}
	}
	fmt.Fprintf(&b, ")\n\nreplace %s v0.0.0 => %s\n", runtimeModule, modfile.AutoQuote(replace))
	goSum, err = os.ReadFile(filepath.Join(runtime, "go.sum"))
	return b.Bytes(), goSum, err
}

// replacement is the runtime's folder as seen from the new module: as it was named,
// absolute or relative.
func (p Project) replacement() (string, error) {
	if filepath.IsAbs(p.Runtime) {
		return filepath.ToSlash(filepath.Clean(p.Runtime)), nil
	}
	out, err := filepath.Abs(p.Out)
	if err != nil {
		return "", err
	}
	runtime, err := filepath.Abs(p.Runtime)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(out, runtime)
	if err == nil && !strings.HasPrefix(rel, "..") {
		rel = "./" + rel
	}
	return filepath.ToSlash(rel), err
}

// usedModules are the modules that the packages of a gateway are made of.
func usedModules(ctx context.Context, runtime string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./gateway/command", "./apiclient/encode")
	cmd.Dir = runtime
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("runtime: list what it is built with: %w", err)
	}
	paths := strings.Fields(string(out))
	slices.Sort(paths)
	return slices.Compact(paths), nil
}
