package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/api"
)

// Why a callback can be refused.
var (
	ErrCompleted = errors.New("already completed")
	ErrReversed  = errors.New("already reversed")
	ErrExpired   = errors.New("expired")
)

// Dispatched is a trigger as it was dispatched, with what is known of it.
type Dispatched struct {
	ID           string
	Project      string
	ActionClass  string
	Mode         api.TriggerMode
	Envelope     json.RawMessage
	Signature    string
	DispatchedAt string
	ExpiresAt    string
	LedgerEntry  string
	Deliveries   []api.Delivery
}

// AddDispatched records a dispatch and its ledger entry. Triggers must be added
// in the order in which they were dispatched.
func (s *Store) AddDispatched(ctx context.Context, d Dispatched) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			INSERT INTO dispatched_triggers (id, project, action_class, mode, envelope, signature, dispatched_at, expires_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			d.ID, d.Project, d.ActionClass, d.Mode, []byte(d.Envelope), d.Signature, d.DispatchedAt, d.ExpiresAt)
		if err != nil {
			return err
		}
		for _, a := range d.Deliveries {
			_, err := tx.ExecContext(ctx, `INSERT INTO deliveries VALUES (?, ?, ?, ?, ?, ?)`,
				d.ID, a.Attempt, a.DispatchedAt, a.ResponseStatus, a.ResponseLatencyMs, a.Error)
			if err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, `
			INSERT INTO ledger_entries (id, trigger_id, kind, recorded_at) VALUES (?, ?, 'dispatch', ?)`,
			d.LedgerEntry, d.ID, d.DispatchedAt)
		return err
	})
}

// Filter selects dispatched triggers: those of the projects a user is a member
// of, if they are activated.
type Filter struct {
	User        string
	ConfinedTo  *string
	Mode        *api.TriggerMode
	ActionClass *string
	// Before is the position the page starts after; zero starts at the newest.
	Before int64
	Limit  int
}

// DispatchedTriggers answers one page, newest first, and the position the next
// one starts after; zero if there is none.
func (s *Store) DispatchedTriggers(ctx context.Context, f Filter) ([]api.TriggerSummary, int64, error) {
	now := time.Now()
	var seqs []int64
	page, err := collect(ctx, s.db, func(r row) (t api.TriggerSummary, err error) {
		var seq int64
		var kind *api.CallbackKind
		err = r.Scan(&seq, &t.TriggerId, &t.ActionClass, &t.Mode, &t.DispatchedAt, &t.ExpiresAt, &kind)
		t.Status = status(kind, t.ExpiresAt, now)
		seqs = append(seqs, seq)
		return t, err
	}, `
		SELECT d.seq, d.id, d.action_class, d.mode, d.dispatched_at, d.expires_at, c.kind
		FROM dispatched_triggers d
		JOIN projects p ON p.slug = d.project AND p.activated
		JOIN memberships m ON m.project = d.project AND m.user_id = ?1
		LEFT JOIN callbacks c ON c.trigger_id = d.id
		WHERE (?2 IS NULL OR d.project = ?2) AND (?3 IS NULL OR d.mode = ?3) AND (?4 IS NULL OR d.action_class = ?4)
		  AND (?5 = 0 OR d.seq < ?5)
		ORDER BY d.seq DESC LIMIT ?6`,
		f.User, f.ConfinedTo, f.Mode, f.ActionClass, f.Before, f.Limit+1)
	if err != nil || len(page) <= f.Limit {
		return page, 0, err
	}
	return page[:f.Limit], seqs[f.Limit-1], nil
}

func status(kind *api.CallbackKind, expiresAt string, now time.Time) api.TriggerSummaryStatus {
	switch {
	case kind != nil && *kind == api.Reverse:
		return api.TriggerSummaryStatusReversed
	case kind != nil:
		return api.TriggerSummaryStatusCompleted
	case Past(expiresAt, now):
		return api.TriggerSummaryStatusExpired
	}
	return api.TriggerSummaryStatusPending
}

// Past tells whether a stamp lies before now. One that cannot be read does, so
// that a broken row never grants anything.
func Past(stamp string, now time.Time) bool {
	t, err := time.Parse(time.RFC3339, stamp)
	return err != nil || t.Before(now)
}

// ProjectOf finds the project of a dispatched trigger.
func (s *Store) ProjectOf(ctx context.Context, triggerID string) (project string, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT project FROM dispatched_triggers WHERE id = ?`, triggerID).Scan(&project)
	return project, found(err)
}

// Inspect finds a dispatched trigger with all that is known of it. Its
// signature never leaves the database.
func (s *Store) Inspect(ctx context.Context, id string) (api.TriggerDetail, error) {
	var detail api.TriggerDetail
	err := s.tx(ctx, func(tx *sql.Tx) (err error) {
		err = tx.QueryRowContext(ctx, `
			SELECT d.envelope, (SELECT l.id FROM ledger_entries l WHERE l.trigger_id = d.id ORDER BY l.seq DESC LIMIT 1)
			FROM dispatched_triggers d WHERE d.id = ?`, id).Scan(&detail.Trigger, &detail.LedgerEntryId)
		if err != nil {
			return found(err)
		}
		detail.Deliveries, err = collect(ctx, tx, func(r row) (d api.Delivery, err error) {
			err = r.Scan(&d.Attempt, &d.DispatchedAt, &d.ResponseStatus, &d.ResponseLatencyMs, &d.Error)
			return d, err
		}, `
			SELECT attempt, dispatched_at, response_status, response_latency_ms, error
			FROM deliveries WHERE trigger_id = ? ORDER BY attempt`, id)
		if err != nil {
			return err
		}
		var c api.Callback
		switch err := tx.QueryRowContext(ctx, `SELECT kind, outcome, received_at, external_ref FROM callbacks WHERE trigger_id = ?`, id).
			Scan(&c.Kind, &c.Outcome, &c.ReceivedAt, &c.ExternalRef); {
		case err == nil:
			detail.Callback = &c
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		return nil
	})
	return detail, err
}

// Record puts a callback in force and writes it to the ledger, unless the
// trigger's state forbids it.
func (s *Store) Record(ctx context.Context, id string, c api.Callback, reason *string) (api.CallbackRecord, error) {
	record := api.CallbackRecord{TriggerId: id, LedgerEntryId: NewID("led")}
	err := s.tx(ctx, func(tx *sql.Tx) error {
		var expiresAt string
		var kind *api.CallbackKind
		err := tx.QueryRowContext(ctx, `
			SELECT d.expires_at, c.kind FROM dispatched_triggers d LEFT JOIN callbacks c ON c.trigger_id = d.id WHERE d.id = ?`, id).
			Scan(&expiresAt, &kind)
		if err != nil {
			return found(err)
		}
		now := time.Now()
		if err := allowed(c.Kind, status(kind, expiresAt, now)); err != nil {
			return err
		}
		c.ReceivedAt = Stamp(now)
		record.Callback = c
		_, err = tx.ExecContext(ctx, `INSERT OR REPLACE INTO callbacks VALUES (?, ?, ?, ?, ?)`,
			id, c.Kind, c.Outcome, c.ReceivedAt, c.ExternalRef)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `
			INSERT INTO ledger_entries (id, trigger_id, kind, outcome, reason, external_ref, recorded_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			record.LedgerEntryId, id, c.Kind, c.Outcome, reason, c.ExternalRef, c.ReceivedAt)
		return err
	})
	return record, err
}

// allowed: anything not yet reversed can be reversed, for the action may have
// happened unheard; only what is pending can be completed.
func allowed(kind api.CallbackKind, now api.TriggerSummaryStatus) error {
	switch {
	case now == api.TriggerSummaryStatusReversed:
		return ErrReversed
	case kind == api.Complete && now == api.TriggerSummaryStatusCompleted:
		return ErrCompleted
	case kind == api.Complete && now == api.TriggerSummaryStatusExpired:
		return ErrExpired
	}
	return nil
}
