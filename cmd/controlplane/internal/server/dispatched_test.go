package server_test

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"testing"
)

type summary struct {
	TriggerID    string `json:"trigger_id"`
	Mode, Status string
	DispatchedAt string `json:"dispatched_at"`
}

type page struct {
	Triggers   []summary
	NextCursor *string `json:"next_cursor"`
}

type record struct {
	TriggerID string `json:"trigger_id"`
	Callback  struct {
		Kind, Outcome string
		ReceivedAt    string  `json:"received_at"`
		ExternalRef   *string `json:"external_ref"`
	}
	LedgerEntryID string `json:"ledger_entry_id"`
}

// contractPage is the example of the contract page of trigger.inspect.
const contractPage = `{"trigger":{"trigger_id":"trg_01HXP9DLQ","decision_id":"dec_01HXP9COMM","action_class":"communicate","mode":"ask",` +
	`"counterparty":{"id":"entity_01HXSARAH","display_name":"Sarah Chen"},"payload":{"what":"...","why":"..."},` +
	`"reasoning":"Trust gate L2 + rule R-12 fired","reversal":{"path":"trigger.reverse with reason"},` +
	`"expires_at":"2026-05-28T14:31:00Z","schema_version":"2026-07-20"},` +
	`"deliveries":[{"attempt":1,"dispatched_at":"2026-05-27T14:31:00Z","response_status":502,"response_latency_ms":1820,"error":"upstream gateway"}],` +
	`"ledger_entry_id":"led_01HXP9TRG"}`

func TestInspectAnswersAsTheContractPage(t *testing.T) {
	p := newPlane(t)
	if a := p.get("/v1/triggers/trg_01HXP9DLQ").is(200); a.body != contractPage {
		t.Errorf("got  %s\nwant %s", a.body, contractPage)
	}
}

func TestSignatureNeverLeaves(t *testing.T) {
	p := newPlane(t)
	for _, listed := range decode[page](p.get("/v1/triggers").is(200)).Triggers {
		a := p.get("/v1/triggers/" + listed.TriggerID).is(200)
		if strings.Contains(a.body, "signature") || strings.Contains(a.body, "sha256=") {
			t.Error(a.body)
		}
	}
}

func TestPagesCoverTheListOnceNewestFirst(t *testing.T) {
	p := newPlane(t)
	all := decode[page](p.get("/v1/triggers").is(200))
	if all.NextCursor != nil || len(all.Triggers) != 12 {
		t.Fatalf("%+v", all)
	}
	if !slices.IsSortedFunc(all.Triggers, func(a, b summary) int {
		return strings.Compare(b.DispatchedAt, a.DispatchedAt)
	}) {
		t.Errorf("not newest first: %+v", all.Triggers)
	}
	var seen []string
	cursor := ""
	for range 20 {
		got := decode[page](p.get("/v1/triggers?limit=5" + cursor).is(200))
		for _, one := range got.Triggers {
			seen = append(seen, one.TriggerID)
		}
		if got.NextCursor == nil {
			break
		}
		cursor = "&cursor=" + url.QueryEscape(*got.NextCursor)
	}
	var want []string
	for _, one := range all.Triggers {
		want = append(want, one.TriggerID)
	}
	if !slices.Equal(seen, want) {
		t.Errorf("pages %v, list %v", seen, want)
	}
	if got := decode[page](p.get("/v1/triggers?limit=12").is(200)); got.NextCursor != nil {
		t.Error("a full last page must not promise another")
	}
}

func TestListFilters(t *testing.T) {
	p := newPlane(t)
	got := decode[page](p.get("/v1/triggers?mode=ask&action_class=pay").is(200))
	if len(got.Triggers) != 1 || got.Triggers[0].TriggerID != "trg_demo_ask_2" || got.Triggers[0].Status != "pending" {
		t.Errorf("%+v", got)
	}
	if a := p.get("/v1/triggers?action_class=none").is(200); a.body != `{"next_cursor":null,"triggers":[]}` {
		t.Error(a.body)
	}
	for _, one := range decode[page](p.get("/v1/triggers").is(200)).Triggers {
		want := map[string]string{"trg_demo_completed": "completed", "trg_demo_reversed": "reversed"}[one.TriggerID]
		if want != "" && one.Status != want || one.TriggerID == "trg_demo_dormant" {
			t.Errorf("%+v", one)
		}
	}
}

func TestListLimitIsClamped(t *testing.T) {
	p := newPlane(t)
	for limit, want := range map[string]int{"0": 1, "-1": 1, "2": 2, "201": 12, "9223372036854775808": 12} {
		if got := decode[page](p.get("/v1/triggers?limit=" + limit).is(200)); len(got.Triggers) != want {
			t.Errorf("limit %s: %d triggers, want %d", limit, len(got.Triggers), want)
		}
	}
}

func TestCursorsMadeByHandAreRefused(t *testing.T) {
	p := newPlane(t)
	enc := base64.RawURLEncoding.EncodeToString
	for _, cursor := range []string{"", "5", "%%%", "!!", enc([]byte("5")), enc([]byte("1.x")), enc([]byte("1.-1")), enc([]byte("1.0")), enc([]byte("2.5")), strings.Repeat("A", 600)} {
		p.get("/v1/triggers?cursor="+url.QueryEscape(cursor)).problem(400, "invalid_cursor")
	}
}

func TestCompleteThenReverse(t *testing.T) {
	p := newPlane(t)
	path := "/v1/triggers/trg_demo_act_1"
	before := p.get(path).is(200)
	if strings.Contains(before.body, "callback") {
		t.Errorf("a pending trigger has a callback: %s", before.body)
	}
	done := decode[record](p.post(path+"/complete", `{"outcome":"executed","external_ref":"TICKET-17"}`).is(200))
	if done.Callback.Kind != "complete" || done.Callback.Outcome != "executed" || *done.Callback.ExternalRef != "TICKET-17" || !strings.HasPrefix(done.LedgerEntryID, "led_") {
		t.Errorf("%+v", done)
	}
	if a := p.get(path); !strings.Contains(a.body, `"ledger_entry_id":"`+done.LedgerEntryID+`"`) || !strings.Contains(a.body, `"kind":"complete"`) {
		t.Error(a.body)
	}
	p.post(path+"/complete", `{"outcome":"approved"}`).problem(409, "trigger_already_completed")

	a := p.post(path+"/reverse", `{"reason":"wrong person","external_ref":null}`).is(200)
	undone := decode[record](a)
	if undone.Callback.Kind != "reverse" || undone.Callback.Outcome != "reversed" || undone.LedgerEntryID == done.LedgerEntryID || strings.Contains(a.body, "external_ref") {
		t.Error(a.body)
	}
	p.post(path+"/reverse", `{"reason":"again"}`).problem(409, "trigger_already_reversed")
	p.post(path+"/complete", `{"outcome":"executed"}`).problem(409, "trigger_already_reversed")
}

func TestExpiredTriggerCanBeReversedButNotCompleted(t *testing.T) {
	p := newPlane(t)
	p.post("/v1/triggers/trg_01HXP9DLQ/complete", `{"outcome":"executed"}`).problem(409, "trigger_expired")
	p.post("/v1/triggers/trg_01HXP9DLQ/reverse", `{"reason":"it may have been sent"}`).is(200)
}

func TestEveryModeHasSomethingPending(t *testing.T) {
	p := newPlane(t)
	for _, mode := range []string{"act", "notify_after", "ask", "test"} {
		pending := 0
		for _, one := range decode[page](p.get("/v1/triggers?mode=" + mode).is(200)).Triggers {
			if one.Status == "pending" {
				pending++
			}
		}
		if pending < 2 {
			t.Errorf("mode %s: %d pending", mode, pending)
		}
	}
}
