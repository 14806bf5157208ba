// Package seed fills a new database with the demo: three projects, users of the
// four roles, PATs, a queue trigger and dispatched triggers. Tokens is the one
// list of the PATs; what the demo prints and what the database knows come from
// it.
package seed

import (
	"context"
	"encoding/json"
	"time"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/api"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/store"
)

// The projects of the demo. DormantLab is not activated.
const (
	MCPLab     = "mcp-lab"
	OtherLab   = "other-lab"
	DormantLab = "dormant-lab"
)

const (
	owner     = "usr_01HX0OWNER"
	admin     = "usr_01HX0ADMIN"
	developer = "usr_01HX0DEVELOPER"
	viewer    = "usr_01HX0VIEWER"
)

const founded = "2026-05-02T08:00:00Z"

// Fill puts the demo into an empty store. Dispatched triggers that can still be
// completed expire weeks after now.
func Fill(ctx context.Context, s *store.Store, now time.Time) error {
	for _, step := range []func(context.Context, *store.Store, time.Time) error{people, tokens, queueTrigger, dispatched} {
		if err := step(ctx, s, now); err != nil {
			return err
		}
	}
	return nil
}

func people(ctx context.Context, s *store.Store, _ time.Time) error {
	for _, p := range []api.Project{
		{Slug: MCPLab, Name: "MCP lab", Activated: true, CreatedAt: founded},
		{Slug: OtherLab, Name: "Other lab", Activated: true, CreatedAt: founded},
		{Slug: DormantLab, Name: "Dormant lab", CreatedAt: founded},
	} {
		if err := s.AddProject(ctx, p); err != nil {
			return err
		}
	}
	for _, u := range []struct {
		id, name string
		role     api.Role
		projects []string
	}{
		{owner, "Olive Owner", api.Owner, []string{MCPLab, OtherLab, DormantLab}},
		{admin, "Ada Admin", api.Admin, []string{MCPLab}},
		{developer, "Dev Developer", api.Developer, []string{MCPLab}},
		{viewer, "Vic Viewer", api.Viewer, []string{MCPLab}},
	} {
		if err := s.AddUser(ctx, u.id, u.name); err != nil {
			return err
		}
		for _, project := range u.projects {
			if err := s.AddMember(ctx, u.id, project, u.role); err != nil {
				return err
			}
		}
	}
	return nil
}

func tokens(ctx context.Context, s *store.Store, now time.Time) error {
	yesterday := store.Stamp(now.Add(-24 * time.Hour))
	for _, t := range Tokens {
		row := store.Token{ID: t.id, Name: "demo " + t.Name, UserID: t.user, Scopes: t.scopes}
		if t.confinedTo != "" {
			row.ConfinedTo = &t.confinedTo
		}
		if t.expired {
			row.ExpiresAt = &yesterday
		}
		if t.revoked {
			row.RevokedAt = &yesterday
		}
		if err := s.AddToken(ctx, t.Value, row); err != nil {
			return err
		}
	}
	return nil
}

func queueTrigger(ctx context.Context, s *store.Store, _ time.Time) error {
	return s.CreateQueueTrigger(ctx, MCPLab, api.QueueTrigger{
		Id: "8f38e72e-4e77-4f9d-b0dc-58b99a0a3325", Name: "mcp_queue", Queue: "mcp-demo",
		Enabled: true, Prefetch: 10, MaxAttempts: 3, Args: json.RawMessage(`{}`),
		CreatedAt: founded, UpdatedAt: founded,
	})
}
