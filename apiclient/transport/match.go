package transport

import (
	"strings"
	"unicode/utf8"
)

// mismatch says why a path does not belong to a template: param is the
// parameter whose value is at fault, "" when none can be named.
type mismatch struct {
	param string
	why   string
}

// match reports whether path, the escaped path below the base URL, is template
// with a harmless value in the place of every {parameter}. It allocates
// nothing for plain values.
//
// Segments are compared one by one, so a value holds no raw slash; an encoded
// one is data. What a value decodes to is safeValue's business.
func match(template, path string) (mismatch, bool) {
	for {
		want, restWant, moreWant := strings.Cut(template, "/")
		got, restGot, moreGot := strings.Cut(path, "/")
		if m, ok := matchSegment(want, got); !ok {
			return m, false
		}
		if moreWant != moreGot {
			return mismatch{why: "it has another number of segments"}, false
		}
		if !moreWant {
			return mismatch{}, true
		}
		template, path = restWant, restGot
	}
}

// matchSegment matches one segment, which may mix literals and parameters:
// {sha}.{type} or {name}:start. A literal is taken where it first occurs
// after a non-empty value, the last one at the end.
func matchSegment(want, got string) (mismatch, bool) {
	literal, rest, more := strings.Cut(want, "{")
	n := prefix(literal, got)
	if n < 0 || !more && n != len(got) {
		return mismatch{why: "it differs from the operation's path"}, false
	}
	whole, value := got, got
	got = got[n:]
	for more {
		var param, after string
		var ok bool
		param, rest, _ = strings.Cut(rest, "}")
		literal, rest, more = strings.Cut(rest, "{")
		if value, after, ok = cutValue(got, literal, !more); !ok {
			return mismatch{param, "it is empty or does not fit the operation's path"}, false
		}
		if !safeValue(value) {
			return mismatch{param, "it is a dot segment or holds a control character"}, false
		}
		got = after
	}
	// Neighbours can make a dot segment of harmless values.
	if value != whole && !safeValue(whole) {
		return mismatch{why: "its values add up to a dot segment"}, false
	}
	return mismatch{}, true
}

// cutValue splits s at the first occurrence of literal that leaves a value
// before it; at the end of the segment the literal must end s too. Escapes
// are stepped over whole.
func cutValue(s, literal string, last bool) (value, after string, ok bool) {
	if last && literal == "" {
		return s, "", s != ""
	}
	for i := step(s, 0); i <= len(s) && s != ""; i = step(s, i) {
		if n := prefix(literal, s[i:]); n >= 0 && (!last || i+n == len(s)) {
			return s[:i], s[i+n:], true
		}
		if i == len(s) {
			break
		}
	}
	return "", "", false
}

// step returns the index after the character or escape at i.
func step(s string, i int) int {
	switch {
	case i >= len(s):
		return len(s)
	case s[i] == '%' && i+3 <= len(s):
		return i + 3
	}
	return i + 1
}

// prefix returns the length of literal at the start of s, -1 if it is not
// there. A character that cannot stand in a path as it is may be escaped.
func prefix(literal, s string) int {
	if strings.HasPrefix(s, literal) {
		return len(literal)
	}
	n := 0
	for i := range len(literal) {
		switch {
		case n < len(s) && s[n] == literal[i]:
			n++
		case n+3 <= len(s) && s[n] == '%' && !pathChar(literal[i]):
			if c, ok := unhex(s[n+1], s[n+2]); !ok || c != literal[i] {
				return -1
			}
			n += 3
		default:
			return -1
		}
	}
	return n
}

// pathChar reports whether c may stand unescaped in a segment (pchar of RFC
// 3986, section 3.3), the percent sign included.
func pathChar(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~!$&'()*+,;=:@%", c) >= 0
}

// maxDecodings bounds how often a value may still decode to something else.
// Proxies and frameworks decode once or twice too often, not more.
const maxDecodings = 8

// safeValue reports whether an escaped value stays in its place on every
// server we know of: however often it is percent-decoded, it holds no control
// character and none of the parts between its slashes (or backslashes) is a
// dot segment (RFC 3986, section 5.2.4), and some part is not empty. So
// folder%2Fname passes and %2e%2e, a%252f..%252fb and %2F do not.
func safeValue(escaped string) bool {
	if plain(escaped) {
		return true
	}
	b := []byte(escaped)
	for range maxDecodings {
		if !harmless(b) {
			return false
		}
		n := decode(b)
		if n == len(b) {
			return true
		}
		first := len(b) == len(escaped)
		b = b[:n]
		// Overlong UTF-8 has spelled dots before. Only what the server is
		// meant to see is text; a value may look like an escape itself.
		if first && !utf8.Valid(b) {
			return false
		}
	}
	return false
}

// plain is the quick answer for almost every value: letters, digits and the
// like, not starting with a dot.
func plain(s string) bool {
	if s == "" || s[0] == '.' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c == '%' || c == '\\' || c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

func harmless(b []byte) bool {
	empty, start := true, 0
	for i := 0; i <= len(b); i++ {
		if i < len(b) && (b[i] < ' ' || b[i] == 0x7f) {
			return false
		}
		if i == len(b) || b[i] == '/' || b[i] == '\\' {
			if dots(b[start:i]) {
				return false
			}
			empty = empty && start == i
			start = i + 1
		}
	}
	return !empty
}

// dots reports whether part is a dot segment. Some Java servers cut a segment
// at its semicolon first.
func dots(part []byte) bool {
	n := 0
	for n < len(part) && part[n] == '.' {
		n++
	}
	return (n == 1 || n == 2) && (n == len(part) || part[n] == ';')
}

// decode percent-decodes b in place, leaving what is no escape, and returns
// the new length.
func decode(b []byte) int {
	n := 0
	for i := 0; i < len(b); n++ {
		if b[i] == '%' && i+3 <= len(b) {
			if c, ok := unhex(b[i+1], b[i+2]); ok {
				b[n] = c
				i += 3
				continue
			}
		}
		b[n] = b[i]
		i++
	}
	return n
}
