package server

import (
	"context"
	"errors"
	"net/http"
	"unicode/utf8"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/api"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/problem"
)

const maxPayload = 256 << 10

func (o *operations) PublishQueueMessage(ctx context.Context, r api.PublishQueueMessageRequestObject) (api.PublishQueueMessageResponseObject, error) {
	body, err := readObject(r.Body)
	if err != nil {
		return nil, messageProblem(err)
	}
	message := api.NewMessage{Payload: body.value("payload")}
	if message.Payload == nil {
		body.refuse("payload", "is required; null is a payload")
	}
	message.RoutingKey = body.text("routing_key", 0, 255)
	message.MessageId = body.text("message_id", 1, 128)
	if !utf8.ValidString(r.Queue) {
		body.refuse("queue", "must be UTF-8")
	} else if detail := badLength(r.Queue, 1, 255); detail != "" {
		body.refuse("queue", detail)
	}
	if len(message.Payload) > maxPayload {
		return nil, problem.New(problem.MessageTooLarge, "the payload is larger than 256 KiB")
	}
	if err := body.done(); err != nil {
		return nil, err
	}
	if message.RoutingKey != nil && *message.RoutingKey == "" {
		message.RoutingKey = nil // no trigger can ask for an empty one
	}
	published, err := o.store.Publish(ctx, r.Project, r.Queue, message)
	if err != nil {
		return nil, err
	}
	o.wake()
	return reply{http.StatusAccepted, published}, nil
}

// messageProblem calls a body that is too large for anything a message that is.
func messageProblem(err error) error {
	if errors.Is(err, errTooLarge) {
		return problem.New(problem.MessageTooLarge, "the message is larger than 256 KiB")
	}
	return err
}
