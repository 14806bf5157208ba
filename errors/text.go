package errors

import (
	"strings"
	"unicode"
)

// maxText bounds a message, in characters.
const maxText = 1000

// clean makes foreign text safe to show on one line: control characters and
// those that turn the direction of text become spaces, runs of space collapse,
// invalid UTF-8 becomes U+FFFD, and what is too long is cut at a character.
func clean(s string) string {
	var b strings.Builder
	n, space := 0, false
	for _, r := range s { // ranging yields U+FFFD for invalid UTF-8
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			space = n > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			n++
			space = false
		}
		if n >= maxText-1 {
			b.WriteRune('…')
			break
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}
