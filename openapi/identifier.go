package openapi

import (
	"net/url"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// resource is a file, or a schema in it that has an identifier of its own: what
// references inside of it are relative to (JSON Schema 2020-12 Core, section 8.2).
type resource struct {
	file string
	base *url.URL
	at   string // a reference to it
	node *yaml.Node
}

// identifiers are the embedded resources and the anchors of a document, by URL.
type identifiers map[string]resource

func fileURL(name string) *url.URL { return &url.URL{Scheme: "file", Path: "/" + name} }

// identified is the URL that a schema gives itself, "" for none.
func (r resource) identified(n *yaml.Node) string {
	// A fragment alone is an anchor of older drafts and no new base.
	if id := get(n, "$id"); id != nil && id.Kind == yaml.ScalarNode && id.Tag == "!!str" && !strings.HasPrefix(id.Value, "#") {
		if u, err := url.Parse(id.Value); err == nil && id.Value != "" {
			u = r.base.ResolveReference(u)
			u.Fragment, u.RawFragment = "", ""
			return u.String()
		}
	}
	return ""
}

// collect finds the identifiers in a tree that belongs to a resource. The first of
// a name counts.
func (ids identifiers) collect(n *yaml.Node, in resource, at string) {
	note := func(key string, r resource) {
		if _, taken := ids[key]; !taken && key != "" {
			ids[key] = r
		}
	}
	if id := in.identified(n); id != "" {
		base, err := url.Parse(id)
		if err == nil {
			in = resource{in.file, base, at, n}
			note(id, in)
		}
	}
	anchor := get(n, "$anchor")
	if id := get(n, "$id"); anchor == nil && id != nil && strings.HasPrefix(id.Value, "#") {
		anchor = scalar(id.Value[1:])
	}
	if anchor != nil && anchor.Kind == yaml.ScalarNode {
		note(in.base.String()+"#"+anchor.Value, resource{in.file, in.base, at, n})
	}
	switch n.Kind {
	case yaml.MappingNode:
		for key, value := range members(n) {
			if isData(key) {
				continue
			}
			ids.collect(value, in, at+"/"+escapePointer(key))
		}
	case yaml.SequenceNode:
		for i, value := range n.Content {
			ids.collect(value, in, at+"/"+strconv.Itoa(i))
		}
	}
}

// isData reports members whose values are not read as parts of the document.
func isData(key string) bool {
	switch key {
	case "example", "examples", "default", "enum", "const", "value":
		return true
	}
	return strings.HasPrefix(key, "x-")
}

// find returns a reference into the tree for one to an embedded resource, an anchor,
// or a place in an embedded resource. Documents that give schemas an identifier for
// its own sake refer to components all the same: a place that the resource does not
// have is not found.
func (ids identifiers) find(ref string, in resource) (string, bool) {
	u, err := url.Parse(ref)
	if err != nil {
		return "", false
	}
	u = in.base.ResolveReference(u)
	fragment := u.EscapedFragment()
	u.Fragment, u.RawFragment = "", ""
	if anchor, ok := ids[u.String()+"#"+fragment]; ok {
		return anchor.at, true
	}
	r, ok := ids[u.String()]
	if ok && fragment != "" {
		pointer, isPointer := strings.CutPrefix(fragment, "/")
		ok = isPointer && (index{}).descend(r.node, pointer) != nil
	}
	return r.at + fragment, ok
}
