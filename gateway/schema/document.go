package schema

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds how deep a schema or an instance may be nested, and with it
// every recursion of this package.
const maxDepth = 1000

type kind uint8

const (
	kindNull kind = iota
	kindFalse
	kindTrue
	kindNumber
	kindString
	kindArray
	kindObject
)

// A node is one value of a document, or the name of a member.
type node struct {
	kind       kind
	escaped    bool  // a string that holds escapes
	start, end int32 // its text, a string's with the quotes
	next       int32 // index of the first node after this one and all it holds
	depth      int32 // reference tokens in its pointer
	count      int32 // elements, or members
}

// A document is a JSON text as a flat list of nodes in the order of the text:
// a container is followed by what it holds, a member's name by its value. One
// pass builds it, so that validating reads every byte once however many
// subschemas apply.
type document struct {
	src   []byte
	nodes []node
	open  []int32 // the containers being read, outermost first
	at    int32   // the name or container that reading has come to
}

// unclosed is the next of a container whose end has not been read.
const unclosed = math.MaxInt32

// parse reads src (RFC 8259), refusing malformed JSON, invalid UTF-8 and
// nesting beyond limit.
func (d *document) parse(src []byte, limit int) *Violation {
	d.src, d.nodes, d.open, d.at = src, d.nodes[:0], d.open[:0], 0
	if len(src) > math.MaxInt32-1 {
		return &Violation{Expected: "a JSON text of less than 2 GiB", Got: strconv.Itoa(len(src)) + " bytes"}
	}
	i := skipSpace(src, 0)
	for {
		// A value starts at i.
		if i == len(src) {
			return d.syntax(i)
		}
		if c := src[i]; c == '{' || c == '[' {
			if len(d.open) == limit {
				return d.fault(nestingText(limit), "more")
			}
			k, closing := kindArray, byte(']')
			if c == '{' {
				k, closing = kindObject, '}'
			}
			d.push(node{kind: k, start: int32(i), next: unclosed, depth: int32(len(d.open))})
			d.at = int32(len(d.nodes) - 1)
			d.open = append(d.open, d.at)
			i = skipSpace(src, i+1)
			if i < len(src) && src[i] != closing {
				if k == kindObject {
					var v *Violation
					if i, v = d.name(i); v != nil {
						return v
					}
				}
				continue
			}
		} else {
			var v *Violation
			if i, v = d.scalar(i); v != nil {
				return v
			}
		}
		// A value ended, or a container that holds nothing is open.
		for {
			i = skipSpace(src, i)
			if len(d.open) == 0 {
				if i != len(src) {
					return d.syntax(i)
				}
				return nil
			}
			if i == len(src) {
				return d.syntax(i)
			}
			d.at = d.open[len(d.open)-1]
			parent := &d.nodes[d.at]
			if c := src[i]; c == ',' && parent.count > 0 {
				i = skipSpace(src, i+1)
				break
			} else if (c == ']') != (parent.kind == kindArray) || (c == '}') != (parent.kind == kindObject) {
				return d.syntax(i)
			}
			i++
			parent.end, parent.next = int32(i), int32(len(d.nodes))
			d.open = d.open[:len(d.open)-1]
		}
		if d.nodes[d.at].kind == kindObject {
			var v *Violation
			if i, v = d.name(i); v != nil {
				return v
			}
		}
	}
}

// push appends a value and counts it in the container it belongs to.
func (d *document) push(n node) {
	d.nodes = append(d.nodes, n)
	if len(d.open) > 0 {
		d.nodes[d.open[len(d.open)-1]].count++
	}
}

// scalar reads the literal, number or string at i.
func (d *document) scalar(i int) (end int, v *Violation) {
	end, k, escaped, ok := scanScalar(d.src, i)
	if !ok {
		return end, d.syntax(end)
	}
	d.push(node{kind: k, escaped: escaped, start: int32(i), end: int32(end), next: int32(len(d.nodes) + 1), depth: int32(len(d.open))})
	if k == kindString && !utf8.Valid(d.src[i:end]) {
		d.at = int32(len(d.nodes) - 1)
		return end, d.fault("UTF-8", "invalid bytes")
	}
	return end, nil
}

// name reads the name of a member and the colon after it, and returns where the
// member's value starts.
func (d *document) name(i int) (value int, v *Violation) {
	end, escaped, ok := scanString(d.src, i)
	if !ok {
		return end, d.syntax(end)
	}
	d.at = int32(len(d.nodes))
	d.nodes = append(d.nodes, node{kind: kindString, escaped: escaped, start: int32(i), end: int32(end), next: d.at + 1, depth: int32(len(d.open))})
	if !utf8.Valid(d.src[i:end]) {
		return end, d.fault("UTF-8", "invalid bytes")
	}
	i = skipSpace(d.src, end)
	if i == len(d.src) || d.src[i] != ':' {
		return i, d.syntax(i)
	}
	return skipSpace(d.src, i+1), nil
}

// fault returns a violation where reading has come to.
func (d *document) fault(expected, got string) *Violation {
	v := &Violation{Expected: expected, Got: got}
	if len(d.nodes) > 0 {
		v.Pointer = d.pointer(d.at)
	}
	return v
}

func (d *document) syntax(i int) *Violation {
	return d.fault("JSON", "a syntax error at byte "+strconv.Itoa(i))
}

// raw returns the text of node n.
func (d *document) raw(n int32) []byte {
	return d.src[d.nodes[n].start:d.nodes[n].end]
}

// inside returns what stands between the quotes of string n.
func (d *document) inside(n int32) []byte {
	return d.src[d.nodes[n].start+1 : d.nodes[n].end-1]
}

// str returns the decoded string n.
func (d *document) str(n int32) string {
	if d.nodes[n].escaped {
		return string(appendUnescaped(nil, d.inside(n)))
	}
	return string(d.inside(n))
}

// pointer returns the JSON pointer (RFC 6901) of node n; the name of a member
// has the pointer of the member.
func (d *document) pointer(n int32) string {
	var b strings.Builder
	for at := int32(0); at != n; {
		switch child := at + 1; d.nodes[at].kind {
		case kindObject:
			for child != n && d.nodes[child+1].next <= n {
				child = d.nodes[child+1].next
			}
			writeToken(&b, d.str(child))
			if at = child + 1; n == child {
				return b.String()
			}
		case kindArray:
			index := 0
			for d.nodes[child].next <= n {
				child = d.nodes[child].next
				index++
			}
			writeToken(&b, strconv.Itoa(index))
			at = child
		}
	}
	return b.String()
}

// maxToken is how much of a member's name a pointer repeats: a name may be as
// long as the whole request.
const maxToken = 256

// writeToken appends one reference token (RFC 6901 section 3).
func writeToken(b *strings.Builder, token string) {
	token = strings.ToValidUTF8(token, "\uFFFD")
	if len(token) > maxToken {
		cut := maxToken
		for !utf8.RuneStart(token[cut]) {
			cut--
		}
		token = token[:cut] + "…"
	}
	b.WriteByte('/')
	tokenEscaper.WriteString(b, token) //nolint:errcheck // a strings.Builder does not fail
}

var tokenEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// Check refuses what no argument text may be: malformed JSON, invalid UTF-8,
// nesting deeper than maxDepth levels (as [Depth] counts), and an object that
// names a member twice. RFC 8259 section 4 calls the latter unpredictable: one
// of the two could pass validation and the other be the one the upstream reads.
//
// The error is a [*Violation].
func Check(raw []byte, maxDepth int) error {
	v := validations.Get().(*validation)
	defer v.release()
	if violation := v.doc.check(raw, maxDepth); violation != nil {
		return violation
	}
	return nil
}

// check parses src and refuses repeated names.
func (d *document) check(src []byte, limit int) *Violation {
	if v := d.parse(src, max(limit, 0)); v != nil {
		return v
	}
	if n, twice := d.duplicate(); twice {
		return &Violation{
			Pointer:  d.pointer(n),
			Expected: "each member name once",
			Got:      quote(d.str(n)) + " twice",
		}
	}
	return nil
}

// fewMembers is up to how many members comparing names pairwise beats hashing.
const fewMembers = 8

// duplicate returns the first name that its object holds twice.
func (d *document) duplicate() (name int32, twice bool) {
	var few [fewMembers]string
	var seen map[string]struct{}
	for n := range d.nodes {
		if d.nodes[n].kind != kindObject || d.nodes[n].count < 2 {
			continue
		}
		many := d.nodes[n].count > fewMembers
		if many {
			seen = make(map[string]struct{}, d.nodes[n].count)
		}
		names := few[:0]
		for key := int32(n) + 1; key < d.nodes[n].next; key = d.nodes[key+1].next {
			s := keyString(d.inside(key), d.nodes[key].escaped)
			if many {
				if _, twice = seen[s]; !twice {
					seen[s] = struct{}{}
				}
			} else if twice = slices.Contains(names, s); !twice {
				names = append(names, s)
			}
			if twice {
				return key, true
			}
		}
	}
	return 0, false
}
