package gateway

import (
	"mime"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

const plainJSON = "application/json"

// mediaTypeOf splits a Content-Type; one that cannot be read is none.
func mediaTypeOf(contentType string) (mediaType, charset string) {
	mediaType, params, _ := mime.ParseMediaType(contentType)
	return mediaType, params["charset"]
}

// toUTF8 converts a text from the charset that its Content-Type names, and masks it
// again, for it may have spelled the token in another alphabet. What is UTF-8 already
// stays, whatever it is called, and ok is false for what cannot be converted.
func toUTF8(text []byte, charset string, mask func([]byte) []byte) (converted []byte, ok bool) {
	name := plainName(charset)
	if name == "" || name == "utf8" {
		return text, true
	}
	table, known := charmaps()[name]
	if !known || table == charmap.Windows1252 && utf8.Valid(text) {
		return text, utf8.Valid(text)
	}
	converted, err := table.NewDecoder().Bytes(text)
	return mask(converted), err == nil
}

// charmaps are the charsets of one byte per character that extend ASCII, by plain name.
// Those of the web's (WHATWG Encoding, section 4.2) that mean another one are last.
var charmaps = sync.OnceValue(func() map[string]*charmap.Charmap {
	tables := map[string]*charmap.Charmap{}
	for _, e := range charmap.All {
		if c, ok := e.(*charmap.Charmap); ok && c.DecodeByte('A') == 'A' {
			tables[plainName(c.String())] = c
		}
	}
	for _, name := range []string{"iso88591", "latin1", "usascii", "ascii"} {
		tables[name] = charmap.Windows1252
	}
	return tables
})

// plainName is a charset's name in small letters and digits: iso88591 for ISO-8859-1.
func plainName(charset string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		}
		return -1
	}, charset)
}
