package gateway

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/postern-mcp/postern/gateway/schema"
)

// appendJSON appends text, which is valid UTF-8, as a JSON string (RFC 8259,
// section 7) with no escape that is not needed: what is JSON itself and full of
// quotes is long enough as it is.
func appendJSON[T string | []byte](b []byte, text T) []byte {
	return append(appendEscaped(append(b, '"'), text), '"')
}

// appendEscaped appends what stands between the quotes. It goes by bytes, so that a
// text may be given to it in parts, cut anywhere.
func appendEscaped[T string | []byte](b []byte, text T) []byte {
	from := 0
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, text[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
	}
	return append(b, text[from:]...)
}

// appendKey appends a member's name and its colon.
func appendKey(b []byte, key string) []byte {
	return append(appendJSON(b, key), ':')
}

// maxAnswerDepth is how deep an answer may nest, as in encoding/json.
const maxAnswerDepth = 10_000

// tidy returns a JSON text without insignificant white space and without every
// member that one of the paths of keys leads to; ok is false when src is not one
// JSON text in UTF-8 (RFC 8259). All else stays as it was spelled, and when
// nothing is to be left out the result is src itself: this is done once for
// every answer, in one pass, whatever the answer's nesting.
//
// A path may begin at any depth, because an error body can carry the object
// inside another one. Keys are compared decoded, so neither an escaped nor a
// repeated key gets through, and elements of an array count as standing where
// the array stands.
func tidy(src []byte, paths [][]string) (out []byte, ok bool) {
	t := tidier{src: bytes.Trim(src, " \t\r\n"), paths: paths}
	if !utf8.Valid(t.src) || !t.value(0) || t.i != len(t.src) {
		return nil, false
	}
	if t.from == 0 {
		return t.src, true
	}
	return append(t.out, t.src[t.from:]...), true
}

// tidier is the state of tidy. What is kept of src so far is out followed by
// src[from:i], so that nothing is copied before something is left out.
type tidier struct {
	src   []byte
	i     int // the next byte to look at
	out   []byte
	from  int
	paths [][]string
	trail [][]byte // the keys that led here, decoded; only where there are paths
}

// kept is the length of what is kept so far.
func (t *tidier) kept() int { return len(t.out) + t.i - t.from }

// cut takes back what was kept after the first n bytes.
func (t *tidier) cut(n int) {
	if t.out == nil {
		t.out = make([]byte, 0, len(t.src))
	}
	if more := n - len(t.out); more > 0 {
		t.out = append(t.out, t.src[t.from:t.from+more]...)
	}
	t.out, t.from = t.out[:n], t.i
}

// next returns the next byte that is no white space, 0 at the end.
func (t *tidier) next() byte {
	if t.i < len(t.src) && t.src[t.i] > ' ' {
		return t.src[t.i]
	}
	n := t.kept()
	for start := t.i; t.i < len(t.src); t.i++ {
		switch t.src[t.i] {
		case ' ', '\t', '\r', '\n':
			continue
		}
		if t.i > start {
			t.cut(n)
		}
		return t.src[t.i]
	}
	return 0
}

func (t *tidier) value(depth int) bool {
	switch c := t.next(); {
	case depth == maxAnswerDepth && (c == '{' || c == '['):
		return false
	case c == '{':
		return t.object(depth + 1)
	case c == '[':
		return t.array(depth + 1)
	case c == '"':
		return t.text()
	case c == '-' || digit(c):
		return t.number()
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if bytes.HasPrefix(t.src[t.i:], []byte(word)) {
			t.i += len(word)
			return true
		}
	}
	return false
}

func (t *tidier) object(depth int) bool {
	t.i++
	if t.next() == '}' {
		t.i++
		return true
	}
	some := false // whether a member was kept
	before := t.kept()
	for {
		key := t.i
		if t.next() != '"' || !t.text() {
			return false
		}
		gone := t.enter(t.src[key:t.i])
		if t.next() != ':' {
			return false
		}
		t.i++
		if !t.value(depth) {
			return false
		}
		t.leave()
		if gone {
			t.cut(before)
		}
		some = some || !gone
		switch t.next() {
		case '}':
			t.i++
			return true
		case ',':
			before = t.kept()
			t.i++
			if !some {
				t.cut(before)
			}
			t.next()
		default:
			return false
		}
	}
}

// enter notes the key of the member that comes, as it is spelled, and reports
// whether a path leads to it.
func (t *tidier) enter(spelled []byte) bool {
	if len(t.paths) == 0 {
		return false
	}
	key := spelled[1 : len(spelled)-1]
	if bytes.IndexByte(key, '\\') >= 0 {
		s, _ := schema.String(spelled)
		key = []byte(s)
	}
	t.trail = append(t.trail, key)
	for _, path := range t.paths {
		if endsWith(t.trail, path) {
			return true
		}
	}
	return false
}

func (t *tidier) leave() {
	if len(t.paths) > 0 {
		t.trail = t.trail[:len(t.trail)-1]
	}
}

func endsWith(trail [][]byte, path []string) bool {
	if len(path) == 0 || len(trail) < len(path) {
		return false
	}
	for i, key := range trail[len(trail)-len(path):] {
		if string(key) != path[i] {
			return false
		}
	}
	return true
}

func (t *tidier) array(depth int) bool {
	t.i++
	if t.next() == ']' {
		t.i++
		return true
	}
	for t.value(depth) {
		switch t.next() {
		case ']':
			t.i++
			return true
		case ',':
			t.i++
		default:
			return false
		}
	}
	return false
}

// text reads a string.
func (t *tidier) text() bool {
	start, n := t.i, t.kept()
	if !t.scanText() {
		return false
	}
	if len(t.paths) > 0 {
		t.quoted(t.src[start:t.i], n)
	}
	return true
}

// quoted leaves out what the paths lead to in a JSON text that raw quotes: an error
// body may hold another one as a string. n is what was kept before raw.
func (t *tidier) quoted(raw []byte, n int) {
	inner, _ := schema.String(raw)
	if inner = strings.TrimSpace(inner); inner == "" || inner[0] != '{' && inner[0] != '[' {
		return
	}
	paths := t.paths
	// What stands under the keys that led here may have begun outside.
	for _, p := range t.paths {
		for i := 1; i < len(p); i++ {
			if endsWith(t.trail, p[:i]) {
				paths = append(paths[:len(paths):len(paths)], p[i:])
			}
		}
	}
	plain, ok := tidy([]byte(inner), nil)
	redacted, _ := tidy([]byte(inner), paths)
	if ok && !bytes.Equal(plain, redacted) {
		t.cut(n)
		t.out = appendJSON(t.out, redacted)
	}
}

func (t *tidier) scanText() bool {
	for i := t.i + 1; i < len(t.src); i++ {
		switch c := t.src[i]; {
		case c == '"':
			t.i = i + 1
			return true
		case c < ' ':
			return false
		case c == '\\':
			if i++; i == len(t.src) {
				return false
			}
			switch t.src[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					if i++; i == len(t.src) || !hexDigit(t.src[i]) {
						return false
					}
				}
			default:
				return false
			}
		}
	}
	return false
}

func (t *tidier) number() bool {
	t.skip('-')
	if !t.skip('0') && !t.digits() {
		return false
	}
	if t.skip('.') && !t.digits() {
		return false
	}
	if t.skip('e') || t.skip('E') {
		_ = t.skip('+') || t.skip('-')
		return t.digits()
	}
	return true
}

func (t *tidier) skip(c byte) bool {
	ok := t.i < len(t.src) && t.src[t.i] == c
	if ok {
		t.i++
	}
	return ok
}

func (t *tidier) digits() bool {
	start := t.i
	for t.i < len(t.src) && digit(t.src[t.i]) {
		t.i++
	}
	return t.i > start
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func hexDigit(c byte) bool {
	return digit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
