package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestInitializeOrDiscoverNamesTheServer(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		a := connect(t, w, settings{api: record(t, nil).url, token: "any"})
		about := a.session.InitializeResult()
		if about.ServerInfo == nil || about.ServerInfo.Name != "postern" || about.ServerInfo.Version != "v0.0.0-test" {
			t.Errorf("server info %+v", about.ServerInfo)
		}
		if about.Capabilities.Tools == nil || about.Capabilities.Tools.ListChanged {
			t.Errorf("tools capability %+v", about.Capabilities.Tools)
		}
		if !strings.Contains(about.Instructions, "read_queue_trigger_fires") {
			t.Errorf("instructions %q", about.Instructions)
		}
	})
}

func TestListIsOneSortedPrivatePageEqualToTheContract(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		list, err := connect(t, w, settings{api: record(t, nil).url, token: "any"}).session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names, want []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		for _, tool := range contract() {
			want = append(want, tool.Name)
		}
		if !slices.Equal(names, want) || !slices.IsSorted(names) || len(names) != 15 {
			t.Errorf("tools %q, want %q", names, want)
		}
		if list.NextCursor != "" || list.CacheScope != "private" {
			t.Errorf("next cursor %q, cache scope %q", list.NextCursor, list.CacheScope)
		}
		raw := dial(t, w, settings{api: record(t, nil).url, token: "any"}).request(t, "tools/list", "{}")
		var answer struct {
			Result struct{ Tools []json.RawMessage }
		}
		if err := json.Unmarshal([]byte(raw), &answer); err != nil {
			t.Fatal(err)
		}
		for i, tool := range answer.Result.Tools {
			// An entry of the contract is the tool as listed and then what only a reviewer needs.
			if !strings.HasPrefix(contract()[i].compact, strings.TrimSuffix(string(tool), "}")+`,"method":`) {
				t.Errorf("listed   %s\ncontract %s", tool, contract()[i].compact)
			}
		}
	})
}

func TestListHasNoSecondPage(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		a := connect(t, w, settings{api: record(t, nil).url, token: "any"})
		if _, err := a.session.ListTools(t.Context(), &mcp.ListToolsParams{Cursor: "x"}); err == nil || !strings.Contains(err.Error(), "one page") {
			t.Errorf("error %v", err)
		}
	})
}

// A result at the modern revision says that it is complete; the SDK's own
// servers do, and its schema wants it.
func TestResultsSayThatTheyAreCompleteAtTheModernRevision(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"stdio", "http"} {
		p := dial(t, way{transport, modern}, settings{api: record(t, nil).url, token: "any"})
		for method, params := range map[string]string{"server/discover": "{}", "tools/list": "{}", "tools/call": callParams("list_projects", "{}")} {
			if answer := p.request(t, method, params); !strings.Contains(answer, `"resultType":"complete"`) {
				t.Errorf("%s %s: no resultType in %.300s", transport, method, answer)
			}
		}
	}
}

// step is a call that must succeed. $name in its arguments is the text of that
// name in the answers before.
type step struct{ tool, arguments, want string }

// everyTool calls each tool once, in an order in which each finds what it needs.
var everyTool = []step{
	{"list_projects", `{}`, `"slug":"mcp-lab"`},
	{"read_identity", `{}`, `"id":"pat_demo_full"`},
	{"list_queue_triggers", `{"project":"mcp-lab"}`, `"name":"mcp_queue"`},
	{"create_queue_trigger", `{"name":"e2e/one","queue":"q1","prefetch":5,"args":{"a":1.0}}`, `"args":{"a":1.0}`},
	{"read_queue_trigger", `{"name":"e2e/one"}`, `"prefetch":5,`},
	{"update_queue_trigger", `{"name":"e2e/one","enabled":false}`, `"enabled":false`},
	{"delete_queue_trigger", `{"name":"e2e/one"}`, `{"status":204}`},
	{"publish_queue_message", `{"queue":"mcp-demo","payload":{"n":1.0}}`, `"triggers":["mcp_queue"]`},
	{"read_queue_trigger_fires", `{"name":"mcp_queue"}`, `"outcome":"succeeded"`},
	{"read_execution", `{"execution_id":"$execution_id"}`, `"status":"succeeded"`},
	{"read_logs", `{"request_id":"$request_id"}`, `"payload":{"n":1.0}`},
	{"trigger.list", `{"mode":"ask","limit":1}`, `"next_cursor":"`},
	{"trigger.inspect", `{"trigger_id":"trg_demo_ask_1"}`, `"trigger_id":"trg_demo_ask_1"`},
	{"trigger.complete", `{"trigger_id":"trg_demo_ask_1","outcome":"executed"}`, `"outcome":"executed"`},
	{"trigger.reverse", `{"trigger_id":"trg_demo_ask_1","reason":"a mistake"}`, `"outcome":"reversed"`},
}

// callEveryTool calls each tool until it succeeds, and then after.
func callEveryTool(t *testing.T, c caller, after func()) {
	known := map[string]string{}
	for _, s := range everyTool {
		for name, value := range known {
			s.arguments = strings.ReplaceAll(s.arguments, "$"+name, value)
		}
		text := until(t, c, s.want, s.tool, s.arguments)
		after()
		for _, name := range []string{"execution_id", "request_id"} {
			if strings.Contains(text, `"`+name+`":"`) && !strings.HasPrefix(text, `{"lines"`) {
				known[name] = field(t, text, name)
			}
		}
	}
}

func TestEveryToolSucceeds(t *testing.T) {
	t.Parallel()
	for _, tool := range contract() {
		if !slices.ContainsFunc(everyTool, func(s step) bool { return s.tool == tool.Name }) {
			t.Errorf("%s is not called", tool.Name)
		}
	}
	eachWay(t, func(t *testing.T, w way) {
		a := connect(t, w, settings{api: plane(t), token: pat("full"), project: "mcp-lab"})
		callEveryTool(t, a, func() {})
	})
}
