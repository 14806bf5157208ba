package server

import (
	"context"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/api"
)

func (o *operations) ListProjects(ctx context.Context, _ api.ListProjectsRequestObject) (api.ListProjectsResponseObject, error) {
	token := caller(ctx)
	projects, err := o.store.Projects(ctx, token.UserID, token.ConfinedTo)
	return ok(projects), err
}

func (o *operations) ReadIdentity(ctx context.Context, _ api.ReadIdentityRequestObject) (api.ReadIdentityResponseObject, error) {
	token := caller(ctx)
	projects, err := o.store.Projects(ctx, token.UserID, token.ConfinedTo)
	if err != nil {
		return nil, err
	}
	var id api.Identity
	id.User.Id, id.User.DisplayName = token.UserID, token.UserName
	id.Token.Id, id.Token.Name, id.Token.Scopes = token.ID, token.Name, token.Scopes
	id.Token.ConfinedTo, id.Token.ExpiresAt = token.ConfinedTo, token.ExpiresAt
	id.Projects = make([]struct {
		Role api.Role `json:"role"`
		Slug string   `json:"slug"`
	}, len(projects))
	for i, p := range projects {
		id.Projects[i].Role, id.Projects[i].Slug = p.Role, p.Slug
	}
	return ok(id), nil
}
