package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/api"
)

// Publish stores a message and routes it to the enabled triggers it fits.
func (s *Store) Publish(ctx context.Context, project, queue string, m api.NewMessage) (api.PublishedMessage, error) {
	p := api.PublishedMessage{Queue: queue, RoutingKey: m.RoutingKey}
	if m.MessageId != nil {
		p.MessageId = *m.MessageId
	} else {
		p.MessageId = NewID("msg")
	}
	err := s.tx(ctx, func(tx *sql.Tx) error {
		p.PublishedAt = Stamp(time.Now())
		done, err := tx.ExecContext(ctx, `
			INSERT INTO messages (project, queue, message_id, routing_key, payload, published_at) VALUES (?, ?, ?, ?, ?, ?)`,
			project, queue, p.MessageId, p.RoutingKey, []byte(m.Payload), p.PublishedAt)
		if err != nil {
			return err
		}
		seq, err := done.LastInsertId()
		if err != nil {
			return err
		}
		if err := route(ctx, tx, project); err != nil {
			return err
		}
		p.Triggers, err = collect(ctx, tx, func(r row) (name string, err error) {
			err = r.Scan(&name)
			return name, err
		}, `
			SELECT t.name FROM message_deliveries d JOIN queue_triggers t ON t.id = d.trigger_id
			WHERE d.message_seq = ? ORDER BY t.name`, seq)
		return err
	})
	return p, err
}

// route gives every message that waits in a queue of the project to each
// enabled trigger it fits.
func route(ctx context.Context, tx *sql.Tx, project string) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO message_deliveries (message_seq, trigger_id, due_at)
		SELECT m.seq, t.id, m.published_at
		FROM queue_triggers t JOIN messages m ON m.project = t.project AND m.queue = t.queue
		WHERE t.project = ? AND t.enabled AND (t.routing_key IS NULL OR t.routing_key = m.routing_key)
		  AND NOT m.consumed AND NOT EXISTS (SELECT 1 FROM message_deliveries d WHERE d.message_seq = m.seq)`, project)
	return err
}
