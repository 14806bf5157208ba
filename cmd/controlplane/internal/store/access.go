package store

import (
	"context"
	"crypto/sha256"
	"strings"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/api"
)

// Token is what is known of a PAT besides its value.
type Token struct {
	ID         string
	Name       string
	UserID     string
	UserName   string
	Scopes     []string
	ConfinedTo *string
	ExpiresAt  *string
	RevokedAt  *string
}

// Membership is a user's place in a project.
type Membership struct {
	Role      api.Role
	Activated bool
}

func hash(pat string) []byte {
	sum := sha256.Sum256([]byte(pat))
	return sum[:]
}

// TokenOf finds the token whose value is pat, expired and revoked ones too.
func (s *Store) TokenOf(ctx context.Context, pat string) (Token, error) {
	var t Token
	var scopes string
	err := s.db.QueryRowContext(ctx, `
		SELECT t.id, t.name, u.id, u.display_name, t.scopes, t.confined_to, t.expires_at, t.revoked_at
		FROM tokens t JOIN users u ON u.id = t.user_id WHERE t.hash = ?`, hash(pat)).
		Scan(&t.ID, &t.Name, &t.UserID, &t.UserName, &scopes, &t.ConfinedTo, &t.ExpiresAt, &t.RevokedAt)
	t.Scopes = strings.Fields(scopes)
	if t.Scopes == nil {
		t.Scopes = []string{}
	}
	return t, found(err)
}

// Membership finds the user's role in a project.
func (s *Store) Membership(ctx context.Context, user, project string) (Membership, error) {
	var m Membership
	err := s.db.QueryRowContext(ctx, `
		SELECT m.role, p.activated FROM memberships m JOIN projects p ON p.slug = m.project
		WHERE m.user_id = ? AND m.project = ?`, user, project).Scan(&m.Role, &m.Activated)
	return m, found(err)
}

// Projects lists the projects a user is a member of, only the confining one if
// confined is not nil.
func (s *Store) Projects(ctx context.Context, user string, confined *string) ([]api.Project, error) {
	return collect(ctx, s.db, func(r row) (p api.Project, err error) {
		err = r.Scan(&p.Slug, &p.Name, &p.Role, &p.Activated, &p.CreatedAt)
		return p, err
	}, `
		SELECT p.slug, p.name, m.role, p.activated, p.created_at
		FROM memberships m JOIN projects p ON p.slug = m.project
		WHERE m.user_id = ?1 AND (?2 IS NULL OR p.slug = ?2) ORDER BY p.slug LIMIT 500`, user, confined)
}
