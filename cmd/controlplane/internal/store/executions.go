package store

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/api"
)

// levels in rising order; a line is stored with its index.
var levels = []api.LogLineLevel{api.LogLineLevelDebug, api.LogLineLevelInfo, api.LogLineLevelWarn, api.LogLineLevelError}

// Execution finds one execution.
func (s *Store) Execution(ctx context.Context, project, id string) (api.Execution, error) {
	var e api.Execution
	err := s.db.QueryRowContext(ctx, `
		SELECT e.id, e.request_id, t.name, e.message_id, e.attempt, e.status, e.failure, e.args, e.started_at, e.finished_at
		FROM executions e LEFT JOIN queue_triggers t ON t.id = e.trigger_id
		WHERE e.project = ? AND e.id = ?`, project, id).
		Scan(&e.Id, &e.RequestId, &e.Trigger, &e.MessageId, &e.Attempt, &e.Status, &e.Failure, &e.Args, &e.StartedAt, &e.FinishedAt)
	return e, found(err)
}

// Logs lists the lines at or above a level, oldest first.
func (s *Store) Logs(ctx context.Context, project, requestID string, lowest api.LogLineLevel, limit int) ([]api.LogLine, error) {
	return collect(ctx, s.db, func(r row) (l api.LogLine, err error) {
		var level int
		err = r.Scan(&l.Id, &l.RequestId, &level, &l.Message, &l.Fields, &l.LoggedAt)
		l.Level = levels[level]
		return l, err
	}, `
		SELECT id, request_id, level, message, fields, logged_at FROM logs
		WHERE project = ? AND request_id = ? AND level >= ? ORDER BY id LIMIT ?`,
		project, requestID, slices.Index(levels, lowest), limit)
}

// Line is a log line that is about to be written.
type Line struct {
	Level   api.LogLineLevel
	Message string
	Fields  json.RawMessage
}

func writeLogs(ctx context.Context, q querier, project, requestID, at string, lines []Line) error {
	for _, l := range lines {
		_, err := q.ExecContext(ctx, `
			INSERT INTO logs (project, request_id, level, message, fields, logged_at) VALUES (?, ?, ?, ?, ?, ?)`,
			project, requestID, slices.Index(levels, l.Level), l.Message, []byte(l.Fields), at)
		if err != nil {
			return err
		}
	}
	return nil
}
