package transport

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMatch(t *testing.T) {
	const two = "/projects/{project}/queue-triggers/{name}"
	for _, tc := range []struct {
		template, path string
		want           bool
	}{
		{two, "/projects/p/queue-triggers/n", true},
		{two, "/projects/p/queue-triggers/folder%2Fname", true},
		{two, "/projects/p/queue-triggers/%2Fabsolute%2F%2Fname%2F", true},
		{two, "/projects/p/queue-triggers/a..b", true},
		{two, "/projects/p/queue-triggers/...", true},
		{two, "/projects/p/queue-triggers/.hidden", true},
		{two, "/projects/p/queue-triggers/100%25", true},
		{two, "/projects/p/queue-triggers/50%25c0ffee", true},
		{two, "/projects/p/queue-triggers/%C3%A9%20x", true},
		{two, "/projects/p/queue-triggers/a%3Fb%23c", true},
		{two, "/projects/p/queue-triggers/", false},
		{two, "/projects//queue-triggers/n", false},
		{two, "/projects/p/queue-triggers", false},
		{two, "/projects/p/queue-triggers/n/", false},
		{two, "/projects/p/queue-triggers/n/fires", false},
		{two, "/projects/p/other/n", false},
		{two, "/Projects/p/queue-triggers/n", false},
		{two, "projects/p/queue-triggers/n", false},
		{two, "/projects/p/queue-triggers/..", false},
		{two, "/projects/./queue-triggers/n", false},
		{two, "/projects/p/queue-triggers/%2e%2E", false},
		{two, "/projects/p/queue-triggers/%252e%252e", false},
		{two, "/projects/p/queue-triggers/%25252525252e", false},
		{two, "/projects/p/queue-triggers/a%2F..%2Fb", false},
		{two, "/projects/p/queue-triggers/a%252f..%252fb", false},
		{two, "/projects/p/queue-triggers/..%5Cb", false},
		{two, "/projects/p/queue-triggers/a%5c%2e%2e", false},
		{two, "/projects/p/queue-triggers/..;x=1", false},
		{two, "/projects/p/queue-triggers/%2F", false},
		{two, "/projects/p/queue-triggers/a%0d%0aX:1", false},
		{two, "/projects/p/queue-triggers/a%250ab", false},
		{two, "/projects/p/queue-triggers/a%00", false},
		{two, "/projects/p/queue-triggers/%7F", false},
		{two, "/projects/p/queue-triggers/%c0%ae%c0%ae", false},
		{two, "/projects/p/queue-triggers/%" + strings.Repeat("25", 20) + "41", false},
		{"/c/{sha}.{type}", "/c/abc.diff", true},
		{"/c/{sha}.{type}", "/c/a.b.c", true},
		{"/c/{sha}.{type}", "/c/.diff", false},
		{"/c/{sha}.{type}", "/c/abc.", false},
		{"/c/{sha}.{type}", "/c/abc", false},
		{"/c/{sha}.{type}", "/c/..diff", false},
		{"/c/{sha}.{type}", "/c/...", false},
		{"/c/{name}:start", "/c/vm:start", true},
		{"/c/{name}:start", "/c/a:start:start", true},
		{"/c/{name}:start", "/c/vm", false},
		{"/c/{name}:start", "/c/:start", false},
		{"/c/{name}:start", "/c/a%2F..:start", false},
		{"/c/{name}:start", "/c/vm:start%2F..", false},
		{"/c/.{x}", "/c/..", false},
		{"/c/.{x}", "/c/.well", true},
		{"/c/{a}{b}", "/c/..", false},
		{"/c/{a}F", "/c/x%2F", false},
		{"/c/{a}2{b}", "/c/x%2Fy", false},
		{"/c/{a}2{b}", "/c/x%2F2y", true},
		{"/a b/ü/{x}", "/a%20b/%c3%bc/1", true},
		{"/Users('{id}')", "/Users('7')", true},
		{"/things/", "/things/", true},
		{"/things/", "/things", false},
		{"/", "/", true},
		{"", "", true},
	} {
		if m, got := match(tc.template, tc.path); got != tc.want {
			t.Errorf("match(%q, %q) = %v (%v), want %v", tc.template, tc.path, got, m, tc.want)
		}
	}
	if m, _ := match(two, "/projects/p/queue-triggers/.."); m.param != "name" {
		t.Errorf("the refusal names %q, want name", m.param)
	}
	if n := testing.AllocsPerRun(100, func() { match(two, "/projects/mcp-lab/queue-triggers/mcp_queue") }); n != 0 {
		t.Errorf("match allocates %v times", n)
	}
}

var templates = []string{
	"/projects/{project}/queue-triggers/{name}",
	"/projects/{project}",
	"/projects/{project}/queue-triggers",
	"/c/{sha}.{type}",
	"/c/{name}:start",
	"/c/{name}:start/x",
	"/.{x}",
}

func FuzzMatch(f *testing.F) {
	for _, seed := range []string{"/projects/p/queue-triggers/a%2Fb", "/projects/..%2f../queue-triggers/x", "/c/a.b", "/c/%2e%2e:start", "/.%2E", "/projects/%25%32%65/queue-triggers/%5c.."} {
		f.Add(0, seed)
		f.Add(3, seed)
		f.Add(6, seed)
	}
	f.Fuzz(func(t *testing.T, which int, escaped string) {
		template := templates[uint(which)%uint(len(templates))]
		u, err := url.ParseRequestURI(escaped)
		if err != nil || u.Opaque != "" || u.Host != "" {
			return
		}
		if _, ok := match(template, u.EscapedPath()); ok {
			staysInPlace(t, template, u.EscapedPath())
		}
	})
}

// fataler is what *testing.T and *rapid.T share.
type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

// staysInPlace decodes an accepted path as the laziest server might, over and
// over, and checks that cleaning it never removes a part that has a name.
func staysInPlace(t fataler, template, escaped string) {
	t.Helper()
	if strings.Count(escaped, "/") != strings.Count(template, "/") {
		t.Fatalf("%q: %q has another number of segments", template, escaped)
	}
	literal, _, _ := strings.Cut(template, "{")
	for decoded := escaped; ; {
		slashed := strings.ReplaceAll(decoded, `\`, "/")
		if strings.ContainsFunc(decoded, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Fatalf("%q: %q decodes to control characters in %q", template, escaped, decoded)
		}
		cleaned := path.Clean(slashed)
		if !strings.HasPrefix(cleaned, literal) || names(cleaned) != names(slashed) || names(cleaned) < names(template) {
			t.Fatalf("%q: %q decodes to %q and cleans to %q", template, escaped, decoded, cleaned)
		}
		next := make([]byte, len(decoded))
		copy(next, decoded)
		next = next[:decode(next)]
		if string(next) == decoded {
			return
		}
		decoded = string(next)
	}
}

func names(p string) (n int) {
	for part := range strings.SplitSeq(p, "/") {
		if part != "" {
			n++
		}
	}
	return n
}

var pieces = rapid.SliceOfN(rapid.SampledFrom([]string{
	".", "..", "/", `\`, "%", "%2e", "%2F", "%5c", "%25", "25", "2e", "2f", ";", ":start", "a", "name", "\r", "\n", "\x00", "é", "\xff", "%c0%ae", "?", "#", " ", "queue-triggers", "//", "fires",
}), 0, 6)

// TestAcceptedURLsStay tries values as a careful client escapes them and raw,
// resolved against the base URL as a generated client does.
func TestAcceptedURLsStay(t *testing.T) {
	up := newUpstream(t, "http://127.0.0.1:1")
	mux := http.NewServeMux()
	for _, pattern := range []string{"/v1/projects/{project}/queue-triggers/{name}", "/v1/projects/{project}/queue-triggers/{name}/fires", "/v1/projects/{project}/queue-triggers", "/v1/projects/{project}", "/"} {
		mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
	}
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		template := rapid.SampledFrom(templates).Draw(t, "template")
		filled := ""
		for rest, more := template, true; more; {
			var literal, param string
			literal, rest, more = strings.Cut(rest, "{")
			filled += literal
			if !more {
				break
			}
			param, rest, _ = strings.Cut(rest, "}")
			value := strings.Join(pieces.Draw(t, param), "")
			if rapid.Bool().Draw(t, "escaped") {
				value = url.PathEscape(value)
			}
			filled += value
		}
		server, err := url.Parse(up.BaseURL() + "/")
		if err != nil {
			t.Fatal(err)
		}
		u, err := server.Parse("." + filled)
		if err != nil || up.checkURL(&Operation{Path: template}, u) != nil {
			return
		}
		accepted++
		req, err := http.NewRequest("GET", u.String(), nil)
		if err != nil {
			t.Fatalf("an accepted URL cannot be parsed: %v", err)
		}
		staysInPlace(t, "/v1"+template, req.URL.EscapedPath())
		if !strings.HasPrefix(template, "/projects") {
			return
		}
		if _, pattern := mux.Handler(req); pattern != "/v1"+template {
			t.Fatalf("%s reaches %q, want /v1%s", u, pattern, template)
		}
	})
	if accepted == 0 {
		t.Error("nothing was accepted: the test tests nothing")
	}
}

func TestCheckURL(t *testing.T) {
	up := newUpstream(t, "https://api.example.com:8443")
	for raw, want := range map[string]string{
		"https://api.example.com:8443/v1/things/1":         "",
		"https://api.example.com:8443/v1/things/1?q=a%0ab": "",
		"http://api.example.com:8443/v1/things/1":          "internal",
		"https://api.example.com/v1/things/1":              "internal",
		"https://api.example.com.evil:8443/v1/things/1":    "internal",
		"https://user@api.example.com:8443/v1/things/1":    "internal",
		"https://api.example.com:8443/v2/things/1":         "internal",
		"https://api.example.com:8443/v1things/1":          "invalid_arguments",
		"https://api.example.com:8443/v1/things/1#f":       "invalid_arguments",
		"https://api.example.com:8443/v1/things/..":        "invalid_arguments",
		"https://api.example.com:8443/v1/things/1?a=b c":   "invalid_arguments",
		"https://api.example.com:8443/v1/../v1/things/1":   "invalid_arguments",
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := up.checkURL(getThing, u); err != nil {
			got = strings.SplitN(err.Error(), ":", 2)[0]
		}
		if got != want {
			t.Errorf("checkURL(%s) = %q, want %q", raw, got, want)
		}
	}
}

func TestNewRefusesBase(t *testing.T) {
	for _, raw := range []string{"ftp://h", "http:///x", "http://u:SECRET@h", "http://h?x=SECRET", "http://h#f", "http://h/a/../b", "http://h/%2e%2e", "h:80", "mailto:a@b"} {
		base, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New(Config{BaseURL: base}); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("New(%s) = %v", raw, err)
		}
	}
	if _, err := New(Config{}); err == nil {
		t.Error("New without a base URL succeeded")
	}
	server := httptest.NewServer(nil)
	defer server.Close()
	for _, path := range []string{"", "/", "/v1", "/v1/", "/a%2Fb/"} {
		base, _ := url.Parse(server.URL + path)
		up, err := New(Config{BaseURL: base})
		if err != nil || up.BaseURL() != server.URL+strings.TrimRight(path, "/") {
			t.Errorf("New(%q) = %v, %v", path, up, err)
		}
	}
}
