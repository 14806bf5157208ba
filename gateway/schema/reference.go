package schema

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

type visit uint8

const (
	visitNone visit = iota
	visitOpen
	visitDone
)

// resolve links every $ref to its target and refuses one that comes back to
// itself on the same value: such a schema says nothing (JSON Schema Core
// section 9.4.1).
func (c *compiler) resolve() error {
	for _, ref := range c.refs {
		target, err := c.target(ref.node)
		if err != nil {
			return err
		}
		ref.from.ref, target.shared = target, true
	}
	for _, ref := range c.refs {
		if ref.from.loops() {
			return c.errorAt(ref.node, "the $ref leads back to itself without descending into the value")
		}
	}
	return nil
}

// target returns the rule that the $ref at node n names: "#" or a JSON pointer
// in a URI fragment (RFC 6901 section 6) below "#/$defs/".
func (c *compiler) target(n int32) (*rule, error) {
	ref := c.doc.str(n)
	if ref == "#" {
		return c.rules[0], nil
	}
	fragment, err := url.PathUnescape(ref)
	if err != nil || !strings.HasPrefix(fragment, "#/$defs/") {
		return nil, c.errorAt(n, "$ref %s is neither # nor below #/$defs/", quote(ref))
	}
	at := int32(0)
	for token := range strings.SplitSeq(fragment[len("#/"):], "/") {
		var ok bool
		if at, ok = c.doc.child(at, tokenUnescaper.Replace(token)); !ok {
			return nil, c.errorAt(n, "$ref %s leads nowhere", quote(ref))
		}
	}
	if c.rules[at] == nil {
		return nil, c.errorAt(n, "$ref %s does not lead to a schema", quote(ref))
	}
	return c.rules[at], nil
}

var tokenUnescaper = strings.NewReplacer("~1", "/", "~0", "~")

// child returns the member or element of node n that a reference token names.
func (d *document) child(n int32, token string) (int32, bool) {
	end := d.nodes[n].next
	switch d.nodes[n].kind {
	case kindObject:
		for key := n + 1; key < end; key = d.nodes[key+1].next {
			if d.str(key) == token {
				return key + 1, true
			}
		}
	case kindArray:
		index := 0
		for e := n + 1; e < end; e = d.nodes[e].next {
			if strconv.Itoa(index) == token {
				return e, true
			}
			index++
		}
	}
	return 0, false
}

// loops reports whether r applies to a value only after r has been applied to
// that same value.
func (r *rule) loops() bool {
	if r == nil || r.visit == visitDone {
		return false
	}
	if r.visit == visitOpen {
		return true
	}
	r.visit = visitOpen
	found := r.ref.loops() || r.not.loops()
	for _, rules := range [][]*rule{r.allOf, r.anyOf, r.oneOf} {
		found = found || slices.ContainsFunc(rules, (*rule).loops)
	}
	r.visit = visitDone
	return found
}
