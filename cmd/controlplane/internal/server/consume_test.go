package server_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

type fire struct {
	ID, Outcome string
	TriggerID   string  `json:"trigger_id"`
	ExecutionID *string `json:"execution_id"`
	MessageID   *string `json:"message_id"`
	RoutingKey  *string `json:"routing_key"`
	Redelivered bool
	Detail      *string
	FiredAt     string `json:"fired_at"`
}

type execution struct {
	ID                 string
	RequestID          string `json:"request_id"`
	Trigger, MessageID *string
	Attempt            int
	Status             string
	Failure            *string
	FinishedAt         *string `json:"finished_at"`
}

type logLine struct {
	ID             int64
	Level, Message string
}

// fires waits until a trigger has n records.
func (p *plane) fires(trigger string, n int) []fire {
	p.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		fires := decode[[]fire](p.get(lab + "/queue-triggers/" + trigger + "/fires").is(200))
		if len(fires) >= n || time.Now().After(deadline) {
			if len(fires) != n {
				p.t.Fatalf("%s: %d fires, want %d", trigger, len(fires), n)
			}
			return fires
		}
	}
}

func (p *plane) execution(f fire) execution {
	p.t.Helper()
	return decode[execution](p.get(lab + "/executions/" + *f.ExecutionID).is(200))
}

func TestPublishedMessageCanBeFollowedToItsLogs(t *testing.T) {
	p := newPlane(t)
	if a := p.get(lab + "/queue-triggers/mcp_queue/fires").is(200); a.body != "[]" {
		t.Fatalf("fires before the first message: %s", a.body)
	}
	a := p.post(lab+"/queues/mcp-demo/messages", `{"payload":{"order":4711},"message_id":"msg-1"}`).is(202)
	if !strings.Contains(a.body, `"triggers":["mcp_queue"]`) || !strings.Contains(a.body, `"message_id":"msg-1"`) || !strings.Contains(a.body, `"routing_key":null`) {
		t.Error(a.body)
	}
	f := p.fires("mcp_queue", 1)[0]
	if f.Outcome != "succeeded" || f.Redelivered || f.Detail != nil || *f.MessageID != "msg-1" {
		t.Errorf("%+v", f)
	}
	e := p.execution(f)
	if e.Status != "succeeded" || e.Attempt != 1 || *e.Trigger != "mcp_queue" || e.FinishedAt == nil || !strings.HasPrefix(e.RequestID, "req_") {
		t.Errorf("%+v", e)
	}
	logs := lab + "/logs?request_id=" + e.RequestID
	all := decode[[]logLine](p.get(logs).is(200))
	if len(all) != 3 || all[0].Level != "debug" || all[0].ID >= all[2].ID {
		t.Errorf("%+v", all)
	}
	if lines := decode[[]logLine](p.get(logs + "&level=info").is(200)); len(lines) != 2 {
		t.Errorf("from info on: %+v", lines)
	}
	for _, elsewhere := range []string{lab + "/logs?request_id=" + *f.ExecutionID, "/v1/projects/other-lab/logs?request_id=" + e.RequestID} {
		if a := p.get(elsewhere).is(200); a.body != "[]" {
			t.Errorf("%s: %s", elsewhere, a.body)
		}
	}
	p.get("/v1/projects/other-lab/executions/"+*f.ExecutionID).problem(404, "execution_not_found")
}

func TestFiresKeepNullKeys(t *testing.T) {
	p := newPlane(t)
	p.post(lab+"/queues/mcp-demo/messages", `{"payload":null}`).is(202)
	p.fires("mcp_queue", 1)
	a := p.get(lab + "/queue-triggers/mcp_queue/fires")
	for _, key := range []string{`"detail":null`, `"routing_key":null`} {
		if !strings.Contains(a.body, key) {
			t.Errorf("%s lacks %s", a.body, key)
		}
	}
}

func TestFailureIsRedeliveredUntilItIsDeadLettered(t *testing.T) {
	p := newPlane(t)
	p.post(lab+"/queue-triggers", `{"name":"failing","queue":"f","max_attempts":3,"args":{"fail": true}}`).is(201)
	p.post(lab+"/queues/f/messages", `{"payload":1}`).is(202)
	fires := p.fires("failing", 3)
	for i, want := range []struct {
		outcome     string
		redelivered bool
	}{{"dead_lettered", true}, {"failed", true}, {"failed", false}} {
		f := fires[i]
		if f.Outcome != want.outcome || f.Redelivered != want.redelivered || f.Detail == nil {
			t.Errorf("fire %d: %+v", i, f)
		}
		e := p.execution(f)
		if e.Attempt != 3-i || e.Status != "failed" || e.Failure == nil {
			t.Errorf("execution %d: %+v", i, e)
		}
		if lines := decode[[]logLine](p.get(lab + "/logs?level=error&request_id=" + e.RequestID)); len(lines) != 1 {
			t.Errorf("error lines: %+v", lines)
		}
	}
	time.Sleep(100 * time.Millisecond)
	p.fires("failing", 3)
}

func TestMessagesWaitUntilATriggerIsEnabledOrCreated(t *testing.T) {
	p := newPlane(t)
	p.call(full, "PATCH", lab+"/queue-triggers/mcp_queue", `{"enabled":false}`).is(200)
	a := p.post(lab+"/queues/mcp-demo/messages", `{"payload":1}`).is(202)
	if !strings.Contains(a.body, `"triggers":[]`) {
		t.Error(a.body)
	}
	p.post(lab+"/queues/later/messages", `{"payload":2}`).is(202)
	time.Sleep(50 * time.Millisecond)
	p.fires("mcp_queue", 0)
	p.call(full, "PATCH", lab+"/queue-triggers/mcp_queue", `{"enabled":true}`).is(200)
	p.fires("mcp_queue", 1)
	p.post(lab+"/queue-triggers", `{"name":"late","queue":"later"}`).is(201)
	p.fires("late", 1)
}

func TestEachMatchingTriggerConsumesOnce(t *testing.T) {
	p := newPlane(t)
	for _, body := range []string{
		`{"name":"all","queue":"q"}`, `{"name":"a","queue":"q","routing_key":"a"}`,
		`{"name":"b","queue":"q","routing_key":"b"}`, `{"name":"off","queue":"q","enabled":false}`,
	} {
		p.post(lab+"/queue-triggers", body).is(201)
	}
	for body, routed := range map[string]string{
		`{"payload":1,"routing_key":"a"}`: `"triggers":["a","all"]`,
		`{"payload":1,"routing_key":"b"}`: `"triggers":["all","b"]`,
		`{"payload":1}`:                   `"triggers":["all"]`,
		`{"payload":1,"routing_key":""}`:  `"triggers":["all"]`,
	} {
		if a := p.post(lab+"/queues/q/messages", body).is(202); !strings.Contains(a.body, routed) {
			t.Errorf("%s: %s, want %s", body, a.body, routed)
		}
	}
	p.fires("all", 4)
	p.fires("a", 1)
	p.fires("b", 1)
	p.call(full, "PATCH", lab+"/queue-triggers/off", `{"enabled":true}`).is(200)
	time.Sleep(50 * time.Millisecond)
	p.fires("off", 0)
}

func TestSameMessageIDIsDeliveredTwice(t *testing.T) {
	p := newPlane(t)
	for range 2 {
		p.post(lab+"/queues/mcp-demo/messages", `{"payload":1,"message_id":"same"}`).is(202)
	}
	p.fires("mcp_queue", 2)
}

func TestFiresAreTheLatestFifty(t *testing.T) {
	p := newPlane(t)
	p.call(full, "PATCH", lab+"/queue-triggers/mcp_queue", `{"prefetch":1}`).is(200)
	for i := range 53 {
		p.post(lab+"/queues/mcp-demo/messages", fmt.Sprintf(`{"payload":1,"message_id":"m%d"}`, i)).is(202)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		fires := p.fires("mcp_queue", 50)
		if *fires[0].MessageID == "m52" {
			if *fires[49].MessageID != "m3" {
				t.Errorf("the oldest is %s", *fires[49].MessageID)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the newest is %s", *fires[0].MessageID)
		}
	}
}

func TestDeletingATriggerKeepsExecutionsAndWaitingMessages(t *testing.T) {
	p := newPlane(t)
	p.post(lab+"/queues/mcp-demo/messages", `{"payload":1}`).is(202)
	f := p.fires("mcp_queue", 1)[0]
	p.post(lab+"/queue-triggers", `{"name":"paused","queue":"w","enabled":false}`).is(201)
	p.post(lab+"/queues/w/messages", `{"payload":1}`).is(202)
	for _, name := range []string{"mcp_queue", "paused"} {
		p.call(full, "DELETE", lab+"/queue-triggers/"+name, "").is(204)
		p.get(lab+"/queue-triggers/"+name+"/fires").problem(404, "queue_trigger_not_found")
	}
	a := p.get(lab + "/executions/" + *f.ExecutionID).is(200)
	if !strings.Contains(a.body, `"trigger":null`) || !strings.Contains(a.body, `"failure":null`) {
		t.Error(a.body)
	}
	p.post(lab+"/queue-triggers", `{"name":"next","queue":"w"}`).is(201)
	p.fires("next", 1)
	p.post(lab+"/queue-triggers", `{"name":"mcp_queue","queue":"mcp-demo"}`).is(201)
	time.Sleep(50 * time.Millisecond)
	p.fires("mcp_queue", 0)
}

// spelled holds what a decoder or a careless encoder would change.
const spelled = `{"z":9007199254740993,"a":[1.0,1e400,-0,0.10],"b":"<a href=\"x\">&</a>","c":"é😀\u2028\u003c","":null,"n":{"y":[],"x":{}},"z":1}`

func TestJSONIsKeptByteForByte(t *testing.T) {
	p := newPlane(t)
	a := p.post(lab+"/queue-triggers", `{"name":"exact","queue":"e","args": `+spelled+`}`).is(201)
	for _, a := range []answer{a, p.get(lab + "/queue-triggers/exact"), p.get(lab + "/queue-triggers")} {
		if !strings.Contains(a.body, `"args":`+spelled) {
			t.Errorf("%s: %s", a.what, a.body)
		}
	}
	for i, payload := range []string{spelled, "null", `""`, "[]", "1e400", "\"\u2028<&>\""} {
		p.post(lab+"/queues/e/messages", `{"payload":`+payload+`}`).is(202)
		f := p.fires("exact", i+1)[0]
		a := p.get(lab + "/executions/" + *f.ExecutionID).is(200)
		if !strings.Contains(a.body, `"args":`+spelled) {
			t.Errorf("execution: %s", a.body)
		}
		a = p.get(lab + "/logs?level=debug&limit=1&request_id=" + decode[execution](a).RequestID).is(200)
		if !strings.Contains(a.body, `"payload":`+payload+`}`) {
			t.Errorf("log: %s, want payload %s", a.body, payload)
		}
	}
}

func TestMessageSize(t *testing.T) {
	p := newPlane(t)
	text := func(n int) string { return `{"payload":"` + strings.Repeat("x", n-2) + `"}` }
	p.post(lab+"/queues/big/messages", text(256<<10)).is(202)
	p.post(lab+"/queues/big/messages", text(256<<10+1)).problem(413, "message_too_large")
	p.post(lab+"/queues/big/messages", text(2<<20)).problem(413, "message_too_large")
}

func TestLogLimitIsClamped(t *testing.T) {
	p := newPlane(t)
	p.post(lab+"/queues/mcp-demo/messages", `{"payload":1}`).is(202)
	e := p.execution(p.fires("mcp_queue", 1)[0])
	for limit, want := range map[string]int{
		"0": 1, "-5": 1, "-99999999999999999999": 1, "1": 1, "2": 2, "501": 3, "99999999999999999999999": 3,
	} {
		lines := decode[[]logLine](p.get(lab + "/logs?request_id=" + url.QueryEscape(e.RequestID) + "&limit=" + limit).is(200))
		if len(lines) != want {
			t.Errorf("limit %s: %d lines, want %d", limit, len(lines), want)
		}
	}
}
