package store

import (
	"context"
	"strings"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/api"
)

// Empty tells whether nothing was ever put into the database.
func (s *Store) Empty(ctx context.Context) (bool, error) {
	var n int
	err := s.db.QueryRowContext(ctx, `SELECT count(*) FROM projects`).Scan(&n)
	return n == 0, err
}

// AddUser adds a user.
func (s *Store) AddUser(ctx context.Context, id, displayName string) error {
	_, err := s.db.ExecContext(ctx, `INSERT INTO users VALUES (?, ?)`, id, displayName)
	return err
}

// AddProject adds a project; its Role is not looked at.
func (s *Store) AddProject(ctx context.Context, p api.Project) error {
	_, err := s.db.ExecContext(ctx, `INSERT INTO projects VALUES (?, ?, ?, ?)`, p.Slug, p.Name, p.Activated, p.CreatedAt)
	return err
}

// AddMember gives a user a role in a project.
func (s *Store) AddMember(ctx context.Context, user, project string, role api.Role) error {
	_, err := s.db.ExecContext(ctx, `INSERT INTO memberships VALUES (?, ?, ?)`, user, project, role)
	return err
}

// AddToken adds a token with the value pat, of which only the hash is kept.
func (s *Store) AddToken(ctx context.Context, pat string, t Token) error {
	_, err := s.db.ExecContext(ctx, `INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		t.ID, hash(pat), t.UserID, t.Name, strings.Join(t.Scopes, " "), t.ConfinedTo, t.ExpiresAt, t.RevokedAt)
	return err
}
