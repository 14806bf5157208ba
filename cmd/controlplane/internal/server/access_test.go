package server_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestTokenIsJudgedBeforeAnythingElse(t *testing.T) {
	p := newPlane(t)
	for _, c := range []struct {
		token   string
		headers []string
		code    string
	}{
		{"", nil, "token_missing"},
		{"", []string{"Authorization", "Basic dTpw"}, "token_missing"},
		{"", []string{"Authorization", "Bearer"}, "token_missing"},
		{"", []string{"Authorization", "Bearer  "}, "token_missing"},
		{full, []string{"Authorization", "Bearer " + full}, "token_missing"},
		{"viat_demo_nobody", nil, "token_unknown"},
		{"viat_demo_expired", nil, "token_expired"},
		{"viat_demo_revoked", nil, "token_revoked"},
	} {
		for _, path := range []string{"/v1/projects", lab + "/logs?limit=x&limit=y", "/v1/triggers/none"} {
			a := p.call(c.token, "GET", path, "", c.headers...)
			a.problem(401, c.code)
			if challenge := a.header.Get("WWW-Authenticate"); !strings.HasPrefix(challenge, `Bearer realm="viat"`) {
				t.Errorf("%s: WWW-Authenticate %q", a.what, challenge)
			}
		}
	}
	p.call("", "GET", "/v1/projects", "", "Authorization", "bearer "+full).is(200)
}

func TestHealthNeedsNoToken(t *testing.T) {
	p := newPlane(t)
	p.call("", "GET", "/healthz", "").is(200)
	p.call("", "POST", "/healthz", "").problem(405, "method_not_allowed")
}

// operation is one request per operation that succeeds for the owner.
type operation struct {
	id, method, path, body string
	status                 int
}

func every() []operation {
	return []operation{
		{"list_projects", "GET", "/v1/projects", "", 200},
		{"read_identity", "GET", "/v1/identity", "", 200},
		{"list_queue_triggers", "GET", lab + "/queue-triggers", "", 200},
		{"create_queue_trigger", "POST", lab + "/queue-triggers", `{"name":"new","queue":"q"}`, 201},
		{"read_queue_trigger", "GET", lab + "/queue-triggers/mcp_queue", "", 200},
		{"update_queue_trigger", "PATCH", lab + "/queue-triggers/mcp_queue", `{"prefetch":5}`, 200},
		{"read_queue_trigger_fires", "GET", lab + "/queue-triggers/mcp_queue/fires", "", 200},
		{"publish_queue_message", "POST", lab + "/queues/idle/messages", `{"payload":1}`, 202},
		{"read_execution", "GET", lab + "/executions/0b0a3b5e-8f0c-4c7a-8b55-5f2b8a4f9d10", "", 404},
		{"read_logs", "GET", lab + "/logs?request_id=req_1", "", 200},
		{"list_dispatched_triggers", "GET", "/v1/triggers", "", 200},
		{"inspect_dispatched_trigger", "GET", "/v1/triggers/trg_demo_ask_1", "", 200},
		{"complete_dispatched_trigger", "POST", "/v1/triggers/trg_demo_ask_1/complete", `{"outcome":"approved"}`, 200},
		{"reverse_dispatched_trigger", "POST", "/v1/triggers/trg_demo_ask_1/reverse", `{"reason":"wrong"}`, 200},
		{"delete_queue_trigger", "DELETE", lab + "/queue-triggers/mcp_queue", "", 204},
	}
}

var editing = map[string]bool{
	"create_queue_trigger": true, "update_queue_trigger": true, "delete_queue_trigger": true,
	"read_queue_trigger_fires": true, "publish_queue_message": true,
	"complete_dispatched_trigger": true, "reverse_dispatched_trigger": true,
}

func TestRolesOnEveryOperation(t *testing.T) {
	for _, token := range []string{full, admin, developer, viewer} {
		t.Run(token, func(t *testing.T) {
			p := newPlane(t)
			for _, op := range every() {
				a := p.call(token, op.method, op.path, op.body)
				if token == viewer && editing[op.id] {
					a.problem(403, "role_insufficient")
				} else {
					a.is(op.status)
				}
			}
		})
	}
}

func TestScopesOnEveryOperation(t *testing.T) {
	p := newPlane(t)
	writes := map[string]bool{
		"create_queue_trigger": true, "update_queue_trigger": true, "delete_queue_trigger": true,
		"publish_queue_message": true, "complete_dispatched_trigger": true, "reverse_dispatched_trigger": true,
	}
	for _, op := range every() {
		a := p.call(readonly, op.method, op.path, op.body)
		if writes[op.id] {
			a.problem(403, "scope_missing")
		} else {
			a.is(op.status)
		}
	}
}

func TestRefusalsComeInOrder(t *testing.T) {
	p := newPlane(t)
	bad := `{"nope":` // would be malformed_request if it were read
	for _, c := range []struct {
		why, token, method, path string
		status                   int
		code                     string
	}{
		{"scope before project", readonly, "POST", "/v1/projects/none/queue-triggers", 403, "scope_missing"},
		{"confinement before existence", confined, "GET", "/v1/projects/none/queue-triggers", 403, "project_confined"},
		{"confinement", confined, "POST", lab + "/queue-triggers", 403, "project_confined"},
		{"no such project", full, "POST", "/v1/projects/none/queue-triggers", 404, "project_not_found"},
		{"not a member", admin, "POST", "/v1/projects/other-lab/queue-triggers", 404, "project_not_found"},
		{"not a member of one not activated", admin, "GET", "/v1/projects/dormant-lab/queue-triggers", 404, "project_not_found"},
		{"not activated", full, "POST", "/v1/projects/dormant-lab/queue-triggers", 403, "not_activated"},
		{"role before object", viewer, "GET", lab + "/queue-triggers/none/fires", 403, "role_insufficient"},
		{"role before body", viewer, "POST", lab + "/queue-triggers", 403, "role_insufficient"},
		{"role before state", viewer, "POST", "/v1/triggers/trg_demo_completed/complete", 403, "role_insufficient"},
		{"body last", full, "POST", lab + "/queue-triggers", 400, "malformed_request"},
		{"trigger of a project not activated", full, "GET", "/v1/triggers/trg_demo_dormant", 403, "not_activated"},
		{"trigger of somebody else", admin, "POST", "/v1/triggers/trg_demo_other/complete", 404, "trigger_not_found"},
		{"trigger outside the confinement", confined, "GET", "/v1/triggers/trg_demo_ask_1", 404, "trigger_not_found"},
		{"unknown trigger", viewer, "POST", "/v1/triggers/none/complete", 404, "trigger_not_found"},
	} {
		a := p.call(c.token, c.method, c.path, bad)
		a.what = c.why + ": " + a.what
		a.problem(c.status, c.code)
	}
}

func TestConfinedTokenReachesItsProjectOnly(t *testing.T) {
	p := newPlane(t)
	type slug struct{ Slug string }
	if got := fmt.Sprint(decode[[]slug](p.call(confined, "GET", "/v1/projects", "").is(200))); got != "[{other-lab}]" {
		t.Errorf("projects %s", got)
	}
	page := decode[page](p.call(confined, "GET", "/v1/triggers", "").is(200))
	if len(page.Triggers) != 1 || page.Triggers[0].TriggerID != "trg_demo_other" {
		t.Errorf("triggers %+v", page)
	}
	p.call(confined, "GET", "/v1/projects/other-lab/queue-triggers", "").is(200)
	p.call(confined, "POST", "/v1/triggers/trg_demo_other/complete", `{"outcome":"executed"}`).is(200)
}

func TestIdentityTellsConfinementExpiryAndRoles(t *testing.T) {
	p := newPlane(t)
	a := p.call(confined, "GET", "/v1/identity", "").is(200)
	for _, want := range []string{`"confined_to":"other-lab"`, `"expires_at":null`, `"projects":[{"role":"owner","slug":"other-lab"}]`} {
		if !strings.Contains(a.body, want) {
			t.Errorf("%s lacks %s", a.body, want)
		}
	}
	if strings.Contains(a.body, confined) {
		t.Errorf("the token is in %s", a.body)
	}
}

func TestProjectsNotActivatedAreListed(t *testing.T) {
	p := newPlane(t)
	if a := p.get("/v1/projects").is(200); !strings.Contains(a.body, `"activated":false`) || !strings.Contains(a.body, "dormant-lab") {
		t.Error(a.body)
	}
}
