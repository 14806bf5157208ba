package e2e

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unusual is a _meta that has more members than a template is looked up for, so that the
// SDK answers.
const unusual = `"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9`

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
