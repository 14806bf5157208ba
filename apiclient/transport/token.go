package transport

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
)

const (
	maxToken = 4096
	redacted = "[redacted]"
)

// Token is a caller's credential. It cannot print itself: every way of
// formatting, logging or encoding one yields [redacted].
//
// The value sits behind a function because fmt does not call the methods of a
// Token in somebody's unexported field, and follows a pointer there when the
// verb does not fit; of a function it can only print the address.
type Token struct{ reveal func() *secret }

type secret struct {
	header  []string // "Bearer …", ready to be a header value
	value   string
	letters [256]bool // which bytes occur in value
}

// NewToken accepts a bearer token as RFC 6750 (section 2.1) spells one, and
// more generally any visible ASCII of at most 4096 bytes. It trims nothing,
// and its errors never hold the value.
func NewToken(s string) (Token, error) {
	if s == "" {
		return Token{}, errors.New("the token is empty")
	}
	if len(s) > maxToken {
		return Token{}, fmt.Errorf("the token is longer than %d bytes", maxToken)
	}
	sec := &secret{}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return Token{}, errors.New("the token holds a space, a line break or another character that is not visible ASCII")
		}
		sec.letters[s[i]] = true
	}
	bearer := "Bearer " + s
	sec.header, sec.value = []string{bearer}, bearer[len("Bearer "):]
	return Token{func() *secret { return sec }}, nil
}

// IsZero reports whether there is no token.
func (t Token) IsZero() bool { return t.reveal == nil }

// processKey is made on first use: most processes never need it.
var processKey = sync.OnceValue(func() (key [sha256.Size]byte) {
	_, _ = rand.Read(key[:]) // never fails
	return key
})

// Key identifies the token in tables: a SHA-256 keyed with a random value of
// this process, so that a leaked table says nothing elsewhere. It is an
// index, not a MAC to be shown to others.
func (t Token) Key() [32]byte {
	var space [sha256.Size + 256]byte
	key := processKey()
	b := append(space[:0], key[:]...)
	if !t.IsZero() {
		b = append(b, t.reveal().value...)
	}
	return sha256.Sum256(b)
}

// String implements [fmt.Stringer].
func (Token) String() string { return redacted }

// GoString implements [fmt.GoStringer].
func (Token) GoString() string { return redacted }

// Format implements [fmt.Formatter] for every verb.
func (Token) Format(f fmt.State, _ rune) { io.WriteString(f, redacted) }

// LogValue implements [slog.LogValuer].
func (Token) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText implements [encoding.TextMarshaler].
func (Token) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON implements [json.Marshaler].
func (Token) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
