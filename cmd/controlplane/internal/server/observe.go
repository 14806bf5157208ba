package server

import (
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/problem"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/store"
)

// observe gives each request its id, logs one line about it and turns a panic
// into a problem. Neither headers nor the query are logged.
func observe(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		id := store.NewID("req")
		w.Header().Set("X-Request-Id", id)
		seen := &recorder{ResponseWriter: w}
		defer func() {
			if p := recover(); p != nil {
				if p == any(http.ErrAbortHandler) {
					panic(p)
				}
				log.ErrorContext(r.Context(), "panic", "request_id", id, "panic", p, "stack", string(debug.Stack()))
				if seen.status != 0 {
					panic(http.ErrAbortHandler) // half an answer must not look whole
				}
				problem.Write(seen, problem.From(nil))
			}
			log.InfoContext(r.Context(), "request", "request_id", id, "method", r.Method, "path", r.URL.EscapedPath(),
				"status", seen.status, "duration", time.Since(began))
		}()
		next.ServeHTTP(seen, r)
	})
}

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

// routed passes on what mux has a route for. The rest would get plain text from
// it, or for a path such as /v1/a/../b a redirect to another operation.
func routed(mux *http.ServeMux, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if escaped := r.URL.EscapedPath(); path.Clean(escaped) != strings.TrimSuffix(escaped, "/") && escaped != "/" {
			problem.Write(w, problem.New(problem.RouteNotFound, "no operation has this path"))
			return
		}
		handler, pattern := mux.Handler(r)
		if pattern != "" {
			next.ServeHTTP(w, r)
			return
		}
		probe := &discard{header: http.Header{}}
		handler.ServeHTTP(probe, r)
		if allow := probe.header.Get("Allow"); allow != "" {
			w.Header().Set("Allow", allow)
			problem.Write(w, problem.New(problem.MethodNotAllowed, "this path answers "+allow))
			return
		}
		problem.Write(w, problem.New(problem.RouteNotFound, "no operation has this path"))
	})
}

// discard hears what the mux would have answered, for its Allow header.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}
