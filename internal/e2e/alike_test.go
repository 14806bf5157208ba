package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unusual is a _meta with more members than any client sends, so that the SDK answers.
var unusual = func() string {
	var members []string
	for i := range 100 {
		members = append(members, fmt.Sprintf(`"m%d":%d`, i, i))
	}
	return strings.Join(members, ",")
}()

// failing are calls that fail once everyTool is through.
var failing = []step{
	{tool: "create_queue_trigger", arguments: `{"name":"mcp_queue","queue":"q"}`},
	{tool: "read_queue_trigger", arguments: `{"name":"nope"}`},
	{tool: "list_queue_triggers", arguments: `{"project":"nope"}`},
	{tool: "update_queue_trigger", arguments: `{"name":"mcp_queue","prefetch":5000}`},
	{tool: "trigger.reverse", arguments: `{"trigger_id":"trg_demo_ask_1","reason":"again"}`},
	{tool: "trigger.complete", arguments: `{"trigger_id":"trg_demo_ask_1","outcome":"executed"}`},
	{tool: "read_execution", arguments: `{"execution_id":"no-uuid"}`},
	{tool: "list_projects", arguments: `{"nope":1}`},
	{tool: "nope", arguments: `{}`},
}

// individual are the parts of an answer that differ from one control plane to the next.
var individual = regexp.MustCompile(`^\{"jsonrpc":"2.0","id":\d+|[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[0-9:.]+Z|(rq|req|led|msg)_[0-9A-Za-z]+`)

// Whether a template makes the answer or the SDK: every tool, in success and in failure,
// is answered alike.
func TestEveryToolIsAnsweredAlikeByTemplateAndSDK(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		answers := func(more string) []string {
			p := dial(t, w, settings{api: plane(t), token: pat("full"), project: "mcp-lab"})
			p.more = more
			last := ""
			p.watch = func(_, message string) { last = message }
			var all []string
			note := func() { all = append(all, individual.ReplaceAllString(last, "*")) }
			p.ok(t, "list_projects", `{}`) // what a template is learned from
			p.request(t, "tools/list", `{}`)
			p.request(t, "tools/list", `{}`)
			note()
			if w.transport == "http" { // of which only a template's answer says its length
				message := p.message("tools/list", "{}")
				if _, resp := p.post(t, message, "tools/list", ""); (resp.ContentLength < 0) != (more == unusual) {
					t.Errorf("a length of %d is not of the way that was to answer %s", resp.ContentLength, message)
				}
			}
			callEveryTool(t, p, note)
			for _, s := range failing {
				if r := p.call(t, s.tool, s.arguments); !r.isError && r.rpc == 0 {
					t.Errorf("%s %s did not fail: %s", s.tool, s.arguments, r.raw)
				}
				note()
			}
			return all
		}
		if diff := cmp.Diff(answers(unusual), answers("")); diff != "" {
			t.Errorf("(-the SDK +with templates):\n%s", diff)
		}
	})
}
