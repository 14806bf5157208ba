package e2e

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// agents gives each token its client: one gateway over HTTP, one process each over stdio.
func agents(t *testing.T, w way, s settings) func(token string) agent {
	t.Helper()
	endpoint := ""
	if w.transport == "http" {
		_, endpoint = serve(t, s)
	}
	known := map[string]agent{}
	return func(token string) agent {
		if _, ok := known[token]; !ok {
			if s.token = pat(token); endpoint != "" {
				known[token] = connectTo(t, endpoint, w.revision, s.token)
			} else {
				known[token] = connect(t, w, s)
			}
		}
		return known[token]
	}
}

// rejected is a call that the control plane refuses.
type rejected struct {
	token, tool, arguments string
	status                 int
	upstream               string // the control plane's own code
}

// rejections are the documented failures that can be brought about.
func rejections() []rejected {
	list := []rejected{
		{"full", "read_queue_trigger", `{"name":"nobody"}`, 404, "queue_trigger_not_found"},
		{"full", "read_queue_trigger_fires", `{"name":"nobody"}`, 404, "queue_trigger_not_found"},
		{"full", "update_queue_trigger", `{"name":"nobody"}`, 404, "queue_trigger_not_found"},
		{"full", "delete_queue_trigger", `{"name":"nobody"}`, 404, "queue_trigger_not_found"},
		{"full", "read_execution", `{"execution_id":"8f38e72e-4e77-4f9d-b0dc-58b99a0a3325"}`, 404, "execution_not_found"},
		{"full", "trigger.inspect", `{"trigger_id":"nobody"}`, 404, "trigger_not_found"},
		{"full", "trigger.complete", `{"trigger_id":"nobody","outcome":"executed"}`, 404, "trigger_not_found"},
		{"full", "trigger.reverse", `{"trigger_id":"nobody","reason":"x"}`, 404, "trigger_not_found"},
		{"confined", "trigger.inspect", `{"trigger_id":"trg_01HXP9DLQ"}`, 404, "trigger_not_found"},
		{"full", "create_queue_trigger", `{"name":"mcp_queue","queue":"q"}`, 409, "queue_trigger_exists"},
		{"full", "trigger.complete", `{"trigger_id":"trg_demo_completed","outcome":"executed"}`, 409, "trigger_already_completed"},
		{"full", "trigger.reverse", `{"trigger_id":"trg_demo_reversed","reason":"x"}`, 409, "trigger_already_reversed"},
		{"full", "trigger.complete", `{"trigger_id":"trg_01HXP9DLQ","outcome":"executed"}`, 409, "trigger_expired"},
		{"full", "trigger.list", `{"cursor":"made up"}`, 400, "invalid_cursor"},
		{"full", "publish_queue_message", `{"queue":"q","payload":"` + strings.Repeat("x", 256<<10) + `"}`, 413, "message_too_large"},
		{"full", "trigger.inspect", `{"trigger_id":"trg_demo_dormant"}`, 403, "not_activated"},
		{"readonly", "trigger.complete", `{"trigger_id":"trg_demo_act_1","outcome":"executed"}`, 403, "scope_missing"},
		{"readonly", "trigger.reverse", `{"trigger_id":"trg_demo_act_1","reason":"x"}`, 403, "scope_missing"},
		{"readonly", "publish_queue_message", `{"queue":"q","payload":null}`, 403, "scope_missing"},
		{"readonly", "create_queue_trigger", `{"name":"n","queue":"q"}`, 403, "scope_missing"},
		{"readonly", "update_queue_trigger", `{"name":"mcp_queue"}`, 403, "scope_missing"},
		{"readonly", "delete_queue_trigger", `{"name":"mcp_queue"}`, 403, "scope_missing"},
		{"viewer", "read_queue_trigger_fires", `{"name":"mcp_queue"}`, 403, "role_insufficient"},
		{"viewer", "publish_queue_message", `{"queue":"q","payload":null}`, 403, "role_insufficient"},
		{"viewer", "create_queue_trigger", `{"name":"n","queue":"q"}`, 403, "role_insufficient"},
		{"viewer", "update_queue_trigger", `{"name":"mcp_queue"}`, 403, "role_insufficient"},
		{"viewer", "delete_queue_trigger", `{"name":"mcp_queue"}`, 403, "role_insufficient"},
		{"viewer", "trigger.complete", `{"trigger_id":"trg_demo_act_1","outcome":"executed"}`, 403, "role_insufficient"},
		{"viewer", "trigger.reverse", `{"trigger_id":"trg_demo_act_1","reason":"x"}`, 403, "role_insufficient"},
	}
	for _, tool := range contract() {
		arguments := tool.arguments(map[string]string{"trigger_id": `"trg_demo_act_1"`})
		for token, upstream := range map[string]string{"expired": "token_expired", "revoked": "token_revoked", "unknown": "token_unknown"} {
			list = append(list, rejected{token, tool.Name, arguments, 401, upstream})
		}
		if _, ok := tool.InputSchema.Properties["project"]; ok {
			in := func(project string) string { return tool.arguments(map[string]string{"project": `"` + project + `"`}) }
			list = append(list,
				rejected{"confined", tool.Name, in("mcp-lab"), 403, "project_confined"},
				rejected{"full", tool.Name, in("dormant-lab"), 403, "not_activated"},
				rejected{"full", tool.Name, in("nowhere"), 404, "project_not_found"},
				rejected{"developer", tool.Name, in("other-lab"), 404, "project_not_found"})
		}
	}
	return list
}

func TestWhatTheControlPlaneRefusesIsAnEnvelopeWithItsStatusAndCode(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		as := agents(t, w, settings{api: plane(t), project: "mcp-lab"})
		for _, r := range rejections() {
			f := as(r.token).fails(t, r.tool, r.arguments)
			what := fmt.Sprintf("%s as %s %.200s", r.tool, r.token, r.arguments)
			if want := wantCode(r.tool, r.status); f.Code != want || f.Status != r.status || f.Upstream.Code != r.upstream {
				t.Errorf("%s: %s %d %s, want %s %d %s", what, f.Code, f.Status, f.Upstream.Code, want, r.status, r.upstream)
			}
			if *f.Retryable || f.Delivery != "answered" || f.RequestID == "" || f.Reason == "" {
				t.Errorf("%s: %+v", what, f)
			}
		}
	})
}

// wantCode is the mapping the reference pages ask for.
func wantCode(tool string, status int) string {
	if strings.HasPrefix(tool, "trigger.") {
		switch status {
		case 401:
			return "unauthorized"
		case 400, 422:
			return "invalid_arguments"
		}
	}
	return fmt.Sprintf("http_%dxx", status/100)
}

func TestEveryDocumentedStatusOfEveryToolBecomesItsCode(t *testing.T) {
	t.Parallel()
	up := record(t, nil)
	p := dial(t, way{"stdio", legacy}, settings{api: up.url, token: "any", project: "mcp-lab"})
	for _, tool := range contract() {
		for _, e := range tool.Errors {
			status := strings.Trim(string(e.Status), `"`)
			if status == "" {
				continue // project_required, which no answer causes
			}
			code := 500
			if _, err := fmt.Sscan(status, &code); err != nil && status != "default" {
				t.Fatalf("status %s", status)
			}
			up.respond(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/problem+json")
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(code)
				fmt.Fprintf(w, `{"type":"about:blank","status":%d,"detail":"said so","code":"made_up"}`, code)
			})
			r := p.call(t, tool.Name, tool.arguments(nil))
			f := r.failure
			if f.Code != e.Code || f.Code != wantCode(tool.Name, code) || f.Status != code || f.Message != "said so" ||
				f.Upstream.Code != "made_up" || f.Delivery != "answered" || f.RetryAfter != 7 {
				t.Errorf("%s at %d: want %s: %s", tool.Name, code, e.Code, r.text)
			}
			if want := code == 429 || code == 500; f.Retryable == nil || *f.Retryable != want {
				t.Errorf("%s at %d: retryable is not %v", tool.Name, code, want)
			}
		}
	}
}

func TestProjectRequiredNamesTheProjectsTheTokenCanSee(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		as := agents(t, w, settings{api: plane(t)})
		for token, want := range map[string][]string{
			"full": {"dormant-lab", "mcp-lab", "other-lab"}, "developer": {"mcp-lab"}, "confined": {"other-lab"}, "expired": nil,
		} {
			for _, tool := range contract() {
				if _, ok := tool.InputSchema.Properties["project"]; !ok {
					continue
				}
				for _, given := range []map[string]string{nil, {"project": "null"}} {
					f := as(token).fails(t, tool.Name, tool.arguments(given))
					slices.Sort(f.Candidates)
					if f.Code != "project_required" || f.Status != 0 || f.Delivery != "not_sent" || !slices.Equal(f.Candidates, want) {
						t.Errorf("%s as %s: %+v, want candidates %q", tool.Name, token, f, want)
					}
				}
			}
		}
	})
}

func TestProjectIsArgumentThenHeaderThenEnvironment(t *testing.T) {
	t.Parallel()
	up := record(t, nil)
	p := dial(t, way{"http", legacy}, settings{api: up.url, token: "any", project: "from-env"})
	for _, c := range []struct{ header, arguments, want string }{
		{"", `{}`, "from-env"},
		{"", `{"project":null}`, "from-env"},
		{"from-header", `{}`, "from-header"},
		{"from-header", `{"project":null}`, "from-header"},
		{"from-header", `{"project":"from-argument"}`, "from-argument"},
	} {
		if p.header = (http.Header{}); c.header != "" {
			p.header.Set("Viat-Project", c.header)
		}
		p.ok(t, "list_queue_triggers", c.arguments)
		if got := up.take(); len(got) != 1 || got[0].URI != "/v1/projects/"+c.want+"/queue-triggers" {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestAnUnknownToolIsInvalidParams(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		up := record(t, nil)
		a := connect(t, w, settings{api: up.url, token: "any"})
		for _, name := range []string{"nobody", "", "LIST_PROJECTS", "list-projects"} {
			if name == "" && w == (way{"http", modern}) {
				continue // has no header Mcp-Name, which the SDK refuses before it comes to that
			}
			if r := a.call(t, name, `{}`); r.rpc != -32602 {
				t.Errorf("%q: %+v", name, r)
			}
		}
		if got := up.take(); len(got) != 0 {
			t.Errorf("sent %+v", got)
		}
	})
}

func TestArgumentsOutsideTheSchemaAreRefusedAndNotSent(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		up := record(t, nil)
		a := connect(t, w, settings{api: up.url, token: "any", project: "mcp-lab"})
		for _, c := range []struct{ tool, arguments, pointer, expected string }{
			{"read_queue_trigger", `{}`, "/name", ""},
			{"read_queue_trigger", `{"name":7}`, "/name", "string"},
			{"read_queue_trigger", `{"name":"a","nmae":"b"}`, "/nmae", "name, project"},
			{"list_projects", `{"project":"x"}`, "/project", ""},
			{"create_queue_trigger", `{"name":"a b","queue":"q"}`, "/name", ""},
			{"create_queue_trigger", `{"name":"a","queue":"q","prefetch":0}`, "/prefetch", "1"},
			{"create_queue_trigger", `{"name":"a","queue":"q","prefetch":1.5}`, "/prefetch", "integer"},
			{"create_queue_trigger", `{"name":"a","queue":"q","enabled":"yes"}`, "/enabled", "boolean"},
			{"trigger.complete", `{"trigger_id":"t","outcome":"done"}`, "/outcome", "executed"},
			{"read_logs", `{"request_id":"r","limit":"10"}`, "/limit", "integer"},
		} {
			f := a.fails(t, c.tool, c.arguments)
			if f.Code != "invalid_arguments" || f.Pointer != c.pointer || !strings.Contains(f.Expected+f.Message, c.expected) || f.Status != 0 || f.Delivery != "not_sent" {
				t.Errorf("%s %s: %+v", c.tool, c.arguments, f)
			}
		}
		if got := up.take(); len(got) != 0 {
			t.Errorf("sent %+v", got)
		}
	})
}

func TestWithoutATokenStdioListsToolsAndAnswersCallsUnauthorized(t *testing.T) {
	t.Parallel()
	up := record(t, nil)
	p := dial(t, way{"stdio", legacy}, settings{api: up.url, project: "mcp-lab"})
	if list := p.request(t, "tools/list", "{}"); !strings.Contains(list, `"name":"list_projects"`) {
		t.Errorf("list %.300s", list)
	}
	for _, tool := range contract() {
		if f := p.call(t, tool.Name, tool.arguments(nil)).failure; f.Code != "unauthorized" || f.Delivery != "not_sent" || !strings.Contains(f.Message, "VIAT_TOKEN") {
			t.Errorf("%s: %+v", tool.Name, f)
		}
	}
	if got := up.take(); len(got) != 0 {
		t.Errorf("sent %+v", got)
	}
}

func TestMissingOrMalformedBearerIsChallenged(t *testing.T) {
	t.Parallel()
	up := record(t, nil)
	_, endpoint := serve(t, settings{api: up.url})
	client := httpClient(t)
	for _, authorization := range [][]string{nil, {""}, {"Bearer"}, {"Bearer "}, {"Basic YTpi"}, {"abc"}, {"Bearer a b"}, {"Bearer é"}, {"Bearer a", "Bearer b"},
		{"Bearer " + strings.Repeat("x", 5000)}} {
		for _, revision := range []string{legacy, modern} {
			p := &peer{way: way{"http", revision}, endpoint: endpoint, http: client, header: http.Header{}}
			if authorization != nil {
				p.header["Authorization"] = authorization
			}
			body, resp := p.post(t, p.message("tools/call", callParams("list_projects", "{}")), "tools/call", "list_projects")
			challenge := resp.Header.Get("WWW-Authenticate")
			if resp.StatusCode != 401 || !strings.HasPrefix(challenge, `Bearer realm="postern"`) || readEnvelope(t, body).Code != "unauthorized" {
				t.Errorf("%.40q at %s: %d %q %s", authorization, revision, resp.StatusCode, challenge, body)
			}
			for _, value := range authorization {
				if _, secret, _ := strings.Cut(value, " "); len(secret) > 2 && strings.Contains(body, secret) {
					t.Errorf("%.40q is repeated: %s", value, body)
				}
			}
		}
	}
	if got := up.take(); len(got) != 0 {
		t.Errorf("sent %+v", got)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := record(t, nil)
	t.Cleanup(func() {
		if got := elsewhere.take(); len(got) != 0 {
			t.Errorf("followed: %+v", got)
		}
	})
	eachWay(t, func(t *testing.T, w way) {
		up := record(t, nil)
		a := connect(t, w, settings{api: up.url, token: "any"})
		for _, status := range []int{301, 302, 303, 307, 308} {
			up.respond(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.url+"/lure", status) })
			for tool, arguments := range map[string]string{"list_projects": `{}`, "trigger.complete": `{"trigger_id":"t","outcome":"executed"}`} {
				f := a.fails(t, tool, arguments)
				if f.Code != "http_3xx" || f.Status != status || *f.Retryable || strings.Contains(f.Message, "lure") {
					t.Errorf("%s at %d: %+v", tool, status, f)
				}
			}
		}
	})
}

func TestAnAnswerOverTheCapIsResponseTooLarge(t *testing.T) {
	t.Parallel()
	for _, chunked := range []bool{false, true} {
		up := record(t, func(w http.ResponseWriter, _ *http.Request) {
			body := `"` + strings.Repeat("x", 2000) + `"`
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body[:1000])
			if chunked {
				w.(http.Flusher).Flush()
			}
			_, _ = io.WriteString(w, body[1000:])
		})
		eachWay(t, func(t *testing.T, w way) {
			a := connect(t, w, settings{api: up.url, token: "any", args: []string{"--max-response-bytes=1999"}})
			if f := a.fails(t, "list_projects", "{}"); f.Code != "response_too_large" || f.Status != 200 || f.Delivery != "answered" || *f.Retryable {
				t.Errorf("chunked %v: %+v", chunked, f)
			}
			b := connect(t, w, settings{api: up.url, token: "any", args: []string{"--max-response-bytes=2002"}})
			if text := b.ok(t, "list_projects", "{}"); len(text) != 2002 {
				t.Errorf("%d bytes", len(text))
			}
		})
	}
}
