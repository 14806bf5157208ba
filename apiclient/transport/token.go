package transport

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
)

const (
	maxToken = 4096
	redacted = "[redacted]"
)

// Token is a caller's credential: a token, or a user and a password, or both, of which
// each operation takes what it needs. It cannot print itself: every way of
// formatting, logging or encoding one yields [redacted].
//
// The value sits behind a function because fmt does not call the methods of a
// Token in somebody's unexported field, and follows a pointer there when the
// verb does not fit; of a function it can only print the address.
type Token struct{ reveal func() *secret }

type secret struct {
	header []string // "Bearer …", ready to be a header value; nil for none
	value  string   // of the token, "" for none
	basic  string   // user and password as HTTP Basic sends them (RFC 7617), "" for none
	masked []masked // what must not be shown: the token, the pair, the password
}

// masked is a text that is looked for.
type masked struct{ value string }

// NewToken accepts a bearer token as RFC 6750 (section 2.1) spells one, and
// more generally any visible ASCII of at most 4096 bytes. It trims nothing,
// and its errors never hold the value.
func NewToken(s string) (Token, error) {
	if err := checkToken(s); err != nil {
		return Token{}, err
	}
	bearer := "Bearer " + s
	sec := &secret{header: []string{bearer}, value: bearer[len("Bearer "):]}
	sec.mask(sec.value)
	return Token{func() *secret { return sec }}, nil
}

// NewBasic accepts a user and a password in base64, as HTTP Basic sends them (RFC
// 7617, section 2).
func NewBasic(encoded string) (Token, error) { return Token{}.WithBasic(encoded) }

// WithBasic is the token together with a user and a password in base64.
func (t Token) WithBasic(encoded string) (Token, error) {
	if err := checkToken(encoded); err != nil {
		return Token{}, err
	}
	sec := &secret{basic: encoded}
	if !t.IsZero() {
		*sec = *t.reveal()
		sec.basic, sec.masked = encoded, slices.Clone(sec.masked)
	}
	sec.mask(encoded)
	if pair, err := base64.StdEncoding.DecodeString(encoded); err == nil {
		if _, password, ok := strings.Cut(string(pair), ":"); ok {
			sec.mask(password)
		}
	}
	return Token{func() *secret { return sec }}, nil
}

func checkToken(s string) error {
	if s == "" {
		return errors.New("the token is empty")
	}
	if len(s) > maxToken {
		return fmt.Errorf("the token is longer than %d bytes", maxToken)
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return errors.New("the token holds a space, a line break or another character that is not visible ASCII")
		}
	}
	return nil
}

// mask adds a text to what must not be shown, unless it is too short to look for.
func (s *secret) mask(value string) {
	if len(value) < minMasked {
		return
	}
	s.masked = append(s.masked, masked{value})
}

// IsZero reports whether there is no token.
func (t Token) IsZero() bool { return t.reveal == nil }

// Key identifies the token in tables of this process: a hash with a seed of its own, so
// that a leaked table says nothing elsewhere; 0 is no token.
func (t Token) Key() uint64 { return t.hash() }

// equal reports the same credential.
func (t Token) equal(o Token) bool {
	if t.IsZero() || o.IsZero() {
		return t.IsZero() && o.IsZero()
	}
	return t.reveal().value == o.reveal().value && t.reveal().basic == o.reveal().basic
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
