package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// compareRoot compares what belongs to no tool. The version follows from the
// changes and the server's name is only shown, so neither breaks a call.
func (c *contract) compareRoot(after *contract) []ContractChange {
	d := &differ{}
	for _, key := range []string{"contractVersion", "server"} {
		d.changed(wording, "/"+key, key, c.rest[key], after.rest[key])
		delete(c.rest, key)
		delete(after.rest, key)
	}
	d.unknown("", c.rest, after.rest)
	return d.out
}

// compareTools compares tools by name, and a tool that is gone with a new one
// that makes the same request: it was renamed.
func (c *contract) compareTools(after *contract) []ContractChange {
	var out []ContractChange
	renamed := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.tools)) {
		t := c.tools[name]
		next := after.tools[name]
		if next == nil {
			if next = c.successor(t, after, renamed); next == nil {
				out = append(out, ContractChange{Breaking, name, "", "tool removed"})
				continue
			}
			renamed[next.Name] = true
			out = append(out, ContractChange{Breaking, name, "/name", fmt.Sprintf("tool renamed to %s", next.Name)})
		}
		out = append(out, t.compare(next)...)
	}
	for name := range after.tools {
		if c.tools[name] == nil && !renamed[name] {
			out = append(out, ContractChange{Additive, name, "", "tool added"})
		}
	}
	return out
}

// successor is the tool under which the request of a tool that is gone goes on.
func (c *contract) successor(t *contractTool, after *contract, taken map[string]bool) *contractTool {
	for _, name := range slices.Sorted(maps.Keys(after.tools)) {
		next := after.tools[name]
		if c.tools[name] == nil && !taken[name] && t.Path != "" && next.Method == t.Method && route(next.Path) == route(t.Path) {
			return next
		}
	}
	return nil
}

var templateName = regexp.MustCompile(`\{[^{}]*\}`)

// route is a path without the names of its parameters, which no request shows.
func route(path string) string { return templateName.ReplaceAllString(path, "{}") }

// swaps reports an argument that now fills another place of the path.
func (t *contractTool) swaps(next *contractTool) bool {
	places := templateName.FindAllString(next.Path, -1)
	for i, name := range templateName.FindAllString(t.Path, -1) {
		if at := slices.Index(places, name); at >= 0 && at != i {
			return true
		}
	}
	return false
}

// compare compares two versions of one tool.
func (t *contractTool) compare(next *contractTool) []ContractChange {
	d := newDiffer(t.Name, t.InputSchema, next.InputSchema)
	d.text("/title", "title", t.Title, next.Title)
	d.text("/description", "description", t.Description, next.Description)
	d.hints(t.Annotations, next.Annotations)
	// Another request under the same name is another operation: nothing in the
	// contract vouches for the same effect, answer or permission.
	d.changed(fixed, "/method", "method", t.Method, next.Method)
	if route(t.Path) != route(next.Path) || t.swaps(next) {
		d.changed(fixed, "/path", "path", t.Path, next.Path)
	} else {
		d.changed(wording, "/path", "path", t.Path, next.Path)
	}
	for _, s := range missing(t.Scopes, next.Scopes) {
		d.add(Additive, "/scopes", "scope %s no longer needed", s)
	}
	for _, s := range missing(next.Scopes, t.Scopes) { // a token that was enough is not any more
		d.add(Breaking, "/scopes", "scope %s newly needed", s)
	}
	d.compare("/inputSchema", t.InputSchema, next.InputSchema)
	d.errors(t, next)
	d.unknown("", t.rest, next.rest)
	return d.out
}

// missing are the distinct elements of a that b lacks.
func missing(a, b []string) []string {
	var out []string
	for _, s := range a {
		if !slices.Contains(b, s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// hint is what MCP says of a tool annotation: the value a client takes for
// granted, and the value that lets it do more without asking.
type hint struct {
	name           string
	fallback, lax  bool
	onlyForWriters bool
}

var hintRules = []hint{
	{name: "readOnlyHint", fallback: false, lax: true},
	{name: "destructiveHint", fallback: true, lax: false, onlyForWriters: true},
	{name: "idempotentHint", fallback: false, lax: true, onlyForWriters: true},
	{name: "openWorldHint", fallback: true, lax: false},
}

// hints compares annotations. Clients approve, retry and isolate calls by them:
// losing the value they relied on is breaking.
func (d *differ) hints(old, new map[string]any) {
	value := func(in map[string]any, h hint) bool {
		if v, ok := in[h.name].(bool); ok {
			return v
		}
		return h.fallback
	}
	reads := value(old, hintRules[0]) && value(new, hintRules[0])
	rest := [2]map[string]any{maps.Clone(old), maps.Clone(new)}
	for _, h := range hintRules {
		before, after := value(old, h), value(new, h)
		class := Additive
		switch {
		case h.onlyForWriters && reads: // MCP: without meaning on a tool that only reads
			class = Cosmetic
		case before == h.lax:
			class = Breaking
		}
		if before != after {
			d.add(class, "/annotations/"+h.name, "%s changed from %t to %t", h.name, before, after)
		}
		delete(rest[0], h.name)
		delete(rest[1], h.name)
	}
	d.changed(wording, "/annotations/title", "title", old["title"], new["title"])
	delete(rest[0], "title")
	delete(rest[1], "title")
	d.unknown("/annotations", rest[0], rest[1])
}

// errors compares the errors a tool may answer with. A status that is not listed
// has the code of its class, so that listing or unlisting one is breaking exactly
// when that changes its code.
func (d *differ) errors(t, next *contractTool) {
	before, after := errorsByKey(t.Errors), errorsByKey(next.Errors)
	for _, key := range slices.Sorted(maps.Keys(union(before, after))) {
		o, was := before[key]
		n, is := after[key]
		switch {
		case was && is:
			d.changed(fixed, "/errors", "code of error "+key, o.Code, n.Code)
			d.text("/errors", "description of error "+key, o.When, n.When)
		case was && o.Status != nil && o.Code != classCode(key):
			d.add(Breaking, "/errors", "error %s removed: its code was %s", key, o.Code)
		case was:
			d.add(Additive, "/errors", "error %s removed", key)
		case n.Status != nil && n.Code != classCode(key):
			d.add(Breaking, "/errors", "error %s added with code %s instead of %s", key, n.Code, classCode(key))
		case n.Status == nil && d.argumentAdded():
			// The gateway refuses on its own for want of an argument that calls
			// so far cannot have given.
			d.add(Breaking, "/errors", "error %s added with a new argument", key)
		default:
			d.add(Additive, "/errors", "error %s added", key)
		}
	}
}

// errorsByKey has errors by status, and the gateway's own by code.
func errorsByKey(list []contractError) map[string]contractError {
	out := map[string]contractError{}
	for _, e := range list {
		key := e.Code
		if e.Status != nil {
			key = fmt.Sprint(e.Status)
		}
		for _, taken := out[key]; taken; _, taken = out[key] {
			key += " (again)"
		}
		out[key] = e
	}
	return out
}

// classCode is the code of a status that no operation maps to another.
func classCode(status string) string {
	if strings.HasPrefix(status, "3") || strings.HasPrefix(status, "4") {
		return "http_" + status[:1] + "xx"
	}
	return "http_5xx"
}

func (d *differ) argumentAdded() bool {
	before, after := d.old.expand(d.old.root).schemas("properties"), d.new.expand(d.new.root).schemas("properties")
	for name := range after {
		if _, ok := before[name]; !ok {
			return true
		}
	}
	return false
}

// unknown compares members this version knows nothing about.
func (d *differ) unknown(pointer string, old, new map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(union(old, new))) {
		d.changed(promise, pointer+"/"+pointerEscaper.Replace(key), key, old[key], new[key])
	}
}

func union[V any](a, b map[string]V) map[string]V {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]V{}
	}
	maps.Copy(out, b)
	return out
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// add notes a change.
func (d *differ) add(class Class, pointer, format string, args ...any) {
	d.out = append(d.out, ContractChange{class, d.tool, pointer, fmt.Sprintf(format, args...)})
}

// classing is the class of adding, removing and changing one kind of thing.
type classing struct{ added, removed, changed Class }

var (
	wording    = classing{Cosmetic, Cosmetic, Cosmetic}
	fixed      = classing{Breaking, Breaking, Breaking}
	promise    = classing{Additive, Breaking, Breaking} // callers rely on it
	constraint = classing{Breaking, Additive, Breaking} // it refuses arguments
)

// changed notes a value that was added, removed or changed.
func (d *differ) changed(class classing, pointer, name string, old, new any) {
	switch {
	case canonical(old) == canonical(new):
	case isAbsent(old):
		d.add(class.added, pointer, "%s %s added", name, show(new))
	case isAbsent(new):
		d.add(class.removed, pointer, "%s %s removed", name, show(old))
	default:
		d.add(class.changed, pointer, "%s changed from %s to %s", name, show(old), show(new))
	}
}

// text notes words that changed; they are too long to show.
func (d *differ) text(pointer, name string, old, new any) {
	if canonical(old) != canonical(new) {
		d.add(Cosmetic, pointer, "%s changed", name)
	}
}

func isAbsent(v any) bool { return v == nil || v == "" }

// show is a value as JSON, cut to what fits a line.
func show(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // it was read from JSON
	r := []rune(strings.TrimSuffix(b.String(), "\n"))
	if len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return string(r)
}

// maxShown bounds how much of a value a change quotes, in characters.
const maxShown = 80
