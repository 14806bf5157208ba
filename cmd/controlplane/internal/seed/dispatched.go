package seed

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/api"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/store"
)

// envelope spells a trigger in the order of the contract page, which the
// generated model does not keep.
type envelope struct {
	TriggerID     string          `json:"trigger_id"`
	DecisionID    string          `json:"decision_id"`
	ActionClass   string          `json:"action_class"`
	Mode          api.TriggerMode `json:"mode"`
	Counterparty  *party          `json:"counterparty,omitempty"`
	Payload       json.RawMessage `json:"payload"`
	Reasoning     string          `json:"reasoning"`
	Reversal      reversal        `json:"reversal"`
	ExpiresAt     string          `json:"expires_at"`
	SchemaVersion string          `json:"schema_version"`
}

type party struct {
	ID          string `json:"id"`
	DisplayName string `json:"display_name"`
}

type reversal struct {
	Path string `json:"path"`
}

// event is a trigger with where and when it was dispatched.
type event struct {
	envelope
	project      string
	dispatchedAt string
	ledgerEntry  string
	deliveries   []api.Delivery
	callbacks    []api.CallbackKind
}

// signingKey signs the demo's envelopes; the signature is stored so that tests
// can see that it never leaves.
var signingKey = []byte("demo signing key")

func dispatched(ctx context.Context, s *store.Store, now time.Time) error {
	events := append(recent(now), contractPage())
	slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.dispatchedAt, b.dispatchedAt) })
	for _, e := range events {
		raw, err := api.Marshal(e.envelope)
		if err != nil {
			return err
		}
		mac := hmac.New(sha256.New, signingKey)
		mac.Write(raw)
		err = s.AddDispatched(ctx, store.Dispatched{
			ID: e.TriggerID, Project: e.project, ActionClass: e.ActionClass, Mode: e.Mode,
			Envelope: raw, Signature: "sha256=" + hex.EncodeToString(mac.Sum(nil)),
			DispatchedAt: e.dispatchedAt, ExpiresAt: e.ExpiresAt,
			LedgerEntry: e.ledgerEntry, Deliveries: e.deliveries,
		})
		if err != nil {
			return err
		}
		if err := answer(ctx, s, e); err != nil {
			return err
		}
	}
	return nil
}

func answer(ctx context.Context, s *store.Store, e event) error {
	for _, kind := range e.callbacks {
		c := api.Callback{Kind: kind, Outcome: api.CallbackOutcomeExecuted}
		var reason *string
		if kind == api.Reverse {
			c.Outcome = api.CallbackOutcomeReversed
			why := "the customer asked for it"
			reason = &why
		}
		if _, err := s.Record(ctx, e.TriggerID, c, reason); err != nil {
			return err
		}
	}
	return nil
}

// contractPage is the trigger that the contract page of trigger.inspect shows.
func contractPage() event {
	return event{
		envelope: envelope{
			TriggerID: "trg_01HXP9DLQ", DecisionID: "dec_01HXP9COMM", ActionClass: "communicate", Mode: api.Ask,
			Counterparty: &party{"entity_01HXSARAH", "Sarah Chen"},
			Payload:      json.RawMessage(`{"what":"...","why":"..."}`),
			Reasoning:    "Trust gate L2 + rule R-12 fired",
			Reversal:     reversal{"trigger.reverse with reason"},
			ExpiresAt:    "2026-05-28T14:31:00Z", SchemaVersion: "2026-07-20",
		},
		project: MCPLab, dispatchedAt: "2026-05-27T14:31:00Z", ledgerEntry: "led_01HXP9TRG",
		deliveries: []api.Delivery{{
			Attempt: 1, DispatchedAt: "2026-05-27T14:31:00Z",
			ResponseStatus: ptr(502), ResponseLatencyMs: ptr(1820), Error: ptr("upstream gateway"),
		}},
	}
}

// recent are triggers dispatched in the days before now: one completed, one
// reversed and two pending of each mode in mcp-lab, and a pending one in each
// other project.
func recent(now time.Time) []event {
	at := func(hours int) string { return store.Stamp(now.Add(time.Duration(hours) * time.Hour)) }
	one := func(name, project string, mode api.TriggerMode, class, payload string, hours int) event {
		id := strings.ToUpper(name)
		return event{
			envelope: envelope{
				TriggerID: "trg_demo_" + name, DecisionID: "dec_DEMO_" + id, ActionClass: class, Mode: mode,
				Payload: json.RawMessage(payload), Reasoning: "Rule R-12 fired",
				Reversal: reversal{"trigger.reverse with reason"}, ExpiresAt: at(30 * 24), SchemaVersion: "2026-07-20",
			},
			project: project, dispatchedAt: at(hours), ledgerEntry: "led_DEMO_" + id,
			deliveries: []api.Delivery{{Attempt: 1, DispatchedAt: at(hours), ResponseStatus: ptr(200), ResponseLatencyMs: ptr(48)}},
		}
	}
	completed := one("completed", MCPLab, api.Ask, "communicate", `{"what":"Reply to Sarah Chen","why":"She asked twice"}`, -72)
	completed.callbacks = []api.CallbackKind{api.Complete}
	reversed := one("reversed", MCPLab, api.Act, "pay", `{"what":"Refund 12.50","why":"Order 4711 was late"}`, -60)
	reversed.callbacks = []api.CallbackKind{api.Complete, api.Reverse}
	return []event{
		completed, reversed,
		one("act_1", MCPLab, api.Act, "schedule", `{"what":"Move the stand-up to 09:30","why":"Two people are away"}`, -48),
		one("act_2", MCPLab, api.Act, "pay", `{"what":"Pay invoice 88","amount":1.0,"account":9007199254740993}`, -40),
		one("notify_after_1", MCPLab, api.NotifyAfter, "communicate", `{"what":"Tell the team <b>R&D</b>","why":"Release is out"}`, -32),
		one("notify_after_2", MCPLab, api.NotifyAfter, "schedule", `{"what":"Book a room","why":"Review on Friday"}`, -24),
		one("ask_1", MCPLab, api.Ask, "communicate", `{"what":"Answer the press","why":"Deadline today"}`, -16),
		one("ask_2", MCPLab, api.Ask, "pay", `{"what":"Renew the licence","why":"It ends this month"}`, -8),
		one("test_1", MCPLab, api.Test, "communicate", `{"what":"Nothing","why":"Checks the endpoint"}`, -4),
		one("test_2", MCPLab, api.Test, "schedule", `{"what":"Nothing","why":"Checks the endpoint again"}`, -2),
		one("other", OtherLab, api.Ask, "communicate", `{"what":"Say hello","why":"Another project's trigger"}`, -3),
		one("dormant", DormantLab, api.Ask, "communicate", `{"what":"Sleep","why":"The project is not activated"}`, -5),
	}
}

func ptr[T any](v T) *T { return &v }
