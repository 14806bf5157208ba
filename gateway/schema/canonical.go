package schema

import (
	"slices"
	"strconv"
	"strings"
)

// appendCanonical appends the one encoding that all spellings of the value at
// node n share (JSON Schema Core section 4.2.2): numbers by value, strings by
// code points, objects without regard to the order of members. Every part says
// how long it is, so that no two values share an encoding.
func (d *document) appendCanonical(dst []byte, n int32) []byte {
	switch v := &d.nodes[n]; v.kind {
	case kindNull:
		return append(dst, 'z')
	case kindFalse:
		return append(dst, 'f')
	case kindTrue:
		return append(dst, 't')
	case kindNumber:
		dst = append(dst, 'n')
		dst = parseDecimal(d.raw(n)).appendCanonical(dst)
		return append(dst, ';')
	case kindString:
		return d.appendCanonicalString(append(dst, 's'), n)
	case kindArray:
		dst = strconv.AppendInt(append(dst, 'a'), int64(v.count), 10)
		dst = append(dst, ':')
		for e := n + 1; e < v.next; e = d.nodes[e].next {
			dst = d.appendCanonical(dst, e)
		}
		return dst
	}
	dst = strconv.AppendInt(append(dst, 'o'), int64(d.nodes[n].count), 10)
	dst = append(dst, ':')
	for _, key := range d.sortedNames(n) {
		dst = d.appendCanonicalString(dst, key)
		dst = d.appendCanonical(dst, key+1)
	}
	return dst
}

func (d *document) appendCanonicalString(dst []byte, n int32) []byte {
	text := d.inside(n)
	if d.nodes[n].escaped {
		text = appendUnescaped(nil, text)
	}
	dst = strconv.AppendInt(dst, int64(len(text)), 10)
	dst = append(dst, ':')
	return append(dst, text...)
}

// sortedNames returns the names in object n, sorted.
func (d *document) sortedNames(n int32) []int32 {
	type name struct {
		text string
		node int32
	}
	names := make([]name, 0, d.nodes[n].count)
	for key := n + 1; key < d.nodes[n].next; key = d.nodes[key+1].next {
		names = append(names, name{keyString(d.inside(key), d.nodes[key].escaped), key})
	}
	slices.SortStableFunc(names, func(a, b name) int { return strings.Compare(a.text, b.text) })
	sorted := make([]int32, len(names))
	for i := range names {
		sorted[i] = names[i].node
	}
	return sorted
}
