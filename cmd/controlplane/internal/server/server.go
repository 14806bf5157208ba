// Package server answers the control plane's REST API.
//
//	request id, log, panics ─▶ route ─▶ PAT ─▶ authorize ─▶ operation ─▶ store
//	                             │        │         │            │
//	                             └────────┴─── problem+json ─────┘
//
// A request is judged in that order and nothing of it is read before its sender
// is authorized: authorize.go holds what each operation asks for, the other
// files one group of operations each.
package server

import (
	"io"
	"log/slog"
	"net/http"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/api"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/problem"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/store"
)

// maxBody bounds every request body; a message is bounded further.
const maxBody = 1 << 20

// operations implements the generated interface.
type operations struct {
	store *store.Store
	// wake tells the consumer that there may be something to consume.
	wake func()
}

// New returns the handler of the whole API: /v1 and /healthz. wake is called
// whenever messages or triggers changed.
func New(s *store.Store, wake func(), log *slog.Logger) http.Handler {
	strict := api.NewStrictHandlerWithOptions(
		&operations{store: s, wake: wake},
		[]api.StrictMiddlewareFunc{authorize(s)},
		api.StrictHTTPServerOptions{RequestErrorHandlerFunc: malformed, ResponseErrorHandlerFunc: fail(log)},
	)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", health)
	api.HandlerWithOptions(strict, api.StdHTTPServerOptions{
		BaseURL: "/v1", BaseRouter: mux, ErrorHandlerFunc: malformed,
	})
	return observe(log, bounded(routed(mux, guarded(mux, authenticate(s, fail(log), mux)))))
}

// guarded leaves nothing but the health check open.
func guarded(open, closed http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			open.ServeHTTP(w, r)
			return
		}
		closed.ServeHTTP(w, r)
	})
}

func health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"status":"ok"}`) // nobody is left to tell when the client is gone
}

func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

// malformed answers for the generated binding, which the overlay leaves nothing
// to refuse but parameters that are given twice.
func malformed(w http.ResponseWriter, _ *http.Request, _ error) {
	problem.Write(w, problem.New(problem.MalformedRequest, "a parameter could not be read"))
}

// failure writes the problem that err is or, for a defect, logs it and writes
// internal.
type failure func(w http.ResponseWriter, r *http.Request, err error)

func fail(log *slog.Logger) failure {
	return func(w http.ResponseWriter, r *http.Request, err error) {
		p := problem.From(err)
		if p.Code == problem.Internal {
			log.ErrorContext(r.Context(), "request failed", "request_id", w.Header().Get("X-Request-Id"), "error", err)
		}
		problem.Write(w, p)
	}
}
