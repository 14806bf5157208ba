package server_test

import (
	"net/url"
	"strings"
	"testing"
)

func TestWhatNoOperationAnswersIsAProblem(t *testing.T) {
	p := newPlane(t)
	for _, path := range []string{"/", "/v1", "/v1/", "/v2/projects", "/v1/projects/", "/v1//projects", "/v1/./projects", "/v1/a/../projects", lab + "/queue-triggers//fires", lab + "/queue-triggers/../logs"} {
		p.get(path).problem(404, "route_not_found")
	}
	a := p.call(full, "PUT", lab+"/queue-triggers/mcp_queue", "")
	a.problem(405, "method_not_allowed")
	if allow := a.header.Get("Allow"); allow != "DELETE, GET, HEAD, PATCH" {
		t.Errorf("Allow %q", allow)
	}
}

func TestSuccessCarriesARequestIDToo(t *testing.T) {
	p := newPlane(t)
	if id := p.get("/v1/projects").is(200).header.Get("X-Request-Id"); !strings.HasPrefix(id, "req_") {
		t.Errorf("X-Request-Id %q", id)
	}
}

func TestBodiesThatAreNotJSONObjects(t *testing.T) {
	p := newPlane(t)
	for _, path := range []string{lab + "/queue-triggers", lab + "/queues/q/messages", "/v1/triggers/trg_demo_ask_1/complete", "/v1/triggers/trg_demo_ask_1/reverse"} {
		for _, body := range []string{"", "{", `{"a":1} x`, `{"a":01}`, "{\"a\":\"\xff\"}", strings.Repeat("[", 20000)} {
			p.post(path, body).problem(400, "malformed_request")
		}
		for _, body := range []string{"null", "[]", "1", `"x"`} {
			d := p.post(path, body).problem(422, "validation_failed")
			if len(d.Errors) != 1 || d.Errors[0].Pointer != "" {
				t.Errorf("%s %s: %+v", path, body, d.Errors)
			}
		}
	}
	p.post(lab+"/queue-triggers", `{"args":"`+strings.Repeat("x", 1<<20)+`"}`).problem(400, "malformed_request")
}

func TestHostileNamesReachNothingElse(t *testing.T) {
	p := newPlane(t)
	names := []string{"..", ".", "../..", "mcp_queue/fires", "a?b", "a#b", "a\r\nX-Evil: 1", "a\x00b", "\xff\xfe", "%2e%2e", "' OR 1=1 --", "%", strings.Repeat("n", 10000), "mcp_queue\x00"}
	for _, name := range names {
		segment := escape(name)
		p.get(lab+"/queue-triggers/"+segment).problem(404, "queue_trigger_not_found")
		p.get(lab+"/queue-triggers/"+segment+"/fires").problem(404, "queue_trigger_not_found")
		p.call(full, "DELETE", lab+"/queue-triggers/"+segment, "").problem(404, "queue_trigger_not_found")
		p.get("/v1/projects/"+segment+"/queue-triggers").problem(404, "project_not_found")
		p.get("/v1/triggers/"+segment).problem(404, "trigger_not_found")
		p.get(lab+"/executions/"+segment).problem(400, "malformed_request")
	}
	p.get(lab + "/queue-triggers/mcp_queue").is(200)
	for _, id := range []string{"{0b0a3b5e-8f0c-4c7a-8b55-5f2b8a4f9d10}", "urn:uuid:0b0a3b5e-8f0c-4c7a-8b55-5f2b8a4f9d10", "0b0a3b5e8f0c4c7a8b555f2b8a4f9d10"} {
		p.get(lab+"/executions/"+escape(id)).problem(400, "malformed_request")
	}
	p.get(lab+"/executions/0B0A3B5E-8f0c-4c7a-8b55-5f2b8a4f9d10").problem(404, "execution_not_found")
}

// escape also escapes dots, which url.PathEscape leaves alone.
func escape(name string) string { return strings.ReplaceAll(url.PathEscape(name), ".", "%2e") }
