package server

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/api"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/problem"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/store"
)

func (o *operations) ReadExecution(ctx context.Context, r api.ReadExecutionRequestObject) (api.ReadExecutionResponseObject, error) {
	// uuid.Validate also knows spellings with braces and urn:uuid:.
	if len(r.ExecutionId) != 36 || uuid.Validate(r.ExecutionId) != nil {
		return nil, problem.New(problem.MalformedRequest, "execution_id is not a UUID")
	}
	execution, err := o.store.Execution(ctx, r.Project, strings.ToLower(r.ExecutionId))
	if errors.Is(err, store.ErrNotFound) {
		return nil, problem.New(problem.ExecutionNotFound, "the project has no execution of this id")
	}
	return ok(execution), err
}

func (o *operations) ReadLogs(ctx context.Context, r api.ReadLogsRequestObject) (api.ReadLogsResponseObject, error) {
	if r.Params.RequestId == nil {
		return nil, problem.Invalid(problem.Field{Pointer: "/request_id", Detail: "is required"})
	}
	if detail := badLength(*r.Params.RequestId, 1, 128); detail != "" {
		return nil, problem.Invalid(problem.Field{Pointer: "/request_id", Detail: detail})
	}
	if err := oneOf("level", r.Params.Level, api.ReadLogsParamsLevelDebug, api.ReadLogsParamsLevelInfo, api.ReadLogsParamsLevelWarn, api.ReadLogsParamsLevelError); err != nil {
		return nil, err
	}
	limit, err := clamp(r.Params.Limit, 100, 500)
	if err != nil {
		return nil, err
	}
	lowest := api.LogLineLevelDebug
	if r.Params.Level != nil {
		lowest = api.LogLineLevel(*r.Params.Level)
	}
	lines, err := o.store.Logs(ctx, r.Project, *r.Params.RequestId, lowest, limit)
	return ok(lines), err
}
