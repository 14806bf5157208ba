package transport

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
)

func TestNewToken(t *testing.T) {
	for _, good := range []string{"a", "abc-._~+/==", "weird!#$%&'*,:;<>?@[]^`{|}\"\\", strings.Repeat("x", 4096)} {
		if _, err := NewToken(good); err != nil {
			t.Errorf("NewToken(%.20q) = %v", good, err)
		}
	}
	for _, bad := range []string{"", " ", "SECRET with space", "SECRET\n", "\tSECRET", "SECRET\x00", "SECRETé", "SECRET\x7f", strings.Repeat("SECRET", 700)} {
		_, err := NewToken(bad)
		if err == nil {
			t.Errorf("NewToken(%.20q) was accepted", bad)
		} else if strings.Contains(err.Error(), "SECRET") {
			t.Errorf("the error holds the value: %v", err)
		}
	}
}

func TestTokenCannotPrintItself(t *testing.T) {
	token := newToken(t)
	hidden := struct{ inner Token }{token} // fmt may not call methods here
	var log bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(h).Info("m", "token", token, "pointer", &token, "in", hidden, "exported", struct{ T Token }{token})
	}
	asJSON, err := json.Marshal(map[string]any{"t": token, "p": &token, "h": hidden})
	if err != nil {
		t.Fatal(err)
	}
	log.Write(asJSON)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		for _, v := range []any{token, &token, hidden, &hidden, []Token{token}, map[string]Token{"t": token}, struct{ T any }{token}, (&Upstream{}).NewCall(token, getThing)} {
			fmt.Fprintf(&log, verb, v)
		}
	}
	text, _ := token.MarshalText()
	fmt.Fprint(&log, token.String(), token.GoString(), string(text), token)
	if s := log.String(); strings.Contains(s, "MARKED") || strings.Contains(s, fmt.Sprintf("%x", "MARKED")) {
		t.Errorf("the token was printed: %s", s)
	}
}

func TestTokenKey(t *testing.T) {
	a, _ := NewToken("first-token")
	b, _ := NewToken("first-token")
	c, _ := NewToken("second-token")
	if a.Key() != b.Key() || a.Key() == c.Key() || a.Key() == (Token{}).Key() {
		t.Error("Key must tell tokens apart and nothing else")
	}
}

func TestMask(t *testing.T) {
	token := newToken(t)
	jsonEscaped := strings.NewReplacer("/", `\/`, "+", `\u002b`, "=", `\u003D`).Replace(marked)
	all := ""
	for i := range len(marked) {
		all += fmt.Sprintf(`\u%04x`, marked[i])
	}
	for in, want := range map[string]string{
		"":                                      "",
		"nothing here":                          "nothing here",
		"a " + marked + " b ":                   "a [redacted] b ",
		marked + marked:                         "[redacted][redacted]",
		"x" + jsonEscaped + `\n` + marked + "y": `x[redacted]\n[redacted]y`,
		all:                                     "[redacted]",
		url.QueryEscape(marked):                 "[redacted]",
		"/a~1" + strings.ReplaceAll(marked, "/", "~1") + "/b~0": "/a~1[redacted]/b~0",
		strings.ToLower(url.QueryEscape("/+=")) + ` \/ %2f%`:    "%2f%2b%3d \\/ %2f%",
		marked[1:]:            marked[1:],
		`%2F` + marked[:10]:   `%2F` + marked[:10],
		`\u00` + marked + `\`: `\u00[redacted]\`,
	} {
		if got := string(token.Mask([]byte(in))); got != want {
			t.Errorf("Mask(%q) = %q, want %q", in, got, want)
		}
	}
	absent := []byte(`{"path":"a\/b","note":"100%2F and \u003c \"quoted\" \\ ` + base64.StdEncoding.EncodeToString(make([]byte, 99)) + `"}`)
	if got := token.Mask(absent); &got[0] != &absent[0] {
		t.Error("Mask must return b itself when there is nothing to mask")
	}
	if got := (Token{}).Mask(absent); &got[0] != &absent[0] {
		t.Error("a zero token masks nothing")
	}
	odd, _ := NewToken(`a%41"\b-long`)
	for _, in := range []string{`a%41"\b-long`, `a%41\"\\b-long`, `\u0061%2541\"\\b-long`} {
		if got := string(odd.Mask([]byte("<" + in + ">"))); got != "<[redacted]>" {
			t.Errorf("Mask(%q) = %q", in, got)
		}
	}
}

func BenchmarkMaskAbsent(b *testing.B) {
	token, _ := NewToken("viat_pat_0123456789abcdefghijklmnop")
	body := bytes.Repeat([]byte(`{"id":"8f38e72e-4e77-4f9d","name":"mcp_queue","note":"a \"quoted\" text\n"},`), 16<<10/78)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		token.Mask(body)
	}
}
