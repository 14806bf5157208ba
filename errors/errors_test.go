package errors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestCodes(t *testing.T) {
	codes := Codes()
	if len(codes) != 14 || codes[0] != ProjectRequired || codes[13] != Internal {
		t.Errorf("Codes() = %v", codes)
	}
	for _, c := range codes {
		if !strings.HasSuffix(c.Meaning(), ".") || strings.Contains(c.Meaning(), "|") {
			t.Errorf("%s: meaning %q does not fit a table", c, c.Meaning())
		}
	}
	for code, want := range map[Code][2]bool{
		NetworkError: {true, true}, Timeout: {true, true}, RateLimited: {true, true}, CircuitOpen: {true, true},
		Canceled: {false, true}, Internal: {false, true}, HTTP4xx: {false, false}, "other": {false, false},
	} {
		if retryable, fixed := code.Retryable(); [2]bool{retryable, fixed} != want {
			t.Errorf("%s: retryable %v, fixed %v", code, retryable, fixed)
		}
	}
	if Code("other").Meaning() != "" {
		t.Error("an unknown code has no meaning")
	}
}

func TestNew(t *testing.T) {
	for code, want := range map[Code]Delivery{
		ProjectRequired: NotSent, InvalidArguments: NotSent, Unauthorized: NotSent, RateLimited: NotSent, CircuitOpen: NotSent,
		NetworkError: Unknown, Timeout: Unknown, ResponseTooLarge: Answered, Internal: Unknown, "other": Unknown,
	} {
		if e := New(code, "m"); e.Delivery != want {
			t.Errorf("%s: delivery %s, want %s", code, e.Delivery, want)
		}
	}
	cause := os.ErrNotExist
	e := New(Internal, "read the thing").WithCause(cause)
	if !errors.Is(e, cause) || e.Error() != "internal: read the thing" {
		t.Errorf("got %v", e)
	}
	if got := CodeOf(fmt.Errorf("wrapped: %w", e)); got != Internal {
		t.Errorf("CodeOf = %s", got)
	}
	if CodeOf(nil) != "" || CodeOf(cause) != Internal || CodeOf(errors.Join(cause, New(Timeout, ""))) != Timeout {
		t.Error("CodeOf is wrong about nil, a foreign or a joined error")
	}
}

func TestEnvelope(t *testing.T) {
	full := &Error{
		Code: HTTP4xx, Status: 404, Reason: "not_found", Message: "no <trigger> & \xff", Retryable: false, Delivery: Answered,
		RetryAfterSeconds: 7, Attempts: 2, RequestID: "r1", Hint: "look", Pointer: "/name", Expected: "a name", Candidates: []string{"a"},
		Upstream: json.RawMessage(`{"b": 1.0, "a":1e400}`), cause: errors.New("hidden"),
	}
	for want, e := range map[string]*Error{
		`{"error":{"code":"http_4xx","status":404,"reason":"not_found","message":"no <trigger> & \ufffd","retryable":false,"delivery":"answered",` +
			`"retry_after_seconds":7,"attempts":2,"request_id":"r1","hint":"look","pointer":"/name","expected":"a name","candidates":["a"],"upstream":{"b":1.0,"a":1e400}}}`: full,
		`{"error":{"code":"timeout","message":"late","retryable":true,"delivery":"unknown"}}`: New(Timeout, "late"),
		`{"error":{"code":"internal","message":"m","retryable":false}}`:                       {Code: Internal, Message: "m", Upstream: json.RawMessage(`{"a":`)},
		`{"error":{"code":"internal","message":"n","retryable":false}}`:                       {Code: Internal, Message: "n", Upstream: json.RawMessage("\"\xff\"")},
	} {
		if got := string(e.Envelope()); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		asJSON, err := json.Marshal(e)
		if err != nil || !json.Valid(asJSON) {
			t.Errorf("json.Marshal: %s, %v", asJSON, err)
		}
	}
	var back struct{ Error Error }
	if err := json.Unmarshal(full.Envelope(), &back); err != nil || back.Error.Status != 404 || string(back.Error.Upstream) != `{"b":1.0,"a":1e400}` {
		t.Errorf("read back %+v, %v", back.Error, err)
	}
}

func TestStatuses(t *testing.T) {
	retry := []int{408, 425, 429}
	for status := 0; status <= 1000; status++ {
		e := FromResponse(Response{Status: status}, Mapping{})
		want := InvalidResponse
		switch {
		case 300 <= status && status < 400:
			want = HTTP3xx
		case 400 <= status && status < 500:
			want = HTTP4xx
		case 500 <= status && status < 600:
			want = HTTP5xx
		}
		if e.Code != want || e.Status != status || e.Message == "" || e.Reason == "" || e.Delivery != Answered {
			t.Errorf("%d: %s", status, e.Envelope())
		}
		if r := slices.Contains(retry, status) || want == HTTP5xx && status != 501 && status != 505; e.Retryable != r {
			t.Errorf("%d: retryable %v", status, e.Retryable)
		}
		if strings.Trim(e.Reason, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			t.Errorf("%d: reason %q", status, e.Reason)
		}
	}
	for status, want := range map[int]string{404: "not_found", 418: "im_a_teapot", 302: "found", 599: "http_599"} {
		if got := FromResponse(Response{Status: status}, Mapping{}).Reason; got != want {
			t.Errorf("%d: reason %q, want %q", status, got, want)
		}
	}
}

func TestMapping(t *testing.T) {
	m := Mapping{
		Codes: []StatusCode{{401, Unauthorized}, {422, InvalidArguments}, {503, RateLimited}},
		Hints: []StatusHint{{404, "list them first"}, {403, ""}},
	}
	for status, want := range map[int]struct {
		code  Code
		hint  string
		retry bool
	}{
		401: {Unauthorized, hints[401], false},
		422: {InvalidArguments, hints[422], false},
		503: {RateLimited, hints[503], true},
		404: {HTTP4xx, "list them first", false},
		403: {HTTP4xx, "", false},
		418: {HTTP4xx, "", false},
	} {
		e := FromResponse(Response{Status: status}, m)
		if e.Code != want.code || e.Hint != want.hint || e.Retryable != want.retry || e.Status != status {
			t.Errorf("%d: %s", status, e.Envelope())
		}
	}
	if e := FromResponse(Response{Status: 307}, Mapping{}); !strings.Contains(e.Hint, "never followed") {
		t.Errorf("307: hint %q", e.Hint)
	}
}

func TestMessage(t *testing.T) {
	for _, tc := range []struct{ media, body, want string }{
		{"", "", "404 not found"},
		{"application/json", " \n", "404 not found"},
		{"application/problem+json", `{"type":"about:blank","title":"Not Found","status":404,"detail":"no trigger x"}`, "no trigger x"},
		{"application/problem+json", "\ufeff" + `{"title":"Not Found"}`, "Not Found"},
		{"application/json", `{"error":"Not Found","message":"no such thing","statusCode":404}`, "no such thing"},
		{"application/json", `{"Message":"dotted"}`, "dotted"},
		{"application/json", `{"message":["a is empty","b is long"]}`, "a is empty; b is long"},
		{"application/json", `{"error":"nope"}`, "nope"},
		{"application/json", `{"error":{"code":5,"message":"inner"}}`, "inner"},
		{"application/json", `{"error":"invalid_token","error_description":"it expired"}`, "it expired"},
		{"application/json", `{"errors":["one","two"]}`, "one; two"},
		{"application/json", `{"errors":[{"message":"one"},{"detail":"two"},{"title":"three"},{}]}`, "one; two; three"},
		{"application/json", `{"errors":[1,null,"x"]}`, "x"},
		{"application/json", `{"detail":[{"loc":["body","items",0,"name"],"msg":"field required","type":"missing"}]}`, "body.items.0.name: field required"},
		{"application/json", `{"detail":null,"message":"","title":"left"}`, "left"},
		{"application/json", `"just text"`, "just text"},
		{"application/json", `["one"]`, "one"},
		{"application/json", `{"message":"a","message":"b"}`, "b"},
		{"application/json", `{"message":"\ud800 \u0000\u202e\r\nx <b>"}`, "\ufffd x <b>"},
		{"application/json", `{"message":1e400}`, "404 not found"},
		{"application/json", `{"message":"cut`, "404 not found"},
		{"application/json", `{}`, "404 not found"},
		{"application/json", `nope`, "nope"},
		{"text/plain; charset=utf-8", "first line \r\nsecond", "first line"},
		{"text/plain", "caf\xe9", "caf\ufffd"},
		{"", "plain", "plain"},
		{"", "\xff\xfe", "404 not found"},
		{"image/png", "\x89PNG", "404 not found"},
		{"text/html", "<!doctype html><title>secret page</title>", "404 not found (HTML page)"},
		{"application/json", "<html>", "404 not found (HTML page)"},
		{"application/xml", "<Error><Code>NoSuchKey</Code></Error>", "404 not found (XML document)"},
	} {
		got := FromResponse(Response{Status: 404, Header: http.Header{"Content-Type": {tc.media}}, Body: []byte(tc.body)}, Mapping{}).Message
		if got != tc.want {
			t.Errorf("%q %q:\ngot  %q\nwant %q", tc.media, tc.body, got, tc.want)
		}
	}
	long := FromResponse(Response{Status: 400, Body: []byte(`{"message":"` + strings.Repeat("é", 5000) + `"}`)}, Mapping{}).Message
	if n := utf8.RuneCountInString(long); n != maxText || !utf8.ValidString(long) {
		t.Errorf("a long message has %d characters", n)
	}
	if got := FromResponse(Response{Status: 302, Body: []byte("Found. Redirecting to https://h/?q=hidden")}, Mapping{}).Message; got != "302 found" {
		t.Errorf("a redirect says %q", got)
	}
}

func TestUpstream(t *testing.T) {
	for body, want := range map[string]string{
		"{ \"b\" : 1.0,\n\"a\":1e400, \"b\":9007199254740993, \"c\":null}": `{"b":1.0,"a":1e400,"b":9007199254740993,"c":null}`,
		`"text"`:           `"text"`,
		`{"a":`:            "",
		"nope":             "",
		"{\"a\":\"\xff\"}": "",
		`"` + strings.Repeat("x", maxUpstream) + `"`:                          "",
		strings.Repeat("[", maxNesting+1) + strings.Repeat("]", maxNesting+1): "",
		`"` + strings.Repeat("[", 500) + `\"["`:                               `"` + strings.Repeat("[", 500) + `\"["`,
	} {
		if got := string(FromResponse(Response{Status: 400, Body: []byte(body)}, Mapping{}).Upstream); got != want {
			t.Errorf("%.40q: got %.80q", body, got)
		}
	}
	if e := FromResponse(Response{Status: 400, Body: []byte(`1`), Truncated: true}, Mapping{}); e.Upstream != nil {
		t.Error("a truncated body is passed on")
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 7, 28, 12, 0, 0, 1, time.UTC)
	for value, want := range map[string]time.Duration{
		"0": 0, "7": 7 * time.Second, " 7 ": 7 * time.Second, "0007": 7 * time.Second,
		"86400": 24 * time.Hour, "86401": 24 * time.Hour, strings.Repeat("9", 300): 24 * time.Hour,
		"Tue, 28 Jul 2026 12:00:05 GMT": 5 * time.Second, "Tue Jul 28 12:00:05 2026": 5 * time.Second,
		"Tue, 28 Jul 2026 11:00:00 GMT": 0, "Fri, 31 Dec 9999 23:59:59 GMT": 24 * time.Hour,
		"": -1, "-1": -1, "1.5": -1, "soon": -1, "٣": -1,
	} {
		got, ok := RetryAfter(http.Header{"Retry-After": {value}}, now)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%.40q: %v, %v, want %v", value, got, ok, want)
		}
	}
	e := FromResponse(Response{Status: 403, Header: http.Header{"Retry-After": {"9"}, "X": {"hidden"}}}, Mapping{})
	if e.RetryAfterSeconds != 9 || bytes.Contains(e.Envelope(), []byte("hidden")) {
		t.Errorf("got %s", e.Envelope())
	}
}

// TestHostileBodies bounds what a body of the largest size can cost.
func TestHostileBodies(t *testing.T) {
	const n = 1 << 20
	for name, body := range map[string]string{
		"deep":         strings.Repeat(`{"error":`, n/9),
		"deep, closed": strings.Repeat("[", n/2) + strings.Repeat("]", n/2),
		"deep errors":  strings.Repeat(`{"errors":[`, 9000) + strings.Repeat("]}", 9000),
		"wide":         `{"errors":[` + strings.Repeat("1,", 120<<10) + "1]}",
		"keys":         "{" + strings.Repeat(`"message":"x",`, 18<<10) + `"a":1}`,
		"number":       `{"message":` + strings.Repeat("9", 200<<10) + "}",
		"nul":          strings.Repeat("\x00", n),
		"text":         strings.Repeat("x", n),
	} {
		start := time.Now()
		e := FromResponse(Response{Status: 500, Body: []byte(body)}, Mapping{})
		if took := time.Since(start); took > 500*time.Millisecond {
			t.Errorf("%s: took %v", name, took)
		}
		if env := e.Envelope(); !json.Valid(env) || len(env) > 16<<10 {
			t.Errorf("%s: %d bytes of envelope", name, len(env))
		}
	}
}

func FuzzFromResponse(f *testing.F) {
	for _, body := range []string{"", `{"detail":"x"}`, `{"errors":[{"message":"m"},"s"]}`, `{"detail":[{"loc":["body",0],"msg":"m"}]}`, "<html>", "\xff\x00", `{"a":1e400,"a":"\ud800"}`, "[[[["} {
		f.Add(404, "application/json", "7", []byte(body), false)
		f.Add(503, "", "Fri, 31 Dec 1999 23:59:59 GMT", []byte(body), true)
	}
	f.Fuzz(func(t *testing.T, status int, media, retryAfter string, body []byte, truncated bool) {
		header := http.Header{"Content-Type": {media}, "Retry-After": {retryAfter}, "Set-Cookie": {"hidden-header-value"}}
		e := FromResponse(Response{Status: status, Header: header, Body: body, Truncated: truncated}, Mapping{Codes: []StatusCode{{422, InvalidArguments}}})
		env := e.Envelope()
		if !json.Valid(env) || !utf8.Valid(env) || bytes.ContainsAny(env, "\n\r\x00") {
			t.Fatalf("bad envelope %q", env)
		}
		if !bytes.Equal(env, e.Envelope()) {
			t.Fatal("the envelope is not deterministic")
		}
		if e.Message == "" || utf8.RuneCountInString(e.Message) > maxText || len(e.Upstream) > maxUpstream {
			t.Fatalf("message of %d, upstream of %d bytes", len(e.Message), len(e.Upstream))
		}
		if e.RetryAfterSeconds < 0 || e.RetryAfterSeconds > 86400 {
			t.Fatalf("retry after %d", e.RetryAfterSeconds)
		}
		if !slices.Contains(Codes(), e.Code) {
			t.Fatalf("code %q", e.Code)
		}
		if bytes.Contains(env, []byte("hidden-header-value")) && !bytes.Contains(body, []byte("hidden-header-value")) {
			t.Fatal("a header leaked")
		}
	})
}
