// Package problem is the control plane's one error: an RFC 9457 problem
// document that is also a Go error. Whatever goes wrong on the way to an answer
// becomes a *Problem and is written by Write.
package problem

import (
	"errors"
	"net/http"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/api"
)

// Code is the stable, machine-readable name of a problem.
type Code string

// The codes the document names, and the three for requests that reach no
// operation.
const (
	MalformedRequest        Code = "malformed_request"
	InvalidCursor           Code = "invalid_cursor"
	TokenMissing            Code = "token_missing"
	TokenUnknown            Code = "token_unknown"
	TokenExpired            Code = "token_expired"
	TokenRevoked            Code = "token_revoked"
	ScopeMissing            Code = "scope_missing"
	RoleInsufficient        Code = "role_insufficient"
	ProjectConfined         Code = "project_confined"
	NotActivated            Code = "not_activated"
	ProjectNotFound         Code = "project_not_found"
	QueueTriggerNotFound    Code = "queue_trigger_not_found"
	ExecutionNotFound       Code = "execution_not_found"
	TriggerNotFound         Code = "trigger_not_found"
	QueueTriggerExists      Code = "queue_trigger_exists"
	TriggerAlreadyCompleted Code = "trigger_already_completed"
	TriggerAlreadyReversed  Code = "trigger_already_reversed"
	TriggerExpired          Code = "trigger_expired"
	MessageTooLarge         Code = "message_too_large"
	ValidationFailed        Code = "validation_failed"
	Internal                Code = "internal"

	RouteNotFound    Code = "route_not_found"
	MethodNotAllowed Code = "method_not_allowed"
)

var statuses = map[Code]int{
	MalformedRequest:        http.StatusBadRequest,
	InvalidCursor:           http.StatusBadRequest,
	TokenMissing:            http.StatusUnauthorized,
	TokenUnknown:            http.StatusUnauthorized,
	TokenExpired:            http.StatusUnauthorized,
	TokenRevoked:            http.StatusUnauthorized,
	ScopeMissing:            http.StatusForbidden,
	RoleInsufficient:        http.StatusForbidden,
	ProjectConfined:         http.StatusForbidden,
	NotActivated:            http.StatusForbidden,
	ProjectNotFound:         http.StatusNotFound,
	QueueTriggerNotFound:    http.StatusNotFound,
	ExecutionNotFound:       http.StatusNotFound,
	TriggerNotFound:         http.StatusNotFound,
	QueueTriggerExists:      http.StatusConflict,
	TriggerAlreadyCompleted: http.StatusConflict,
	TriggerAlreadyReversed:  http.StatusConflict,
	TriggerExpired:          http.StatusConflict,
	MessageTooLarge:         http.StatusRequestEntityTooLarge,
	ValidationFailed:        http.StatusUnprocessableEntity,
	Internal:                http.StatusInternalServerError,
	RouteNotFound:           http.StatusNotFound,
	MethodNotAllowed:        http.StatusMethodNotAllowed,
}

// Problem is one failure, ready to be written.
type Problem struct {
	Code   Code
	Detail string
	Fields []Field
}

// Field says what is wrong with one value of the request.
type Field struct {
	// Pointer is the JSON pointer of the value in the body; a value from the
	// path or the query is pointed at as if it were a property of the body.
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

// New returns a problem with a sentence for a person.
func New(code Code, detail string) *Problem {
	return &Problem{Code: code, Detail: detail}
}

// Invalid returns validation_failed for the given values.
func Invalid(fields ...Field) *Problem {
	return &Problem{Code: ValidationFailed, Detail: "some values are not acceptable", Fields: fields}
}

func (p *Problem) Error() string { return string(p.Code) + ": " + p.Detail }

// Status is the HTTP status that goes with the code.
func (p *Problem) Status() int { return statuses[p.Code] }

// From finds the problem in err. What is none is a defect: its text may hold
// anything and stays out of the answer.
func From(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	return New(Internal, "the control plane failed; its log has the reason under the request id")
}

type document struct {
	Type      string  `json:"type"`
	Title     string  `json:"title"`
	Status    int     `json:"status"`
	Detail    string  `json:"detail,omitempty"`
	Code      Code    `json:"code"`
	RequestID string  `json:"request_id,omitempty"`
	Errors    []Field `json:"errors,omitempty"`
}

// Write answers with the problem. The request id is taken from the answer's
// X-Request-Id, so that the two cannot differ.
func Write(w http.ResponseWriter, p *Problem) {
	body, _ := api.Marshal(document{ // strings and integers always marshal
		Type:      "urn:viat:problem:" + string(p.Code),
		Title:     http.StatusText(p.Status()),
		Status:    p.Status(),
		Detail:    p.Detail,
		Code:      p.Code,
		RequestID: w.Header().Get("X-Request-Id"),
		Errors:    p.Fields,
	})
	w.Header().Set("Content-Type", "application/problem+json")
	if p.Status() == http.StatusUnauthorized {
		challenge := `Bearer realm="viat"`
		if p.Code != TokenMissing {
			challenge += `, error="invalid_token"`
		}
		w.Header().Set("WWW-Authenticate", challenge)
	}
	w.WriteHeader(p.Status())
	_, _ = w.Write(body) // nobody is left to tell when the client is gone
}
