package server

import (
	"net/http"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/api"
)

// reply is the answer of any operation. The generated answers encode with HTML
// escaping, which rewrites <, > and & inside payloads that must leave as they
// came; that is the only reason for this type.
type reply struct {
	status int
	body   any // nil: no body
}

func ok(body any) reply { return reply{http.StatusOK, body} }

func (r reply) write(w http.ResponseWriter) error {
	if r.body == nil {
		w.WriteHeader(r.status)
		return nil
	}
	raw, err := api.Marshal(r.body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	_, _ = w.Write(raw) // nobody is left to tell when the client is gone
	return nil
}

func (r reply) VisitListProjectsResponse(w http.ResponseWriter) error           { return r.write(w) }
func (r reply) VisitReadIdentityResponse(w http.ResponseWriter) error           { return r.write(w) }
func (r reply) VisitListQueueTriggersResponse(w http.ResponseWriter) error      { return r.write(w) }
func (r reply) VisitCreateQueueTriggerResponse(w http.ResponseWriter) error     { return r.write(w) }
func (r reply) VisitReadQueueTriggerResponse(w http.ResponseWriter) error       { return r.write(w) }
func (r reply) VisitUpdateQueueTriggerResponse(w http.ResponseWriter) error     { return r.write(w) }
func (r reply) VisitDeleteQueueTriggerResponse(w http.ResponseWriter) error     { return r.write(w) }
func (r reply) VisitReadQueueTriggerFiresResponse(w http.ResponseWriter) error  { return r.write(w) }
func (r reply) VisitPublishQueueMessageResponse(w http.ResponseWriter) error    { return r.write(w) }
func (r reply) VisitReadExecutionResponse(w http.ResponseWriter) error          { return r.write(w) }
func (r reply) VisitReadLogsResponse(w http.ResponseWriter) error               { return r.write(w) }
func (r reply) VisitListDispatchedTriggersResponse(w http.ResponseWriter) error { return r.write(w) }
func (r reply) VisitInspectDispatchedTriggerResponse(w http.ResponseWriter) error {
	return r.write(w)
}
func (r reply) VisitCompleteDispatchedTriggerResponse(w http.ResponseWriter) error {
	return r.write(w)
}
func (r reply) VisitReverseDispatchedTriggerResponse(w http.ResponseWriter) error {
	return r.write(w)
}
