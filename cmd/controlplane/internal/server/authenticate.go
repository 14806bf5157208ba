package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/problem"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/store"
)

type callerKey struct{}

// caller is the token of the request; authenticate put it there.
func caller(ctx context.Context) store.Token {
	token, _ := ctx.Value(callerKey{}).(store.Token)
	return token
}

// authenticate passes on requests with a PAT that is good.
func authenticate(s *store.Store, fail failure, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, err := identify(r.Context(), s, r.Header.Values("Authorization"))
		if err != nil {
			fail(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, token)))
	})
}

func identify(ctx context.Context, s *store.Store, headers []string) (store.Token, error) {
	if len(headers) != 1 {
		return store.Token{}, problem.New(problem.TokenMissing, "send one header `Authorization: Bearer <personal access token>`")
	}
	scheme, pat, _ := strings.Cut(headers[0], " ")
	if pat = strings.TrimSpace(pat); !strings.EqualFold(scheme, "Bearer") || pat == "" {
		return store.Token{}, problem.New(problem.TokenMissing, "the Authorization header holds no bearer token")
	}
	token, err := s.TokenOf(ctx, pat)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return token, problem.New(problem.TokenUnknown, "this token does not exist")
	case err != nil:
		return token, err
	case token.RevokedAt != nil:
		return token, problem.New(problem.TokenRevoked, "this token was revoked")
	case token.ExpiresAt != nil && store.Past(*token.ExpiresAt, time.Now()):
		return token, problem.New(problem.TokenExpired, "this token has expired")
	}
	return token, nil
}
