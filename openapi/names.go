package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"go/token"
	"net/url"
	"strings"
	"unicode"
)

// maxToolName bounds a derived tool name: several clients prefix names with the
// server's and drop what then exceeds 64 characters.
const maxToolName = 48

var pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")

func unescapeFragment(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

// words splits a name where its writer did: at anything that is not a letter or
// digit, and where lower case turns to upper case.
func words(s string) []string {
	var out []string
	var cur []rune
	flush := func() {
		if len(cur) > 0 {
			out = append(out, string(cur))
			cur = cur[:0]
		}
	}
	rs := []rune(s)
	for i, r := range rs {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush()
			continue
		}
		if unicode.IsUpper(r) && i > 0 {
			prevLower := unicode.IsLower(rs[i-1]) || unicode.IsDigit(rs[i-1])
			nextLower := i+1 < len(rs) && unicode.IsLower(rs[i+1])
			if prevLower || unicode.IsUpper(rs[i-1]) && nextLower {
				flush()
			}
		}
		cur = append(cur, r)
	}
	flush()
	return out
}

func snake(s string) string { return strings.ToLower(strings.Join(words(s), "_")) }

// camel makes an exported Go identifier.
func camel(s string) string {
	var b strings.Builder
	for _, w := range words(s) {
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	if b.Len() == 0 || b.String()[0] >= '0' && b.String()[0] <= '9' {
		return "X" + b.String()
	}
	return b.String()
}

// lowerCamel makes an unexported Go identifier that neither is a keyword nor
// shadows what the client's template uses inside a function.
func lowerCamel(s string) string {
	c := camel(s)
	c = strings.ToLower(c[:1]) + c[1:]
	if token.IsKeyword(c) || taken[c] {
		c += "Param"
	}
	return c
}

// taken are the names that clientTemplate uses where path parameters are arguments.
var taken = map[string]bool{
	"body": true, "c": true, "contentType": true, "context": true, "ctx": true, "encode": true, "err": true,
	"error": true, "false": true, "true": true, "http": true, "io": true, "nil": true, "params": true, "r": true, "req": true, "string": true,
}

// shorten cuts a name to the limit and marks the cut with a hash of the whole
// name, so that the result depends on nothing but the name.
func shorten(name, whole string, limit int) string {
	if len(name) <= limit {
		return name
	}
	return strings.TrimRight(name[:limit-9], "_") + "_" + hash8(whole)
}

func hash8(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}

// unique gives each of the names back, those that occur more than once with a
// separator and a hash of what tells them apart, whatever their order, and cut so that
// they keep to the limit.
func unique(names []string, separator string, identities []string, limit int) []string {
	count := map[string]int{}
	for _, n := range names {
		count[n]++
	}
	out := make([]string, len(names))
	for i, n := range names {
		if out[i] = n; count[n] > 1 {
			suffix := separator + hash8(identities[i])
			out[i] = strings.TrimRight(n[:min(len(n), limit-len(suffix))], "_") + suffix
		}
	}
	return out
}

// isToolName reports a name that MCP and the clients known accept verbatim
// (MCP 2025-11-25, Tools, "Tool Names").
func isToolName(s string) bool {
	for _, r := range s {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}
