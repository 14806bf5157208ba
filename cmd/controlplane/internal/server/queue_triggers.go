package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"time"

	"github.com/google/uuid"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/api"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/problem"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/store"
)

var queueTriggerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)

// queueTriggerProblem names what the store ran into.
func queueTriggerProblem(err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return problem.New(problem.QueueTriggerNotFound, "the project has no queue trigger of this name")
	case errors.Is(err, store.ErrExists):
		return problem.New(problem.QueueTriggerExists, "the project already has a queue trigger of this name")
	}
	return err
}

func (o *operations) ListQueueTriggers(ctx context.Context, r api.ListQueueTriggersRequestObject) (api.ListQueueTriggersResponseObject, error) {
	triggers, err := o.store.QueueTriggers(ctx, r.Project)
	return ok(triggers), err
}

func (o *operations) ReadQueueTrigger(ctx context.Context, r api.ReadQueueTriggerRequestObject) (api.ReadQueueTriggerResponseObject, error) {
	trigger, err := o.store.QueueTrigger(ctx, r.Project, r.Name)
	return ok(trigger), queueTriggerProblem(err)
}

func (o *operations) CreateQueueTrigger(ctx context.Context, r api.CreateQueueTriggerRequestObject) (api.CreateQueueTriggerResponseObject, error) {
	now := store.Stamp(time.Now())
	trigger, err := newQueueTrigger(r, now)
	if err != nil {
		return nil, err
	}
	if err := o.store.CreateQueueTrigger(ctx, r.Project, trigger); err != nil {
		return nil, queueTriggerProblem(err)
	}
	o.wake()
	return reply{http.StatusCreated, trigger}, nil
}

// newQueueTrigger reads the body and fills in the defaults of the document.
func newQueueTrigger(r api.CreateQueueTriggerRequestObject, now string) (api.QueueTrigger, error) {
	body, err := readObject(r.Body)
	if err != nil {
		return api.QueueTrigger{}, err
	}
	t := api.QueueTrigger{
		Id: uuid.NewString(), Enabled: true, Prefetch: 10, MaxAttempts: 3, Args: json.RawMessage(`{}`),
		CreatedAt: now, UpdatedAt: now,
	}
	t.Name = body.requiredText("name", 255)
	body.match("name", t.Name, queueTriggerName, "may hold letters, digits, `.`, `_` and `-`, with `/` between folders")
	t.Queue = body.requiredText("queue", 255)
	change := queueTriggerChange(body)
	if err := body.done(); err != nil {
		return t, err
	}
	store.Apply(&t, change)
	return t, nil
}

// queueTriggerChange reads the settings that creating and changing share.
func queueTriggerChange(body *object) api.QueueTriggerChange {
	return api.QueueTriggerChange{
		RoutingKey:  body.text("routing_key", 0, 255),
		Enabled:     body.boolean("enabled"),
		Prefetch:    body.integer("prefetch", 1, 1000),
		MaxAttempts: body.integer("max_attempts", 1, 25),
		Args:        body.optional("args"),
	}
}

func (o *operations) UpdateQueueTrigger(ctx context.Context, r api.UpdateQueueTriggerRequestObject) (api.UpdateQueueTriggerResponseObject, error) {
	body, err := readObject(r.Body)
	if err != nil {
		return nil, err
	}
	change := queueTriggerChange(body)
	change.Queue = body.text("queue", 1, 255)
	if err := body.done(); err != nil {
		return nil, err
	}
	trigger, err := o.store.UpdateQueueTrigger(ctx, r.Project, r.Name, change)
	if err != nil {
		return nil, queueTriggerProblem(err)
	}
	o.wake()
	return ok(trigger), nil
}

func (o *operations) DeleteQueueTrigger(ctx context.Context, r api.DeleteQueueTriggerRequestObject) (api.DeleteQueueTriggerResponseObject, error) {
	if err := o.store.DeleteQueueTrigger(ctx, r.Project, r.Name); err != nil {
		return nil, queueTriggerProblem(err)
	}
	o.wake()
	return reply{http.StatusNoContent, nil}, nil
}

func (o *operations) ReadQueueTriggerFires(ctx context.Context, r api.ReadQueueTriggerFiresRequestObject) (api.ReadQueueTriggerFiresResponseObject, error) {
	trigger, err := o.store.QueueTrigger(ctx, r.Project, r.Name)
	if err != nil {
		return nil, queueTriggerProblem(err)
	}
	fires, err := o.store.Fires(ctx, trigger.Id)
	return ok(fires), err
}
