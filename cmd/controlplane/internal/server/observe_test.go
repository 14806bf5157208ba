package server

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/problem"
)

func TestPanicIsAProblemAndLogged(t *testing.T) {
	var lines bytes.Buffer
	handler := observe(slog.New(slog.NewTextHandler(&lines, nil)), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic("a secret reason")
	}))
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/v1/projects", nil))
	if w.Code != 500 || !strings.Contains(w.Body.String(), `"code":"internal"`) || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(lines.String(), "a secret reason") || !strings.Contains(lines.String(), w.Header().Get("X-Request-Id")) {
		t.Errorf("log: %s", lines.String())
	}
}

func TestHalfAnAnswerIsAborted(t *testing.T) {
	handler := observe(slog.New(slog.DiscardHandler), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(200)
		panic("late")
	}))
	defer func() {
		if p := recover(); p != any(http.ErrAbortHandler) {
			t.Errorf("panic %v, want http.ErrAbortHandler", p)
		}
	}()
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/v1/projects", nil))
}

func TestDefectSaysNothingOfItself(t *testing.T) {
	w := httptest.NewRecorder()
	fail(slog.New(slog.DiscardHandler))(w, httptest.NewRequest("GET", "/", nil), http.ErrBodyNotAllowed)
	if w.Code != 500 || strings.Contains(w.Body.String(), http.ErrBodyNotAllowed.Error()) || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if problem.From(http.ErrBodyNotAllowed).Code != problem.Internal {
		t.Error("a defect must be internal")
	}
}
