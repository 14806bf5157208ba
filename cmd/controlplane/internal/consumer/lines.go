package consumer

import (
	"encoding/json"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/api"
)

// What the lines of an execution carry. The payload and the args go in as raw
// JSON, so that a log shows them as they were spelled.
type (
	received struct {
		Queue      string          `json:"queue"`
		RoutingKey *string         `json:"routing_key"`
		MessageID  string          `json:"message_id"`
		Payload    json.RawMessage `json:"payload"`
	}
	started struct {
		Trigger string          `json:"trigger"`
		Attempt int             `json:"attempt"`
		Args    json.RawMessage `json:"args"`
	}
	failed struct {
		Reason      string `json:"reason"`
		Attempt     int    `json:"attempt"`
		MaxAttempts int    `json:"max_attempts"`
	}
)

func fields(v any) json.RawMessage {
	raw, err := api.Marshal(v)
	if err != nil { // only JSON that was not checked on its way in
		return json.RawMessage(`null`)
	}
	return raw
}
