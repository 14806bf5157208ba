package transport

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkGet compares a call with what nobody can go below: http.Client and
// io.ReadAll over a pool of the same kind.
func BenchmarkGet(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10} {
		body := strings.Repeat("x", size)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			io.WriteString(w, body)
		}))
		defer server.Close()
		up := newUpstream(b, server.URL)
		token := newToken(b)
		url := up.BaseURL() + "/things/1"
		b.Run(fmt.Sprintf("%dKB/bare", size>>10), func(b *testing.B) {
			b.ReportAllocs()
			client := &http.Client{Transport: up.pool}
			for b.Loop() {
				req, _ := http.NewRequestWithContext(b.Context(), "GET", url, nil)
				req.Header.Set("Authorization", "Bearer "+marked)
				resp, err := client.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				data, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || len(data) != size {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("%dKB/call", size>>10), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				req, _ := http.NewRequestWithContext(b.Context(), "GET", url, nil)
				call := up.NewCall(token, getThing)
				if _, err := call.Do(req); err != nil {
					b.Fatal(err)
				}
				if len(call.Answer().Body) != size {
					b.Fatal("short")
				}
			}
		})
	}
}

// BenchmarkOverhead leaves the network out: what remains is ours and
// http.Client's.
func BenchmarkOverhead(b *testing.B) {
	answer := &http.Response{StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, ContentLength: 0, Body: http.NoBody}
	canned := func(req *http.Request) (*http.Response, error) {
		resp := *answer
		resp.Request = req
		return &resp, nil
	}
	up := newUpstream(b, "http://127.0.0.1:1")
	up.wire = roundTripper(canned)
	token := newToken(b)
	req, _ := http.NewRequest("GET", up.BaseURL()+"/things/1", nil)
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		client := &http.Client{Transport: up.wire}
		for b.Loop() {
			if _, err := client.Do(req); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("call", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := up.NewCall(token, getThing).Do(req); err != nil {
				b.Fatal(err)
			}
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
