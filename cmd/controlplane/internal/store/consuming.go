package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/api"
)

// Delivery is one message on its way to one queue trigger, claimed for an
// attempt.
type Delivery struct {
	MessageSeq  int64
	Project     string
	Queue       string
	MessageID   string
	RoutingKey  *string
	Payload     json.RawMessage
	TriggerID   string
	TriggerName string
	Args        json.RawMessage
	Attempt     int
	MaxAttempts int
}

// Run is the execution that an attempt started.
type Run struct {
	ExecutionID string
	RequestID   string
}

// Result is what became of an attempt.
type Result struct {
	Outcome string
	Failure *string
	// RetryAt is when to deliver again; nil ends the delivery.
	RetryAt *time.Time
	Lines   []Line
}

// Claim takes deliveries that are due, per trigger never more than its prefetch
// at a time, oldest message first. next is when the next one falls due; zero if
// none is waiting for the clock.
func (s *Store) Claim(ctx context.Context, limit int) (claimed []Delivery, next time.Time, err error) {
	err = s.tx(ctx, func(tx *sql.Tx) (err error) {
		now := Stamp(time.Now())
		claimed, err = collect(ctx, tx, scanDelivery, `
			SELECT m.seq, m.project, m.queue, m.message_id, m.routing_key, m.payload, t.id, t.name, t.args, d.attempts + 1, t.max_attempts
			FROM (
				SELECT message_seq, trigger_id, attempts, row_number() OVER (PARTITION BY trigger_id ORDER BY message_seq) AS place
				FROM message_deliveries WHERE NOT claimed AND due_at <= ?
			) d
			JOIN messages m ON m.seq = d.message_seq
			JOIN queue_triggers t ON t.id = d.trigger_id
			WHERE t.enabled AND d.place <= t.prefetch - (SELECT count(*) FROM message_deliveries c WHERE c.trigger_id = t.id AND c.claimed)
			ORDER BY m.seq LIMIT ?`, now, limit)
		if err != nil {
			return err
		}
		for _, d := range claimed {
			if _, err := tx.ExecContext(ctx,
				`UPDATE message_deliveries SET claimed = 1 WHERE message_seq = ? AND trigger_id = ?`, d.MessageSeq, d.TriggerID); err != nil {
				return err
			}
		}
		var due sql.NullString
		err = tx.QueryRowContext(ctx, `
			SELECT min(d.due_at) FROM message_deliveries d JOIN queue_triggers t ON t.id = d.trigger_id
			WHERE t.enabled AND NOT d.claimed AND d.due_at > ?`, now).Scan(&due)
		if err != nil || !due.Valid {
			return err
		}
		next, err = time.Parse(time.RFC3339, due.String)
		return err
	})
	return claimed, next, err
}

func scanDelivery(r row) (d Delivery, err error) {
	err = r.Scan(&d.MessageSeq, &d.Project, &d.Queue, &d.MessageID, &d.RoutingKey, &d.Payload, &d.TriggerID, &d.TriggerName, &d.Args, &d.Attempt, &d.MaxAttempts)
	return d, err
}

// Start begins the execution of a claimed delivery. ErrNotFound means that its
// trigger was deleted in between; the message is back in its queue then.
func (s *Store) Start(ctx context.Context, d Delivery, lines []Line) (Run, error) {
	run := Run{ExecutionID: uuid.NewString(), RequestID: NewID("req")}
	err := s.tx(ctx, func(tx *sql.Tx) error {
		at := Stamp(time.Now())
		done, err := tx.ExecContext(ctx,
			`UPDATE message_deliveries SET attempts = ? WHERE message_seq = ? AND trigger_id = ?`, d.Attempt, d.MessageSeq, d.TriggerID)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrNotFound)
		}
		if _, err := tx.ExecContext(ctx, `UPDATE messages SET consumed = 1 WHERE seq = ?`, d.MessageSeq); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `
			INSERT INTO executions (id, project, request_id, trigger_id, message_id, attempt, status, args, started_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			run.ExecutionID, d.Project, run.RequestID, d.TriggerID, d.MessageID, d.Attempt, api.Running, []byte(d.Args), at)
		if err != nil {
			return err
		}
		return writeLogs(ctx, tx, d.Project, run.RequestID, at, lines)
	})
	return run, err
}

// Finish ends the execution, records the fire and either ends the delivery or
// puts it back until it is to be tried again.
func (s *Store) Finish(ctx context.Context, d Delivery, run Run, result Result) error {
	status := api.Succeeded
	if result.Failure != nil {
		status = api.Failed
	}
	return s.tx(ctx, func(tx *sql.Tx) error {
		at := Stamp(time.Now())
		_, err := tx.ExecContext(ctx, `UPDATE executions SET status = ?, failure = ?, finished_at = ? WHERE id = ?`,
			status, result.Failure, at, run.ExecutionID)
		if err != nil {
			return err
		}
		if err := writeLogs(ctx, tx, d.Project, run.RequestID, at, result.Lines); err != nil {
			return err
		}
		// A trigger deleted meanwhile has no records any more.
		_, err = tx.ExecContext(ctx, `
			INSERT INTO fires (id, trigger_id, execution_id, message_id, routing_key, redelivered, outcome, detail, fired_at)
			SELECT ?, id, ?, ?, ?, ?, ?, ?, ? FROM queue_triggers WHERE id = ?`,
			uuid.NewString(), run.ExecutionID, d.MessageID, d.RoutingKey, d.Attempt > 1, result.Outcome, result.Failure, at, d.TriggerID)
		if err != nil {
			return err
		}
		if result.RetryAt != nil {
			_, err = tx.ExecContext(ctx, `
				UPDATE message_deliveries SET claimed = 0, due_at = ? WHERE message_seq = ? AND trigger_id = ?`,
				Stamp(*result.RetryAt), d.MessageSeq, d.TriggerID)
			return err
		}
		return endDelivery(ctx, tx, d)
	})
}

func endDelivery(ctx context.Context, tx *sql.Tx, d Delivery) error {
	if _, err := tx.ExecContext(ctx,
		`DELETE FROM message_deliveries WHERE message_seq = ? AND trigger_id = ?`, d.MessageSeq, d.TriggerID); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `
		DELETE FROM messages WHERE seq = ?1 AND NOT EXISTS (SELECT 1 FROM message_deliveries WHERE message_seq = ?1)`, d.MessageSeq)
	return err
}

// recoverClaims takes up what a process that died left behind: its claims are free
// again, its executions have failed.
func (s *Store) recoverClaims(ctx context.Context) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE message_deliveries SET claimed = 0 WHERE claimed`); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `
			UPDATE executions SET status = ?, failure = 'the control plane stopped', finished_at = ? WHERE status = ?`,
			api.Failed, Stamp(time.Now()), api.Running)
		return err
	})
}
