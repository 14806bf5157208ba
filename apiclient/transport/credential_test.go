package transport

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "github.com/postern-mcp/postern/errors"
)

func TestTheCredentialStandsWhereTheOperationWantsIt(t *testing.T) {
	t.Parallel()
	seen := make(chan *http.Request, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r }))
	defer server.Close()
	up := newUpstream(t, server.URL)
	for _, c := range []struct {
		name string
		auth Auth
		got  func(*http.Request) string
		want string
	}{
		{"bearer", Auth{}, func(r *http.Request) string { return r.Header.Get("Authorization") }, "Bearer " + marked},
		{"basic", Auth{Kind: AuthBasic}, func(r *http.Request) string { return r.Header.Get("Authorization") }, "Basic " + marked},
		{"header", Auth{AuthHeader, "X-API-Key"}, func(r *http.Request) string { return r.Header.Get("X-Api-Key") }, marked},
		{"query", Auth{AuthQuery, "api key"}, func(r *http.Request) string { return r.URL.Query().Get("api key") }, marked},
		{"cookie", Auth{AuthCookie, "session"}, func(r *http.Request) string { return r.Header.Get("Cookie") }, "session=" + marked},
		{"none", Auth{Kind: AuthNone}, func(r *http.Request) string { return r.Header.Get("Authorization") + r.URL.RawQuery }, "a=1"},
	} {
		credential := newToken(t)
		if c.auth.Kind == AuthBasic {
			var err error
			if credential, err = NewBasic(marked); err != nil {
				t.Fatal(err)
			}
		}
		op := &Operation{ID: "get", Method: "GET", Path: "/things", Auth: c.auth}
		if err := ask(t, up, credential, op, "/things?a=1"); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		r := <-seen
		if got := c.got(r); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if r.URL.Query().Get("a") != "1" {
			t.Errorf("%s: the query was lost: %s", c.name, r.URL)
		}
	}
}

// ask sends one request with a credential.
func ask(t *testing.T, up *Upstream, credential Token, op *Operation, path string) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), op.Method, up.BaseURL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := up.NewCall(credential, op).Do(req)
	if err == nil {
		resp.Body.Close()
	}
	return err
}

// A credential is sent as what it is, in the first way that the operation has for it.
func TestACredentialIsNeverSentAsAnother(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("Authorization") + r.Header.Get("X-Key")
	}))
	defer server.Close()
	up := newUpstream(t, server.URL)
	pair := base64.StdEncoding.EncodeToString([]byte("user:pass-word"))
	token := newToken(t)
	basic, err := NewBasic(pair)
	if err != nil {
		t.Fatal(err)
	}
	both, err := token.WithBasic(pair)
	if err != nil {
		t.Fatal(err)
	}
	key, userPass := Auth{AuthHeader, "X-Key"}, Auth{Kind: AuthBasic}
	for name, c := range map[string]struct {
		credential Token
		op         Operation
		want       string // "" is unauthorized
	}{
		"pair for bearer":        {basic, Operation{}, ""},
		"token for basic":        {token, Operation{Auth: userPass}, ""},
		"both for bearer":        {both, Operation{}, "Bearer " + marked},
		"both for basic":         {both, Operation{Auth: userPass}, "Basic " + pair},
		"token, basic or key":    {token, Operation{Auth: userPass, OtherAuth: []Auth{key}}, marked},
		"pair, basic or key":     {basic, Operation{Auth: userPass, OtherAuth: []Auth{key}}, "Basic " + pair},
		"pair, bearer or basic":  {basic, Operation{OtherAuth: []Auth{userPass}}, "Basic " + pair},
		"both, the first counts": {both, Operation{Auth: key, OtherAuth: []Auth{userPass}}, marked},
		"none, optional":         {Token{}, Operation{AuthOptional: true}, "-"},
		"another, optional":      {basic, Operation{AuthOptional: true}, "-"},
		"token, optional":        {token, Operation{AuthOptional: true}, "Bearer " + marked},
		"none":                   {Token{}, Operation{}, ""},
	} {
		c.op.ID, c.op.Method, c.op.Path = "get", "GET", "/things"
		err := ask(t, up, c.credential, &c.op, "/things")
		if c.want == "" {
			if apierrors.CodeOf(err) != apierrors.Unauthorized {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := <-seen; got != strings.Trim(c.want, "-") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	for _, secret := range []string{marked, pair, "pass-word"} {
		if got := string(both.Mask([]byte("x" + secret + "y"))); got != "x[redacted]y" {
			t.Errorf("%s", got)
		}
	}
}

func TestOnlyAnOperationWithoutCredentialNeedsNoToken(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	up := newUpstream(t, server.URL)
	for kind := AuthBearer; kind <= AuthNone; kind++ {
		op := &Operation{ID: "get", Method: "GET", Path: "/things", Auth: Auth{kind, "x"}}
		req, err := http.NewRequestWithContext(t.Context(), "GET", up.BaseURL()+"/things", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := up.NewCall(Token{}, op).Do(req)
		if err == nil {
			resp.Body.Close()
		}
		if code := apierrors.CodeOf(err); (kind == AuthNone) != (err == nil) || err != nil && code != apierrors.Unauthorized {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
}

func TestCookieParametersPassOnlyWhereTheyAreDeclared(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header.Get("Cookie") }))
	defer server.Close()
	up := newUpstream(t, server.URL)
	for _, declared := range []bool{false, true} {
		op := &Operation{ID: "get", Method: "GET", Path: "/things", Cookies: declared, Auth: Auth{AuthCookie, "key"}}
		req, err := http.NewRequestWithContext(t.Context(), "GET", up.BaseURL()+"/things", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Cookie", "a=1")
		resp, err := up.NewCall(newToken(t), op).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		want := "key=" + marked
		if declared {
			want = "a=1; " + want
		}
		if got := <-seen; got != want {
			t.Errorf("declared %v: %q, want %q", declared, got, want)
		}
	}
}
