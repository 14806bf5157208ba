package server

import (
	"context"
	"errors"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/api"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/problem"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/store"
)

// triggerProblem names what the store ran into.
func triggerProblem(err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return problem.New(problem.TriggerNotFound, "the trigger does not exist or the token cannot see it")
	case errors.Is(err, store.ErrCompleted):
		return problem.New(problem.TriggerAlreadyCompleted, "the trigger is already completed")
	case errors.Is(err, store.ErrReversed):
		return problem.New(problem.TriggerAlreadyReversed, "the trigger is already reversed")
	case errors.Is(err, store.ErrExpired):
		return problem.New(problem.TriggerExpired, "the trigger expired before it was completed")
	}
	return err
}

func (o *operations) ListDispatchedTriggers(ctx context.Context, r api.ListDispatchedTriggersRequestObject) (api.ListDispatchedTriggersResponseObject, error) {
	if err := oneOf("mode", r.Params.Mode, api.Act, api.NotifyAfter, api.Ask, api.Test); err != nil {
		return nil, err
	}
	if r.Params.ActionClass != nil {
		if detail := badLength(*r.Params.ActionClass, 0, 128); detail != "" {
			return nil, problem.Invalid(problem.Field{Pointer: "/action_class", Detail: detail})
		}
	}
	limit, err := clamp(r.Params.Limit, 50, 200)
	if err != nil {
		return nil, err
	}
	before, err := positionOf(r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	token := caller(ctx)
	page, next, err := o.store.DispatchedTriggers(ctx, store.Filter{
		User: token.UserID, ConfinedTo: token.ConfinedTo,
		Mode: r.Params.Mode, ActionClass: r.Params.ActionClass,
		Before: before, Limit: limit,
	})
	return ok(api.TriggerPage{Triggers: page, NextCursor: cursorAt(next)}), err
}

func (o *operations) InspectDispatchedTrigger(ctx context.Context, r api.InspectDispatchedTriggerRequestObject) (api.InspectDispatchedTriggerResponseObject, error) {
	detail, err := o.store.Inspect(ctx, r.TriggerId)
	return ok(detail), triggerProblem(err)
}

func (o *operations) CompleteDispatchedTrigger(ctx context.Context, r api.CompleteDispatchedTriggerRequestObject) (api.CompleteDispatchedTriggerResponseObject, error) {
	body, err := readObject(r.Body)
	if err != nil {
		return nil, err
	}
	outcome := api.CompletionOutcome(body.requiredText("outcome", 128))
	if outcome != "" && !outcome.Valid() {
		body.refuse("outcome", "must be one of executed approved rejected deferred")
	}
	c := api.Callback{Kind: api.Complete, Outcome: api.CallbackOutcome(outcome), ExternalRef: body.text("external_ref", 0, 255)}
	if err := body.done(); err != nil {
		return nil, err
	}
	record, err := o.store.Record(ctx, r.TriggerId, c, nil)
	return ok(record), triggerProblem(err)
}

func (o *operations) ReverseDispatchedTrigger(ctx context.Context, r api.ReverseDispatchedTriggerRequestObject) (api.ReverseDispatchedTriggerResponseObject, error) {
	body, err := readObject(r.Body)
	if err != nil {
		return nil, err
	}
	reason := body.requiredText("reason", 2000)
	c := api.Callback{Kind: api.Reverse, Outcome: api.CallbackOutcomeReversed, ExternalRef: body.text("external_ref", 0, 255)}
	if err := body.done(); err != nil {
		return nil, err
	}
	record, err := o.store.Record(ctx, r.TriggerId, c, &reason)
	return ok(record), triggerProblem(err)
}
