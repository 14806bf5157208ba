package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// spellings are JSON values that a careless reader changes: compact, valid, and
// to be the same bytes everywhere.
var spellings = []string{
	`9007199254740993`, `-9007199254740993`, `18446744073709551616`, `1.0`, `-0`, `-0.0`, `1e400`, `1E+2`, `1e-400`, `0.1000`, `1.00000000000000000001`,
	`null`, `true`, `""`, `[]`, `{}`, `[[]]`, `[{}]`, `{"":{}}`, `[null]`,
	`{"z":1,"a":2,"m":{"z":null,"a":[]}}`, `{"a":null,"b":{"c":null}}`, `{"B":1,"b":2}`,
	`"<b>R&D</b>"`, `"\u003cb\u003e"`, `{"<&>":1}`,
	`"é"`, `"\u00e9"`, `"\u00E9"`, `"😀"`, `"\ud83d\ude00"`, "\"\u2028\u2029\"", `"\u2028"`, `"e\u0301"`, `"\u0000"`,
	`"\/"`, `"/"`, `"\"\\\b\f\n\r\t"`, `"\u0022"`, "\"\u007f\"", `"𝒳"`, "\"\ufeff\"",
	`{"1":1e2,"10":1.0,"2":[1.50,-0]}`, `{"__proto__":{"a":1},"constructor":1}`,
	`"` + strings.Repeat("x", 70_000) + `"`,
	strings.Repeat("[", 60) + strings.Repeat("]", 60),
}

func name(spelling string) string {
	if len(spelling) > 40 {
		return fmt.Sprintf("%.40s… (%d bytes)", spelling, len(spelling))
	}
	return spelling
}

// refusedBySDK says which request the SDK itself refuses: one whose params it
// reads into numbers of its own, to find the tool's name for its header check.
func refusedBySDK(w way, spelling string) bool {
	return w == way{"http", modern} && spelling == `1e400`
}

func TestArgsAreStoredAndReadBackAsTheyWereSpelled(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		p := dial(t, w, settings{api: plane(t), token: pat("full"), project: "mcp-lab"})
		for i, value := range spellings {
			arguments := fmt.Sprintf(`{"name":"t%d","queue":"q","args":%s}`, i, value)
			r := p.call(t, "create_queue_trigger", arguments)
			if refusedBySDK(w, value) {
				if r.rpc != -32020 || !strings.Contains(r.raw, "failed to extract name") {
					t.Errorf("%s: %s", value, r.raw)
				}
				continue
			}
			want := value
			if value == "null" {
				want = "{}" // null is omission, and {} what an omission means
			}
			text := r.text
			if !r.isError && r.rpc == 0 {
				text = p.ok(t, "read_queue_trigger", fmt.Sprintf(`{"name":"t%d"}`, i))
			}
			if !strings.Contains(text, `"args":`+want+`,"created_at"`) {
				t.Errorf("%s: %.400s", name(value), text)
			}
		}
	})
}

func TestPayloadsAreStoredAndReadBackAsTheyWereSpelled(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		p := dial(t, w, settings{api: plane(t), token: pat("full"), project: "mcp-lab"})
		for i, value := range spellings {
			r := p.call(t, "publish_queue_message", fmt.Sprintf(`{"queue":"mcp-demo","message_id":"m%d","payload":%s}`, i, value))
			if refusedBySDK(w, value) && r.rpc != 0 {
				continue
			}
			if r.isError || r.rpc != 0 {
				t.Errorf("%s: %s", name(value), r.raw)
				continue
			}
			fires := until(t, p, fmt.Sprintf(`"message_id":"m%d"`, i), "read_queue_trigger_fires", `{"name":"mcp_queue"}`)
			before, _, _ := strings.Cut(fires, fmt.Sprintf(`"message_id":"m%d"`, i))
			execution := before[strings.LastIndex(before, `"execution_id":"`)+len(`"execution_id":"`):][:36]
			run := p.ok(t, "read_execution", `{"execution_id":"`+execution+`"}`)
			logs := p.ok(t, "read_logs", `{"request_id":"`+field(t, run, "request_id")+`"}`)
			if !strings.Contains(logs, `"payload":`+value+`}`) {
				t.Errorf("%s: %.600s", name(value), logs)
			}
		}
	})
}

func TestBodiesReachTheControlPlaneAsTheyWereSpelled(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		up := record(t, nil)
		p := dial(t, w, settings{api: up.url, token: "any", project: "mcp-lab"})
		for _, value := range spellings {
			if refusedBySDK(w, value) {
				continue
			}
			p.ok(t, "publish_queue_message", `{"queue":"q","payload":`+value+`}`)
			if got := up.take(); len(got) != 1 || got[0].Body != `{"payload":`+value+`}` {
				t.Errorf("%s: %.300v", name(value), got)
			}
		}
		// Integers too stay as they were spelled, in the body and in the query.
		for _, number := range []string{"7", "7.0", "70e-1", "0.7E1"} {
			p.ok(t, "create_queue_trigger", `{"name":"n","queue":"q","prefetch":`+number+`}`)
			p.ok(t, "read_logs", `{"request_id":"r","limit":`+number+`}`)
			got := up.take()
			if want := `"prefetch":` + number; !strings.Contains(got[0].Body, want) {
				t.Errorf("%s: %s", want, got[0].Body)
			}
			if !strings.Contains(got[1].URI, "limit="+number) {
				t.Errorf("limit %s: %s", number, got[1].URI)
			}
		}
	})
}

func TestAnswersAreCompactedAndOtherwiseUntouched(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		up := record(t, nil)
		p := dial(t, w, settings{api: up.url, token: "any", project: "mcp-lab"})
		for _, value := range spellings {
			up.respond(reply(200, "application/json; charset=utf-8", " {\r\n\t\"z\" : "+value+" ,\n \"a\": [ "+value+" ] }\n"))
			want := `{"z":` + value + `,"a":[` + value + `]}`
			for _, tool := range []string{"list_projects", "trigger.inspect"} { // the second one's answer is searched for what is redacted
				arguments := "{}"
				if tool == "trigger.inspect" {
					arguments = `{"trigger_id":"t"}`
				}
				if got := p.ok(t, tool, arguments); got != want {
					t.Errorf("%s %s: %.300s", tool, name(value), got)
				}
			}
		}
	})
}

func reply(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		} else {
			w.Header()["Content-Type"] = nil
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestAnswersThatAreNotJSON(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		up := record(t, nil)
		p := dial(t, w, settings{api: up.url, token: "any"})
		for _, c := range []struct {
			status            int
			contentType, body string
			text, code        string
		}{
			{204, "", "", `{"status":204}`, ""},
			{200, "application/json", "", `{"status":200}`, ""},
			{202, "text/plain", " \n", `{"status":202}`, ""},
			{200, "text/plain", "plain <text>\n", "plain <text>\n", ""},
			{200, "text/html; charset=utf-8", "<p>", "<p>", ""},
			{200, "application/json", `{"a":`, "", "invalid_response"},
			{200, "application/json", "{\"a\":\"\xff\"}", "", "invalid_response"},
			{200, "text/plain", "\xff\xfe", "", "invalid_response"},
			{200, "application/json", `{} {}`, "", "invalid_response"},
			{500, "text/html", "<html><title>down</title></html>", "", "http_5xx"},
			{404, "application/json", "{\"a\":\"\xff\"}", "", "http_4xx"},
			{418, "", "", "", "http_4xx"},
			{300, "text/plain", "choose", "", "http_3xx"},
		} {
			up.respond(reply(c.status, c.contentType, c.body))
			r := p.call(t, "list_projects", "{}")
			if c.code == "" && r.text != c.text || r.failure.Code != c.code || c.code != "" && r.failure.Status != c.status {
				t.Errorf("%+v: %s", c, r.raw)
			}
		}
	})
}
