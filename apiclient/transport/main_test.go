package transport

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	apierrors "github.com/postern-mcp/postern/errors"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const marked = "viat_pat_MARKED/secret+value="

var getThing = &Operation{ID: "readThing", Method: "GET", Path: "/things/{id}", Headers: []string{"X-Wanted"}}

func newUpstream(t testing.TB, server string, change ...func(*Config)) *Upstream {
	t.Helper()
	base, err := url.Parse(server + "/v1/")
	if err != nil {
		t.Fatal(err)
	}
	conf := Config{BaseURL: base, UserAgent: "postern/test", Timeout: 5 * time.Second}
	for _, f := range change {
		f(&conf)
	}
	up, err := New(conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(up.Close)
	return up
}

func newToken(t testing.TB) Token {
	t.Helper()
	token, err := NewToken(marked)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// do sends one request of op, with the method that op has, to path below the base URL.
func do(ctx context.Context, t testing.TB, up *Upstream, op *Operation, path, body string) (Answer, *apierrors.Error) {
	t.Helper()
	var req *http.Request
	var err error
	if body == "" {
		req, err = http.NewRequestWithContext(ctx, op.Method, up.BaseURL()+path, nil)
	} else {
		req, err = http.NewRequestWithContext(ctx, op.Method, up.BaseURL()+path, strings.NewReader(body))
	}
	if err != nil {
		t.Fatal(err)
	}
	call := up.NewCall(newToken(t), op)
	resp, err := call.Do(req)
	if err == nil {
		if resp.StatusCode != call.Answer().Status {
			t.Errorf("response says %d, Answer %d", resp.StatusCode, call.Answer().Status)
		}
		return call.Answer(), nil
	}
	var e *apierrors.Error
	if !errors.As(err, &e) {
		t.Fatalf("Do returned %T, want *apierrors.Error", err)
	}
	if strings.Contains(string(e.Envelope())+e.Error(), "MARKED") {
		t.Errorf("the error shows the token: %s", e.Envelope())
	}
	if e.Delivery != call.Answer().Delivery || e.Attempts != call.Answer().Attempts {
		t.Errorf("error says %s/%d, Answer %s/%d", e.Delivery, e.Attempts, call.Answer().Delivery, call.Answer().Attempts)
	}
	return call.Answer(), e
}
