package openapi

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/speakeasy-api/openapi/overlay"
	"gopkg.in/yaml.v3"
)

// Document is an OpenAPI document as a tree, with its overlay applied.
type Document struct {
	root      *yaml.Node
	name      string // how errors call it
	swagger2  bool
	openapi30 bool
	filter    Filter
	large     index
	bundled
}

// Filter chooses operations. The zero value chooses all.
type Filter struct {
	// IncludeTags and IncludeOps, where given, are all that is chosen: operations
	// with one of these tags, or named so: by operationId or the tool's name.
	IncludeTags, IncludeOps []string
	// ExcludeOps names operations that are not chosen in any case.
	ExcludeOps []string
}

func (f *Filter) zero() bool { return len(f.IncludeTags)+len(f.IncludeOps)+len(f.ExcludeOps) == 0 }

// lets reports whether the operation n is chosen.
func (f *Filter) lets(n *yaml.Node, method, path string) bool {
	named := func(list []string) bool {
		return slices.ContainsFunc(namesOf(n, method, path), func(name string) bool { return slices.Contains(list, name) })
	}
	if named(f.ExcludeOps) {
		return false
	}
	if len(f.IncludeTags)+len(f.IncludeOps) == 0 {
		return true
	}
	return named(f.IncludeOps) || slices.ContainsFunc(strs(get(n, "tags")), func(t string) bool { return slices.Contains(f.IncludeTags, t) })
}

// namesOf are the names an operation can be chosen by.
func namesOf(n *yaml.Node, method, path string) []string {
	id := text(get(n, "operationId"))
	names := []string{snake(orElse(id, method+"_"+path))}
	for _, name := range []string{id, text(get(n, "x-mcp", "tool"))} {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// check refuses a name that no operation has: it is misspelt.
func (f *Filter) check(d *Document) error {
	var names, tags []string
	for path, item := range members(get(d.root, "paths")) {
		resolved, err := d.pathItem(item)
		if err != nil {
			continue
		}
		for method, n := range members(resolved) {
			names, tags = append(names, namesOf(n, method, path)...), append(tags, strs(get(n, "tags"))...)
		}
	}
	for _, name := range slices.Concat(f.IncludeOps, f.ExcludeOps) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("no operation has the operationId or the tool name %q", name)
		}
	}
	for _, tag := range f.IncludeTags {
		if !slices.Contains(tags, tag) {
			return fmt.Errorf("no operation has the tag %q", tag)
		}
	}
	return nil
}

// Choose limits what is generated to the operations that a filter chooses.
func (d *Document) Choose(f Filter) { d.filter = f }

// Load reads a document (Swagger 2.0, OpenAPI 3.0 to 3.2, YAML or JSON), the files
// it refers to, and applies an OpenAPI Overlay 1.0 to it if overlayFile is not
// empty. An overlay action whose target matches nothing is an error: it would
// silently stop doing its work when the document changes.
func Load(file, overlayFile string) (*Document, error) {
	data, err := readBounded(file)
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	doc, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	root, err := plainTree(doc) // first: a change of one place is none of its aliases
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if overlayFile != "" {
		doc.Content[0] = root
		if err := applyOverlay(doc, overlayFile); err != nil {
			return nil, err
		}
		if root = doc.Content[0]; root.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("overlay %s: it leaves no document", overlayFile)
		}
	}
	done, err := bundle(root, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	d, err := newDocument(root, file)
	if err != nil {
		return nil, err
	}
	d.bundled = done
	return d, nil
}

// Parse reads a document from memory; name is how errors call it. It can refer to
// no other file.
func Parse(data []byte, name string) (*Document, error) {
	root, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return newDocument(root, name)
}

func newDocument(root *yaml.Node, name string) (*Document, error) {
	version, swagger := text(get(root, "openapi")), text(get(root, "swagger"))
	d := &Document{root: root, name: name, openapi30: strings.HasPrefix(version, "3.0")}
	switch {
	case swagger == "2.0" || swagger == "2":
		d.swagger2 = true
	case !strings.HasPrefix(version, "3."):
		return nil, fmt.Errorf("%s: openapi is %q; Swagger 2.0 and OpenAPI 3.0 to 3.2 are supported", name, version)
	}
	return d, nil
}

func readBounded(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxDocumentBytes+1))
}

func applyOverlay(doc *yaml.Node, file string) error {
	data, err := readBounded(file)
	if err != nil {
		return fmt.Errorf("read overlay: %w", err)
	}
	// Read here first, because the library does not bound aliases.
	tree, err := parse(data)
	if err != nil {
		return fmt.Errorf("overlay %s: %w", file, err)
	}
	if data, err = yaml.Marshal(tree); err != nil {
		return fmt.Errorf("overlay %s: %w", file, err)
	}
	o, err := overlay.ParseReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("overlay %s: %w", file, err)
	}
	if err := o.Validate(); err != nil {
		return fmt.Errorf("overlay %s: %w", file, err)
	}
	if o.JSONPathVersion == "" {
		o.JSONPathVersion = overlay.JSONPathRFC9535 // as the specification says; not the library's default
	}
	actions := o.Actions
	for i := range actions {
		o.Actions = actions[i : i+1]
		if err := appends(o, doc); err != nil {
			return fmt.Errorf("overlay %s: %w", file, err)
		}
		if _, err := o.ApplyToStrict(doc); err != nil {
			return fmt.Errorf("overlay %s: %w", file, err)
		}
	}
	return nil
}

// appends makes the update of a list that is one entry a list of it: the entry is
// appended (OpenAPI Overlay 1.0, Action Object, "update"), where the library would
// put it in place of the list.
func appends(o *overlay.Overlay, doc *yaml.Node) error {
	a := &o.Actions[0]
	if a.Update.IsZero() || a.Update.Kind == yaml.SequenceNode {
		return nil
	}
	path, err := o.NewPath(a.Target, nil)
	if err != nil {
		return fmt.Errorf("target %s: %w", a.Target, err)
	}
	targets := path.Query(doc)
	lists := 0
	for _, t := range targets {
		if t.Kind == yaml.SequenceNode {
			lists++
		}
	}
	switch lists {
	case 0:
	case len(targets):
		entry := a.Update
		a.Update = yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{&entry}}
	default:
		return fmt.Errorf("target %s: selects lists and others; use an action for each", a.Target)
	}
	return nil
}

// resolve follows local references to what they name.
func (d *Document) resolve(n *yaml.Node) (*yaml.Node, error) {
	for range maxDepth {
		ref := get(n, "$ref")
		if ref == nil {
			return n, nil
		}
		target, err := d.lookup(ref.Value)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", ref.Line, err)
		}
		n = target
	}
	return nil, fmt.Errorf("line %d: references go in a circle", n.Line)
}

// lookup finds the target of a local reference (RFC 6901 JSON pointer in a URI fragment).
func (d *Document) lookup(ref string) (*yaml.Node, error) {
	pointer, local := strings.CutPrefix(ref, "#/")
	if why := d.unread[ref]; why != nil {
		return nil, fmt.Errorf("$ref %q: %w", ref, why)
	}
	if !local {
		return nil, fmt.Errorf("$ref %q is outside the document; only references within it (#/…) and to files beside it are followed", ref)
	}
	if d.large == nil {
		d.large = index{}
	}
	n := d.large.descend(d.root, pointer)
	if n == nil {
		return nil, fmt.Errorf("$ref %q names nothing in the document", ref)
	}
	return n, nil
}

// index finds members of large mappings, of which references name one after the other.
type index map[*yaml.Node]map[string]*yaml.Node

func (x index) get(n *yaml.Node, key string) *yaml.Node {
	const large = 64
	if n.Kind != yaml.MappingNode || len(n.Content) < 2*large {
		return get(n, key)
	}
	members, ok := x[n]
	if !ok {
		members = make(map[string]*yaml.Node, len(n.Content)/2)
		for i := len(n.Content) - 2; i >= 0; i -= 2 { // the first of a name counts, as in get
			members[n.Content[i].Value] = n.Content[i+1]
		}
		x[n] = members
	}
	return members[key]
}

// descend follows a JSON pointer in a URI fragment, without its first slash, and
// returns nil where it names nothing.
func (x index) descend(n *yaml.Node, pointer string) *yaml.Node {
	for part := range strings.SplitSeq(pointer, "/") {
		part = pointerUnescaper.Replace(unescapeFragment(part))
		next := x.get(n, part)
		if next == nil && n.Kind == yaml.SequenceNode {
			if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(n.Content) {
				next = n.Content[i]
			}
		}
		if next == nil {
			return nil
		}
		n = next
	}
	return n
}
