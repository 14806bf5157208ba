package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxDepth bounds how deep a document may nest: far above any real one, far
// below what recursion over it can bear.
const maxDepth = 600

// maxDocumentBytes bounds a document: the largest public one known is 12 MB.
const maxDocumentBytes = 64 << 20

// parse reads a document in YAML or JSON, without aliases.
func parse(data []byte) (*yaml.Node, error) {
	doc, err := decode(data)
	if err != nil {
		return nil, err
	}
	return plainTree(doc)
}

// decode reads a document as it is written. JSON is read as JSON, although YAML
// 1.2 contains it: YAML's escapes have no surrogate pairs.
func decode(data []byte) (*yaml.Node, error) {
	if len(data) > maxDocumentBytes {
		return nil, fmt.Errorf("document is larger than %d MiB", maxDocumentBytes>>20)
	}
	var doc yaml.Node
	if trimmed := bytes.TrimLeft(data, " \t\r\n\ufeff"); len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed) {
		root, err := decodeJSON(trimmed)
		if err != nil {
			return nil, err
		}
		doc = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{root}}
	} else if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("document is neither YAML nor JSON: %w", err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("document is not an object at its top level")
	}
	return &doc, nil
}

// decodeJSON reads valid JSON, counting lines for errors.
func decodeJSON(data []byte) (*yaml.Node, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	line, counted := 1, int64(0)
	var value func(depth int) (*yaml.Node, error)
	value = func(depth int) (*yaml.Node, error) {
		if depth > maxDepth {
			return nil, fmt.Errorf("line %d: nested deeper than %d levels", line, maxDepth)
		}
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		line += bytes.Count(data[counted:dec.InputOffset()], []byte("\n"))
		counted = dec.InputOffset()
		n := &yaml.Node{Kind: yaml.ScalarNode, Line: line}
		switch token := token.(type) {
		case json.Delim:
			n.Kind = yaml.SequenceNode
			if token == '{' {
				n.Kind = yaml.MappingNode
			}
			for dec.More() {
				child, err := value(depth + 1)
				if err != nil {
					return nil, err
				}
				n.Content = append(n.Content, child)
			}
			_, err = dec.Token()
			return n, err
		case string:
			n.Tag, n.Value = "!!str", token
		case json.Number:
			n.Tag, n.Value = "!!float", token.String()
		case bool:
			n.Tag, n.Value = "!!bool", strconv.FormatBool(token)
		case nil:
			n.Tag, n.Value = "!!null", "null"
		}
		return n, nil
	}
	return value(0)
}

// plainTree returns the document's root with aliases expanded, so that the rest of
// the package sees plain trees.
func plainTree(doc *yaml.Node) (*yaml.Node, error) {
	// Expansion multiplies what aliases repeat, so it is bounded by count.
	budget := 2_000_000
	return expand(doc.Content[0], 0, &budget)
}

func expand(n *yaml.Node, depth int, budget *int) (*yaml.Node, error) {
	if *budget--; *budget < 0 {
		return nil, fmt.Errorf("line %d: document is too large once its aliases are expanded", n.Line)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("line %d: nested deeper than %d levels", n.Line, maxDepth)
	}
	if n.Kind == yaml.AliasNode {
		return expand(n.Alias, depth+1, budget)
	}
	out := *n
	out.Anchor, out.Alias, out.Content = "", nil, make([]*yaml.Node, 0, len(n.Content))
	var merged []*yaml.Node
	for i := 0; i < len(n.Content); i++ {
		c := n.Content[i]
		merge := n.Kind == yaml.MappingNode && i%2 == 0 && c.Tag == "!!merge" && i+1 < len(n.Content)
		if merge {
			i++
			c = n.Content[i]
		}
		e, err := expand(c, depth+1, budget)
		if err != nil {
			return nil, err
		}
		if merge {
			merged = append(merged, e)
			continue
		}
		out.Content = append(out.Content, e)
	}
	for _, m := range merged {
		mergeInto(&out, m)
	}
	return &out, nil
}

// mergeInto adds the members of a YAML merge key (<<), a mapping or a sequence of
// mappings, that the mapping does not have itself.
func mergeInto(n, from *yaml.Node) {
	for _, source := range items(from) {
		mergeInto(n, source)
	}
	for key, value := range members(from) {
		if get(n, key) == nil {
			n.Content = append(n.Content, scalar(key), value)
		}
	}
}

// get returns the member of a mapping, or nil; it is nil-safe so that a path of
// members reads as one expression.
func get(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		var found *yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				found = n.Content[i+1]
				break
			}
		}
		n = found
	}
	return n
}

// omit is a mapping less some members.
func omit(n *yaml.Node, keys ...string) *yaml.Node {
	out := mapping()
	for key, value := range members(n) {
		if !slices.Contains(keys, key) {
			out.Content = append(out.Content, scalar(key), value)
		}
	}
	return out
}

// members yields the members of a mapping in the document's order.
func members(n *yaml.Node) func(yield func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}

// items returns the elements of a sequence.
func items(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// text returns a scalar's text, trimmed, or "".
func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return strings.TrimSpace(n.Value)
}

func isTrue(n *yaml.Node) bool {
	var b bool
	return n != nil && n.Decode(&b) == nil && b
}

func strs(n *yaml.Node) []string {
	var out []string
	for _, e := range items(n) {
		out = append(out, e.Value)
	}
	return out
}
