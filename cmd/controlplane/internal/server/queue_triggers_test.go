package server_test

import (
	"strings"
	"testing"
)

type queueTrigger struct {
	ID, Name, Queue string
	RoutingKey      *string `json:"routing_key"`
	Enabled         bool
	Prefetch        int
	MaxAttempts     int `json:"max_attempts"`
}

func TestCreateFillsInDefaults(t *testing.T) {
	p := newPlane(t)
	for _, body := range []string{
		`{"name":"a","queue":"q"}`,
		`{"name":"b","queue":"q","routing_key":null,"enabled":null,"prefetch":null,"max_attempts":null,"args":null}`,
		`{"name":"c","queue":"q","routing_key":""}`,
	} {
		a := p.post(lab+"/queue-triggers", body).is(201)
		got := decode[queueTrigger](a)
		if got.RoutingKey != nil || !got.Enabled || got.Prefetch != 10 || got.MaxAttempts != 3 || !strings.Contains(a.body, `"args":{}`) {
			t.Errorf("%s: %s", body, a.body)
		}
		if !strings.Contains(a.body, `"routing_key":null`) {
			t.Errorf("null keys must stay: %s", a.body)
		}
	}
	p.post(lab+"/queue-triggers", `{"name":"a","queue":"other"}`).problem(409, "queue_trigger_exists")
	if got := decode[queueTrigger](p.get(lab + "/queue-triggers/a").is(200)); got.Queue != "q" {
		t.Errorf("a refused creation changed the queue to %q", got.Queue)
	}
}

func TestNamesInFoldersAreAddressedEscaped(t *testing.T) {
	p := newPlane(t)
	p.post(lab+"/queue-triggers", `{"name":"folder/sub/orders","queue":"q"}`).is(201)
	path := lab + "/queue-triggers/folder%2Fsub%2Forders"
	if got := decode[queueTrigger](p.get(path).is(200)); got.Name != "folder/sub/orders" {
		t.Errorf("name %q", got.Name)
	}
	p.get(path + "/fires").is(200)
	p.call(full, "DELETE", path, "").is(204)
	p.get(path).problem(404, "queue_trigger_not_found")
}

func TestListIsOrderedByName(t *testing.T) {
	p := newPlane(t)
	p.post(lab+"/queue-triggers", `{"name":"z","queue":"q"}`).is(201)
	p.post(lab+"/queue-triggers", `{"name":"a","queue":"q","enabled":false}`).is(201)
	var names []string
	for _, q := range decode[[]queueTrigger](p.get(lab + "/queue-triggers").is(200)) {
		names = append(names, q.Name)
	}
	if got := strings.Join(names, " "); got != "a mcp_queue z" {
		t.Error(got)
	}
	if a := p.get("/v1/projects/other-lab/queue-triggers").is(200); a.body != "[]" {
		t.Error(a.body)
	}
}

func TestUpdateKeepsWhatIsLeftOut(t *testing.T) {
	p := newPlane(t)
	path := lab + "/queue-triggers/x"
	p.post(lab+"/queue-triggers", `{"name":"x","queue":"q","routing_key":"k","prefetch":7,"max_attempts":9,"args":{"a":1.0}}`).is(201)
	for _, body := range []string{`{}`, `{"routing_key":null,"enabled":null,"args":null,"queue":null}`} {
		a := p.call(full, "PATCH", path, body).is(200)
		got := decode[queueTrigger](a)
		if got.Queue != "q" || got.RoutingKey == nil || *got.RoutingKey != "k" || !got.Enabled || got.Prefetch != 7 || got.MaxAttempts != 9 || !strings.Contains(a.body, `"args":{"a":1.0}`) {
			t.Errorf("%s: %s", body, a.body)
		}
	}
	a := p.call(full, "PATCH", path, `{"routing_key":"","enabled":false,"prefetch":1e1,"args":[]}`).is(200)
	got := decode[queueTrigger](a)
	if got.RoutingKey != nil || got.Enabled || got.Prefetch != 10 || !strings.Contains(a.body, `"args":[]`) {
		t.Error(a.body)
	}
	p.call(full, "PATCH", lab+"/queue-triggers/none", `{}`).problem(404, "queue_trigger_not_found")
}

func TestValuesThatAreRefused(t *testing.T) {
	p := newPlane(t)
	long := func(n int) string { return strings.Repeat("é", n) }
	create, change, publish := lab+"/queue-triggers", lab+"/queue-triggers/mcp_queue", lab+"/queues/q/messages"
	complete, reverse := "/v1/triggers/trg_demo_ask_1/complete", "/v1/triggers/trg_demo_ask_1/reverse"
	for _, c := range []struct{ method, path, body, pointers string }{
		{"POST", create, `{}`, "/name /queue"},
		{"POST", create, `{"name":null,"queue":null}`, "/name /queue"},
		{"POST", create, `{"name":1,"queue":{}}`, "/name /queue"},
		{"POST", create, `{"name":"","queue":""}`, "/name /queue"},
		{"POST", create, `{"name":"` + strings.Repeat("n", 256) + `","queue":"` + long(256) + `"}`, "/name /queue"},
		{"POST", create, `{"name":"/a","queue":"q"}`, "/name"},
		{"POST", create, `{"name":"a/","queue":"q"}`, "/name"},
		{"POST", create, `{"name":"..","queue":"q"}`, "/name"},
		{"POST", create, `{"name":"a b","queue":"q"}`, "/name"},
		{"POST", create, `{"name":"a\n","queue":"q"}`, "/name"},
		{"POST", create, `{"name":"a","queue":"q","x/y~z":1,"Enabled":true}`, "/x~1y~0z /Enabled"},
		{"POST", create, `{"name":"a","queue":"q","queue":"r"}`, "/queue"},
		{"POST", create, `{"name":"a","queue":"q","prefetch":0,"max_attempts":0}`, "/prefetch /max_attempts"},
		{"POST", create, `{"name":"a","queue":"q","prefetch":1001,"max_attempts":26}`, "/prefetch /max_attempts"},
		{"POST", create, `{"name":"a","queue":"q","prefetch":1.5,"max_attempts":"3"}`, "/prefetch /max_attempts"},
		{"POST", create, `{"name":"a","queue":"q","prefetch":1e400,"max_attempts":99999999999999999999}`, "/prefetch /max_attempts"},
		{"POST", create, `{"name":"a","queue":"q","enabled":"true","routing_key":"` + long(256) + `"}`, "/routing_key /enabled"},
		{"PATCH", change, `{"queue":"","name":"b"}`, "/queue /name"},
		{"POST", publish, `{}`, "/payload"},
		{"POST", publish, `{"payload":1,"message_id":"","routing_key":7}`, "/routing_key /message_id"},
		{"POST", publish, `{"payload":1,"message_id":"` + long(129) + `"}`, "/message_id"},
		{"POST", lab + "/queues/" + strings.Repeat("q", 256) + "/messages", `{"payload":1}`, "/queue"},
		{"POST", lab + "/queues/%ff/messages", `{"payload":1}`, "/queue"},
		{"POST", complete, `{}`, "/outcome"},
		{"POST", complete, `{"outcome":"reversed"}`, "/outcome"},
		{"POST", complete, `{"outcome":""}`, "/outcome"},
		{"POST", complete, `{"outcome":"executed","external_ref":"` + long(256) + `"}`, "/external_ref"},
		{"POST", reverse, `{"reason":""}`, "/reason"},
		{"POST", reverse, `{"reason":"` + long(2001) + `"}`, "/reason"},
		{"GET", lab + "/logs", "", "/request_id"},
		{"GET", lab + "/logs?request_id=", "", "/request_id"},
		{"GET", lab + "/logs?request_id=" + strings.Repeat("r", 129), "", "/request_id"},
		{"GET", lab + "/logs?request_id=r&level=fatal", "", "/level"},
		{"GET", lab + "/logs?request_id=r&limit=ten", "", "/limit"},
		{"GET", lab + "/logs?request_id=r&limit=1.5", "", "/limit"},
		{"GET", "/v1/triggers?mode=never", "", "/mode"},
		{"GET", "/v1/triggers?limit=", "", "/limit"},
		{"GET", "/v1/triggers?action_class=" + strings.Repeat("c", 129), "", "/action_class"},
	} {
		d := p.call(full, c.method, c.path, c.body).problem(422, "validation_failed")
		var pointers []string
		for _, e := range d.Errors {
			pointers = append(pointers, e.Pointer)
			if e.Detail == "" {
				t.Errorf("%s %s: %s has no detail", c.path, c.body, e.Pointer)
			}
		}
		if got := strings.Join(pointers, " "); got != c.pointers {
			t.Errorf("%s %s: pointers %q, want %q", c.path, c.body, got, c.pointers)
		}
	}
	p.get(lab+"/logs?request_id=a&request_id=b").problem(400, "malformed_request")
	p.post(create, `{"name":"`+strings.Repeat("n", 255)+`","queue":"`+long(255)+`","prefetch":1000,"max_attempts":25}`).is(201)
}
