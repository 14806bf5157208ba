package transport

import (
	"bytes"
	"strings"
)

// maxBackslashes is a backslash in JSON quoted five times over.
const maxBackslashes = 32

const (
	// minMasked is the shortest token that Mask looks for: replacing every "a"
	// would destroy the answer and hide nothing.
	minMasked = 6
	// minCut is the shortest beginning of a token that MaskCut looks for.
	minCut = 4
	// probeLen keeps the search within what bytes.Index does with vector
	// instructions. The tail is probed, since tokens share their prefixes.
	probeLen = 32
)

// Mask replaces the token, and a password, wherever b holds it, also when letters of it are
// spelled as escapes of JSON (RFC 8259, section 7), of URLs (RFC 3986, section
// 2.1) or of JSON pointers (RFC 6901, section 3), or as escapes of escapes in JSON that is quoted inside JSON, by
// [redacted]. Without the token it returns b itself, at the cost
// of a few vectorised scans.
func (t Token) Mask(b []byte) []byte {
	if t.IsZero() {
		return b
	}
	secrets := t.reveal().masked
	for i := range secrets {
		b = secrets[i].in(b)
	}
	return b
}

// in masks one secret in b.
func (s *masked) in(b []byte) []byte {
	if len(b) < len(s.value) {
		return b
	}
	for _, lead := range [...]byte{'\\', '%', '~'} {
		if s.escapedIn(b, lead) {
			b = s.maskSpelled(b, lead)
		}
	}
	if bytes.Contains(b, []byte(s.value[max(0, len(s.value)-probeLen):])) {
		b = bytes.ReplaceAll(b, []byte(s.value), []byte(redacted))
	}
	return b
}

// MaskCut is Mask for a text that was cut off, perhaps within the token.
func (t Token) MaskCut(b []byte) []byte {
	b = t.Mask(b)
	if t.IsZero() {
		return b
	}
	for _, s := range t.reveal().masked {
		for n := min(len(s.value)-1, len(b)); n >= minCut; n-- {
			if cut := len(b) - n; string(b[cut:]) == s.value[:n] {
				b = append(b[:cut:cut], redacted...)
				break
			}
		}
	}
	return b
}

// escapedIn reports whether b spells any letter of the token as an escape,
// which ordinary answers do not.
func (s *masked) escapedIn(b []byte, lead byte) bool {
	for {
		i := bytes.IndexByte(b, lead)
		if i < 0 {
			return false
		}
		c, size := unescape(b[i:], lead)
		if size > 1 && strings.IndexByte(s.value, c) >= 0 {
			return true
		}
		b = b[i+size:]
	}
}

// maskSpelled masks the token in the unescaped form of b and follows each
// match back to its spelling. The walk goes forward only, so a hostile text
// costs no more than a long one.
func (s *masked) maskSpelled(b []byte, lead byte) []byte {
	value := []byte(s.value)
	plain := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		c, size := unescape(b[i:], lead)
		plain = append(plain, c)
		i += size
	}
	if !bytes.Contains(plain, value) {
		return b
	}
	out := make([]byte, 0, len(b))
	raw := 0
	skip := func(n int) {
		for range n {
			_, size := unescape(b[raw:], lead)
			raw += size
		}
	}
	for {
		before, after, found := bytes.Cut(plain, value)
		if !found {
			return append(out, b[raw:]...)
		}
		from := raw
		skip(len(before))
		out = append(append(out, b[from:raw]...), redacted...)
		skip(len(value))
		plain = after
	}
}

// unescape returns the first byte that b spells and the length of its
// spelling. JSON escapes always count, those that begin with lead too.
func unescape(b []byte, lead byte) (c byte, size int) {
	switch {
	case lead == '~' && len(b) >= 2 && b[0] == '~' && (b[1] == '0' || b[1] == '1'):
		return "~/"[b[1]-'0'], 2
	case lead == '%' && b[0] == '%' && len(b) >= 3:
		if c, ok := unhex(b[1], b[2]); ok {
			return c, 3
		}
	case b[0] == '\\':
		// Quoting JSON once more doubles its backslashes, so a run of them
		// spells the one that matters at some depth.
		run := 1
		for run < len(b) && run < maxBackslashes && b[run] == '\\' {
			run++
		}
		rest := b[run:]
		if len(rest) >= 5 && rest[0] == 'u' && rest[1] == '0' && rest[2] == '0' {
			if c, ok := unhex(rest[3], rest[4]); ok {
				return c, run + 5
			}
		}
		if len(rest) > 0 && (rest[0] == '/' || rest[0] == '"') {
			return rest[0], run + 1
		}
		return '\\', run
	}
	return b[0], 1
}

func unhex(hi, lo byte) (byte, bool) {
	h, l := hexDigit(hi), hexDigit(lo)
	return h<<4 | l&0xf, h < 16 && l < 16
}

func hexDigit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 0xff
}
