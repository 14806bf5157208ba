package schema

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

var errSyntax = errors.New("not valid JSON")

// IsNull reports whether raw is the JSON literal null, white space aside.
func IsNull(raw []byte) bool {
	return string(bytes.Trim(raw, " \t\r\n")) == "null"
}

// SplitObject calls yield with each member of the JSON object raw, in order,
// until yield returns false. The value is the member's text without the white
// space around it; it is not decoded, and what is nested in it is not checked
// beyond its brackets and strings.
//
// Key and value share the memory of raw (a key with escapes does not): they are
// valid for as long as raw is left alone.
func SplitObject(raw []byte, yield func(key string, value []byte) bool) error {
	i := skipSpace(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		return errors.New("not a JSON object")
	}
	i = skipSpace(raw, i+1)
	if i < len(raw) && raw[i] == '}' {
		return atEnd(raw, i+1)
	}
	for {
		end, escaped, ok := scanString(raw, i)
		if !ok {
			return syntaxAt(i)
		}
		key := keyString(raw[i+1:end-1], escaped)
		i = skipSpace(raw, end)
		if i == len(raw) || raw[i] != ':' {
			return syntaxAt(i)
		}
		i = skipSpace(raw, i+1)
		if end, ok = scanValue(raw, i); !ok {
			return syntaxAt(i)
		}
		if !yield(key, raw[i:end:end]) {
			return nil
		}
		i = skipSpace(raw, end)
		switch {
		case i < len(raw) && raw[i] == ',':
			i = skipSpace(raw, i+1)
		case i < len(raw) && raw[i] == '}':
			return atEnd(raw, i+1)
		default:
			return syntaxAt(i)
		}
	}
}

// SplitArray calls yield with each element of the JSON array raw, as
// [SplitObject] does for members.
func SplitArray(raw []byte, yield func(value []byte) bool) error {
	i := skipSpace(raw, 0)
	if i == len(raw) || raw[i] != '[' {
		return errors.New("not a JSON array")
	}
	i = skipSpace(raw, i+1)
	if i < len(raw) && raw[i] == ']' {
		return atEnd(raw, i+1)
	}
	for {
		end, ok := scanValue(raw, i)
		if !ok {
			return syntaxAt(i)
		}
		if !yield(raw[i:end:end]) {
			return nil
		}
		i = skipSpace(raw, end)
		switch {
		case i < len(raw) && raw[i] == ',':
			i = skipSpace(raw, i+1)
		case i < len(raw) && raw[i] == ']':
			return atEnd(raw, i+1)
		default:
			return syntaxAt(i)
		}
	}
}

// String decodes the JSON string raw. A lone surrogate or an invalid byte
// becomes U+FFFD, as it does in encoding/json. It reports false when raw is not
// one JSON string.
func String(raw []byte) (string, bool) {
	raw = bytes.Trim(raw, " \t\r\n")
	end, escaped, ok := scanString(raw, 0)
	if !ok || end != len(raw) {
		return "", false
	}
	text := raw[1 : end-1]
	if !escaped && utf8.Valid(text) {
		return string(text), true
	}
	return string(appendUnescaped(nil, text)), true
}

// HasLoneSurrogate reports whether a string in the well-formed JSON raw spells half
// a surrogate pair, which is no character (RFC 8259, section 8.2).
func HasLoneSurrogate(raw []byte) bool {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return false
		}
		r, size := nextRune(raw[i:])
		// Spelled as a surrogate, decoded as none: a pair is twice as long.
		if size == 6 && r == utf8.RuneError && utf16.IsSurrogate(hex4(raw[i+2:])) {
			return true
		}
		raw = raw[i+size:]
	}
}

// Depth returns how deep arrays and objects are nested in raw: 0 for a scalar,
// 1 for [] or {}. On malformed JSON the number has no meaning.
func Depth(raw []byte) int {
	depth, deepest := 0, 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		case '"':
			end, _, ok := scanString(raw, i)
			if !ok {
				return deepest
			}
			i = end - 1
		}
	}
	return deepest
}

func syntaxAt(i int) error {
	return fmt.Errorf("%w: fault at byte %d", errSyntax, i)
}

// atEnd refuses anything but white space from i on.
func atEnd(raw []byte, i int) error {
	if i = skipSpace(raw, i); i != len(raw) {
		return syntaxAt(i)
	}
	return nil
}

// keyString returns the name that text, the inside of a JSON string, spells.
func keyString(text []byte, escaped bool) string {
	if escaped {
		return string(appendUnescaped(nil, text))
	}
	return unsafe.String(unsafe.SliceData(text), len(text))
}

func skipSpace(src []byte, i int) int {
	for i < len(src) && (src[i] == ' ' || src[i] == '\n' || src[i] == '\t' || src[i] == '\r') {
		i++
	}
	return i
}

// scanValue returns the end of the value that starts at i. Scalars are checked;
// of what is nested only the strings and the number of brackets are.
func scanValue(src []byte, i int) (end int, ok bool) {
	if i >= len(src) {
		return i, false
	}
	if src[i] != '{' && src[i] != '[' {
		end, _, _, ok = scanScalar(src, i)
		return end, ok
	}
	for depth := 0; i < len(src); i++ {
		switch src[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, true
			}
		case '"':
			if end, _, ok = scanString(src, i); !ok {
				return end, false
			}
			i = end - 1
		}
	}
	return i, false
}

// scanScalar returns the end and the kind of the literal, number or string at i
// (RFC 8259 sections 3, 6 and 7).
func scanScalar(src []byte, i int) (end int, k kind, escaped, ok bool) {
	switch c := src[i]; {
	case c == '"':
		end, escaped, ok = scanString(src, i)
		return end, kindString, escaped, ok
	case c == '-' || isDigit(c):
		end, ok = scanNumber(src, i)
		return end, kindNumber, false, ok
	case c == 't':
		end, ok = scanLiteral(src, i, "true")
		return end, kindTrue, false, ok
	case c == 'f':
		end, ok = scanLiteral(src, i, "false")
		return end, kindFalse, false, ok
	case c == 'n':
		end, ok = scanLiteral(src, i, "null")
		return end, kindNull, false, ok
	}
	return i, 0, false, false
}

func scanLiteral(src []byte, i int, literal string) (end int, ok bool) {
	if len(src)-i < len(literal) || string(src[i:i+len(literal)]) != literal {
		return i, false
	}
	return i + len(literal), true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func skipDigits(src []byte, i int) int {
	for i < len(src) && isDigit(src[i]) {
		i++
	}
	return i
}

// scanNumber returns the end of the number at i (RFC 8259 section 6).
func scanNumber(src []byte, i int) (end int, ok bool) {
	if src[i] == '-' {
		i++
	}
	whole := skipDigits(src, i)
	if whole == i || (src[i] == '0' && whole > i+1) {
		return i, false
	}
	i = whole
	if i < len(src) && src[i] == '.' {
		end = skipDigits(src, i+1)
		if end == i+1 {
			return end, false
		}
		i = end
	}
	if i < len(src) && (src[i] == 'e' || src[i] == 'E') {
		i++
		if i < len(src) && (src[i] == '+' || src[i] == '-') {
			i++
		}
		end = skipDigits(src, i)
		if end == i {
			return end, false
		}
		i = end
	}
	return i, true
}

// scanString returns the end of the string at i, the byte after its closing
// quote, and whether it holds escapes (RFC 8259 section 7).
func scanString(src []byte, i int) (end int, escaped, ok bool) {
	if i >= len(src) || src[i] != '"' {
		return i, false, false
	}
	for i++; i < len(src); i++ {
		switch c := src[i]; {
		case c == '"':
			return i + 1, escaped, true
		case c < ' ':
			return i, escaped, false
		case c == '\\':
			escaped = true
			i++
			if i == len(src) {
				return i, escaped, false
			}
			switch src[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if hex4(src[i+1:]) < 0 {
					return i, escaped, false
				}
				i += 4
			default:
				return i, escaped, false
			}
		}
	}
	return i, escaped, false
}

// hex4 returns the value of the four hexadecimal digits src starts with, or -1.
func hex4(src []byte) rune {
	if len(src) < 4 {
		return -1
	}
	var r rune
	for _, c := range src[:4] {
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// nextRune decodes the first character of text, the inside of a well-formed
// JSON string, and returns how many bytes spell it.
func nextRune(text []byte) (r rune, size int) {
	if text[0] != '\\' {
		if text[0] < utf8.RuneSelf {
			return rune(text[0]), 1
		}
		return utf8.DecodeRune(text)
	}
	switch text[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r = hex4(text[2:])
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if len(text) >= 12 && text[6] == '\\' && text[7] == 'u' {
			if pair := utf16.DecodeRune(r, hex4(text[8:])); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return utf8.RuneError, 6
	}
	return rune(text[1]), 2
}

// appendUnescaped appends what text, the inside of a well-formed JSON string,
// spells.
func appendUnescaped(dst, text []byte) []byte {
	for len(text) > 0 {
		r, size := nextRune(text)
		dst = utf8.AppendRune(dst, r)
		text = text[size:]
	}
	return dst
}

// countRunes returns the number of code points that text, the inside of a
// well-formed JSON string, spells.
func countRunes(text []byte, escaped bool) int {
	if !escaped {
		return utf8.RuneCount(text)
	}
	count := 0
	for len(text) > 0 {
		_, size := nextRune(text)
		text = text[size:]
		count++
	}
	return count
}
