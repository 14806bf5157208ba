package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inspectExample is the example of the reference page of trigger.inspect.
const inspectExample = `{
  "trigger": {
    "trigger_id": "trg_01HXP9DLQ",
    "decision_id": "dec_01HXP9COMM",
    "action_class": "communicate",
    "mode": "ask",
    "counterparty": { "id": "entity_01HXSARAH", "display_name": "Sarah Chen" },
    "payload": { "what": "...", "why": "..." },
    "reasoning": "Trust gate L2 + rule R-12 fired",
    "reversal": { "path": "trigger.reverse with reason" },
    "expires_at": "2026-05-28T14:31:00Z",
    "schema_version": "2026-07-20"
  },
  "deliveries": [
    { "attempt": 1, "dispatched_at": "2026-05-27T14:31:00Z", "response_status": 502, "response_latency_ms": 1820, "error": "upstream gateway" }
  ],
  "ledger_entry_id": "led_01HXP9TRG"
}`

func TestInspectAnswersTheReferencePagesExampleWithoutASignature(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		a := connect(t, w, settings{api: plane(t), token: pat("full")})
		text := a.ok(t, "trigger.inspect", `{"trigger_id":"trg_01HXP9DLQ"}`)
		if diff := cmp.Diff(decoded(t, inspectExample), decoded(t, text)); diff != "" {
			t.Error(diff)
		}
		if strings.Contains(text, "signature") || strings.Contains(text, "sha256") {
			t.Errorf("signature in %s", text)
		}
	})
}

func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// An upstream that sends the signature does not get it past the gateway, in
// whatever spelling and also not inside an error body.
func TestSignatureIsRemovedWhateverTheUpstreamSends(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		up := record(t, nil)
		p := dial(t, w, settings{api: up.url, token: "any"})
		for _, status := range []int{200, 404, 500} {
			for _, body := range []string{
				`{"trigger":{"signature":"sha256=51gn","a":1}}`,
				`{"trigger":{"s\u0069gnature":"sha256=51gn","a":1}}`,
				`{"trigger":{"signature":1,"a":1,"signature":"sha256=51gn"}}`,
				`{"trigger":{"a":1},"trigger":{"signature":"sha256=51gn"}}`,
				`{"tr\u0069gger":{"signature":{"v":"sha256=51gn"}}}`,
				`{"detail":"x","context":{"trigger":{"signature":"sha256=51gn"}}}`,
				`{"triggers":1,"trigger":[{"signature":"sha256=51gn"}]}`,
			} {
				up.respond(reply(status, "application/json", body))
				if r := p.call(t, "trigger.inspect", `{"trigger_id":"t"}`); strings.Contains(r.raw, "51gn") {
					t.Errorf("%d %s: %s", status, body, r.raw)
				}
			}
		}
	})
}

// fireKeys are the keys of a record on the reference page.
var fireKeys = []string{"detail", "execution_id", "fired_at", "id", "message_id", "outcome", "redelivered", "routing_key", "trigger_id"}

func TestFiresAreABareArrayOfNineKeysNullsIncluded(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		a := connect(t, w, settings{api: plane(t), token: pat("full"), project: "mcp-lab"})
		const name = `{"project":"mcp-lab","name":"mcp_queue"}`
		if text := a.ok(t, "read_queue_trigger_fires", name); text != "[]" {
			t.Errorf("before any message: %s", text)
		}
		a.ok(t, "publish_queue_message", `{"queue":"mcp-demo","payload":null}`)
		text := until(t, a, `"outcome":"succeeded"`, "read_queue_trigger_fires", name)
		var fires []map[string]any
		if err := json.Unmarshal([]byte(text), &fires); err != nil || len(fires) != 1 {
			t.Fatalf("%v: %s", err, text)
		}
		var keys []string
		for key := range fires[0] {
			keys = append(keys, key)
		}
		if slices.Sort(keys); !slices.Equal(keys, fireKeys) {
			t.Errorf("keys %q", keys)
		}
		for key, want := range map[string]any{"detail": nil, "routing_key": nil, "redelivered": false} {
			if fires[0][key] != want {
				t.Errorf("%s: %v", key, fires[0][key])
			}
		}
	})
}

func TestFiresAreTheLatestFiftyNewestFirst(t *testing.T) {
	t.Parallel()
	a := connect(t, way{"http", modern}, settings{api: plane(t), token: pat("full"), project: "mcp-lab"})
	const name = `{"name":"mcp_queue"}`
	for i := range 60 {
		a.ok(t, "publish_queue_message", fmt.Sprintf(`{"queue":"mcp-demo","payload":%d,"message_id":"m%02d"}`, i, i))
	}
	var fires []struct {
		MessageID string `json:"message_id"`
		FiredAt   string `json:"fired_at"`
	}
	// Workers run side by side, so the last message need not be the last record.
	text := until(t, a, `"message_id":"m59"`, "read_queue_trigger_fires", name)
	if err := json.Unmarshal([]byte(text), &fires); err != nil || len(fires) != 50 {
		t.Fatalf("%v: %d records", err, len(fires))
	}
	for i := 1; i < len(fires); i++ {
		if fires[i].FiredAt > fires[i-1].FiredAt {
			t.Errorf("%+v comes after %+v", fires[i], fires[i-1])
		}
	}
}

func TestAFailedMessageIsRedeliveredUpToMaxAttempts(t *testing.T) {
	t.Parallel()
	a := connect(t, way{"stdio", modern}, settings{api: plane(t), token: pat("full"), project: "mcp-lab"})
	a.ok(t, "create_queue_trigger", `{"name":"failing","queue":"f","max_attempts":2,"args":{"fail":true}}`)
	a.ok(t, "publish_queue_message", `{"queue":"f","payload":1}`)
	text := until(t, a, "dead_lettered", "read_queue_trigger_fires", `{"name":"failing"}`)
	var fires []struct {
		Outcome     string
		Redelivered bool
	}
	if err := json.Unmarshal([]byte(text), &fires); err != nil || len(fires) != 2 ||
		!fires[0].Redelivered || fires[1].Redelivered || fires[1].Outcome != "failed" {
		t.Errorf("%v: %s", err, text)
	}
}

// What an agent does to find out what became of a message.
func TestAMessageCanBeFollowedToItsLogLines(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		a := connect(t, w, settings{api: plane(t), token: pat("developer"), project: "mcp-lab"})
		a.ok(t, "publish_queue_message", `{"queue":"mcp-demo","payload":{"order":4711},"message_id":"order-4711","routing_key":"eu"}`)
		fire := until(t, a, `"outcome":"succeeded"`, "read_queue_trigger_fires", `{"name":"mcp_queue"}`)
		if field(t, fire, "message_id") != "order-4711" || field(t, fire, "routing_key") != "eu" {
			t.Errorf("fire %s", fire)
		}
		id := field(t, fire, "execution_id")
		execution := until(t, a, `"status":"succeeded"`, "read_execution", `{"execution_id":"`+id+`"}`)
		logs := a.ok(t, "read_logs", `{"request_id":"`+field(t, execution, "request_id")+`"}`)
		if !strings.Contains(logs, `"payload":{"order":4711}`) || !strings.Contains(logs, "execution succeeded") {
			t.Errorf("logs %s", logs)
		}
		if text := a.ok(t, "read_logs", `{"request_id":"`+id+`"}`); text != "[]" {
			t.Errorf("an execution id is no request id: %s", text)
		}
	})
}
