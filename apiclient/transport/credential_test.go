package transport

import (
	"net/http"
	"net/http/httptest"
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
		op := &Operation{ID: "get", Method: "GET", Path: "/things", Auth: c.auth}
		if _, err := do(t.Context(), t, up, op, "/things?a=1", ""); err != nil {
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
