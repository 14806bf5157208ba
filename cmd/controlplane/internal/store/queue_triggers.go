package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/api"
)

const queueTriggerColumns = `id, name, queue, routing_key, enabled, prefetch, max_attempts, args, created_at, updated_at`

func scanQueueTrigger(r row) (t api.QueueTrigger, err error) {
	err = r.Scan(&t.Id, &t.Name, &t.Queue, &t.RoutingKey, &t.Enabled, &t.Prefetch, &t.MaxAttempts, &t.Args, &t.CreatedAt, &t.UpdatedAt)
	return t, err
}

func queueTrigger(ctx context.Context, q querier, project, name string) (api.QueueTrigger, error) {
	t, err := scanQueueTrigger(q.QueryRowContext(ctx,
		`SELECT `+queueTriggerColumns+` FROM queue_triggers WHERE project = ? AND name = ?`, project, name))
	return t, found(err)
}

// QueueTriggers lists a project's triggers by name.
func (s *Store) QueueTriggers(ctx context.Context, project string) ([]api.QueueTrigger, error) {
	return collect(ctx, s.db, scanQueueTrigger,
		`SELECT `+queueTriggerColumns+` FROM queue_triggers WHERE project = ? ORDER BY name`, project)
}

// QueueTrigger finds one trigger by its name.
func (s *Store) QueueTrigger(ctx context.Context, project, name string) (api.QueueTrigger, error) {
	return queueTrigger(ctx, s.db, project, name)
}

// CreateQueueTrigger stores t and gives it the messages that wait for it.
func (s *Store) CreateQueueTrigger(ctx context.Context, project string, t api.QueueTrigger) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		switch _, err := queueTrigger(ctx, tx, project, t.Name); {
		case err == nil:
			return ErrExists
		case !errors.Is(err, ErrNotFound):
			return err
		}
		_, err := tx.ExecContext(ctx, `
			INSERT INTO queue_triggers (project, `+queueTriggerColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			project, t.Id, t.Name, t.Queue, t.RoutingKey, t.Enabled, t.Prefetch, t.MaxAttempts, []byte(t.Args), t.CreatedAt, t.UpdatedAt)
		if err != nil {
			return err
		}
		return route(ctx, tx, project)
	})
}

// UpdateQueueTrigger changes what change names and answers the trigger as it
// is then.
func (s *Store) UpdateQueueTrigger(ctx context.Context, project, name string, change api.QueueTriggerChange) (t api.QueueTrigger, err error) {
	err = s.tx(ctx, func(tx *sql.Tx) (err error) {
		if t, err = queueTrigger(ctx, tx, project, name); err != nil {
			return err
		}
		Apply(&t, change)
		t.UpdatedAt = Stamp(time.Now())
		_, err = tx.ExecContext(ctx, `
			UPDATE queue_triggers SET queue = ?, routing_key = ?, enabled = ?, prefetch = ?, max_attempts = ?, args = ?, updated_at = ?
			WHERE id = ?`,
			t.Queue, t.RoutingKey, t.Enabled, t.Prefetch, t.MaxAttempts, []byte(t.Args), t.UpdatedAt, t.Id)
		if err != nil {
			return err
		}
		// What it has not begun goes back to the queue: it may be paused now,
		// or no longer be interested.
		_, err = tx.ExecContext(ctx, `DELETE FROM message_deliveries WHERE trigger_id = ? AND attempts = 0 AND claimed = 0`, t.Id)
		if err != nil {
			return err
		}
		return route(ctx, tx, project)
	})
	return t, err
}

// Apply makes the change that change names; an empty routing key removes the
// filter.
func Apply(t *api.QueueTrigger, change api.QueueTriggerChange) {
	if change.Queue != nil {
		t.Queue = *change.Queue
	}
	if change.RoutingKey != nil {
		t.RoutingKey = change.RoutingKey
		if *change.RoutingKey == "" {
			t.RoutingKey = nil
		}
	}
	if change.Enabled != nil {
		t.Enabled = *change.Enabled
	}
	if change.Prefetch != nil {
		t.Prefetch = *change.Prefetch
	}
	if change.MaxAttempts != nil {
		t.MaxAttempts = *change.MaxAttempts
	}
	if change.Args != nil {
		t.Args = change.Args
	}
}

// DeleteQueueTrigger deletes a trigger and its fires. What it had not begun
// stays in the queue, the executions it started stay readable.
func (s *Store) DeleteQueueTrigger(ctx context.Context, project, name string) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		t, err := queueTrigger(ctx, tx, project, name)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM queue_triggers WHERE id = ?`, t.Id); err != nil {
			return err
		}
		// What it had begun is not begun again by another.
		_, err = tx.ExecContext(ctx, `
			DELETE FROM messages WHERE project = ? AND consumed
			  AND NOT EXISTS (SELECT 1 FROM message_deliveries d WHERE d.message_seq = messages.seq)`, project)
		if err != nil {
			return err
		}
		return route(ctx, tx, project)
	})
}

// Fires lists what a trigger consumed: the latest 50 records, newest first.
func (s *Store) Fires(ctx context.Context, triggerID string) ([]api.Fire, error) {
	return collect(ctx, s.db, func(r row) (f api.Fire, err error) {
		err = r.Scan(&f.Id, &f.TriggerId, &f.ExecutionId, &f.MessageId, &f.RoutingKey, &f.Redelivered, &f.Outcome, &f.Detail, &f.FiredAt)
		return f, err
	}, `
		SELECT id, trigger_id, execution_id, message_id, routing_key, redelivered, outcome, detail, fired_at
		FROM fires WHERE trigger_id = ? ORDER BY seq DESC LIMIT 50`, triggerID)
}
