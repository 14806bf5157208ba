package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/api"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/problem"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/store"
)

// rule is what an operation asks of its caller, beside a good token.
type rule struct {
	scope string // none if empty
	// editor operations refuse a Viewer.
	editor bool
}

// rules is the whole authorization of the API. An operation that is not listed
// is refused.
var rules = map[string]rule{
	"ListProjects":              {scope: "projects:read"},
	"ReadIdentity":              {},
	"ListQueueTriggers":         {scope: "queue_triggers:read"},
	"ReadQueueTrigger":          {scope: "queue_triggers:read"},
	"CreateQueueTrigger":        {scope: "queue_triggers:write", editor: true},
	"UpdateQueueTrigger":        {scope: "queue_triggers:write", editor: true},
	"DeleteQueueTrigger":        {scope: "queue_triggers:write", editor: true},
	"ReadQueueTriggerFires":     {scope: "queue_triggers:read", editor: true},
	"PublishQueueMessage":       {scope: "queues:publish", editor: true},
	"ReadExecution":             {scope: "executions:read"},
	"ReadLogs":                  {scope: "logs:read"},
	"ListDispatchedTriggers":    {scope: "triggers:read"},
	"InspectDispatchedTrigger":  {scope: "triggers:read"},
	"CompleteDispatchedTrigger": {scope: "triggers:write", editor: true},
	"ReverseDispatchedTrigger":  {scope: "triggers:write", editor: true},
}

// authorize checks, in this order, the token's scope, its confinement, the
// owner's membership, the project's activation and the owner's role. Only what
// passes reaches an operation, so a 404 of an operation is never heard by
// somebody who may not ask.
func authorize(s *store.Store) api.StrictMiddlewareFunc {
	return func(next api.StrictHandlerFunc, operation string) api.StrictHandlerFunc {
		return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
			rule, listed := rules[operation]
			if !listed {
				return nil, fmt.Errorf("operation %s has no rule", operation)
			}
			token := caller(ctx)
			if rule.scope != "" && !slices.Contains(token.Scopes, rule.scope) {
				return nil, problem.New(problem.ScopeMissing, "the token lacks the scope "+rule.scope)
			}
			var err error
			if project := r.PathValue("project"); project != "" {
				err = enter(ctx, s, token, project, rule)
			} else if trigger := r.PathValue("trigger_id"); trigger != "" {
				err = enterByTrigger(ctx, s, token, trigger, rule)
			}
			if err != nil {
				return nil, err
			}
			return next(ctx, w, r, request)
		}
	}
}

func enter(ctx context.Context, s *store.Store, token store.Token, project string, rule rule) error {
	if token.ConfinedTo != nil && *token.ConfinedTo != project {
		return problem.New(problem.ProjectConfined, "the token is confined to another project")
	}
	member, err := s.Membership(ctx, token.UserID, project)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return problem.New(problem.ProjectNotFound, "the project does not exist or the token's owner is not a member of it")
	case err != nil:
		return err
	case !member.Activated:
		return problem.New(problem.NotActivated, "the project is not activated")
	case rule.editor && member.Role == api.Viewer:
		return problem.New(problem.RoleInsufficient, "this needs the role Owner, Admin or Developer")
	}
	return nil
}

// enterByTrigger enters the project of a dispatched trigger. The caller did not
// name that project, so a trigger of one it cannot see does not exist for it.
func enterByTrigger(ctx context.Context, s *store.Store, token store.Token, trigger string, rule rule) error {
	unseen := problem.New(problem.TriggerNotFound, "the trigger does not exist or the token cannot see it")
	project, err := s.ProjectOf(ctx, trigger)
	if errors.Is(err, store.ErrNotFound) {
		return unseen
	}
	if err == nil {
		err = enter(ctx, s, token, project, rule)
	}
	var p *problem.Problem
	if errors.As(err, &p) && (p.Code == problem.ProjectConfined || p.Code == problem.ProjectNotFound) {
		return unseen
	}
	return err
}
