package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postern-mcp/postern/internal/faulty"
)

// tokenPrefix begins every caller's token, so that one can be found anywhere.
const tokenPrefix = "soak_token_"

// faults lets most requests through and does something else to each of the rest.
func faults() func(int) faulty.Fault {
	others := []faulty.Fault{
		faulty.ResetBeforeRequest, faulty.CloseBeforeRequest, faulty.ResetAfterRequest, faulty.CloseAfterRequest,
		faulty.StallBeforeRequest, faulty.StallAfterRequest, faulty.StallInHeader, faulty.StallInBody, faulty.Drip, faulty.Events,
		faulty.Truncated, faulty.TruncatedChunk, faulty.ResetInBody, faulty.BadGzip, faulty.Bomb, faulty.HugeLength, faulty.HugeHeader, faulty.Garbage,
		faulty.Malformed, faulty.HTMLPage, faulty.NotFound, faulty.EarlyHints,
		faulty.Status(500, "text/plain", "oops"), faulty.Status(503, "application/json", `{"detail":"busy"}`),
		faulty.Status(429, "application/json", `{}`, "Retry-After: 0"), faulty.Status(429, "application/json", `{}`, "Retry-After: 60"),
		faulty.Status(401, "application/json", `{"detail":"no"}`), faulty.Status(302, "text/html", "", "Location: /x"),
	}
	return func(int) faulty.Fault {
		if i := rand.N(6 * len(others)); i < len(others) {
			return others[i]
		}
		return faulty.Echo
	}
}

// tool is a call that is made, with %s for what tells it apart from every other.
type tool struct {
	name, arguments string
	method, target  string
	body            string
	repeatable      bool
}

var tools = []tool{
	{"list_queue_triggers", `{"project":"%s"}`, "GET", "/v1/projects/%s/queue-triggers", "", true},
	{"read_queue_trigger", `{"project":"p","name":"%s"}`, "GET", "/v1/projects/p/queue-triggers/%s", "", true},
	{"read_logs", `{"project":"p","request_id":"%s","limit":5}`, "GET", "/v1/projects/p/logs?request_id=%s&limit=5", "", true},
	{"delete_queue_trigger", `{"project":"p","name":"%s"}`, "DELETE", "/v1/projects/p/queue-triggers/%s", "", true},
	{"publish_queue_message", `{"project":"p","queue":"q","payload":{"n":"%s"}}`, "POST", "/v1/projects/p/queues/q/messages", `{"payload":{"n":"%s"}}`, false},
	{"update_queue_trigger", `{"project":"p","name":"%s","enabled":true}`, "PATCH", "/v1/projects/p/queue-triggers/%s", `{"enabled":true}`, false},
	{"trigger.complete", `{"trigger_id":"%s","outcome":"executed"}`, "POST", "/v1/triggers/%s/complete", `{"outcome":"executed"}`, false},
}

// load calls tools and judges what comes back.
type load struct {
	endpoint string

	mu       sync.Mutex
	calls    int
	outcomes map[string]int
	writes   map[string]bool // what tells the writes apart that must arrive at most once
	faults   []string
}

func (l *load) fault(format string, args ...any) {
	if len(l.faults) < 20 {
		l.faults = append(l.faults, fmt.Sprintf(format, args...))
	}
}

// run has every client call for a time, then disconnect.
func (l *load) run(ctx context.Context, clients int, length time.Duration) error {
	end := time.Now().Add(length)
	errs := make(chan error, clients)
	for i := range clients {
		go func() { errs <- l.client(ctx, i, end) }()
	}
	var err error
	for range clients {
		err = errors.Join(err, <-errs)
	}
	return err
}

type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return connections.RoundTrip(r)
}

// connections are shared by the clients, as behind a proxy.
var connections = &http.Transport{MaxIdleConnsPerHost: 256}

func (l *load) client(ctx context.Context, i int, end time.Time) error {
	token := fmt.Sprintf("%s%d", tokenPrefix, i)
	revision := []string{"2025-11-25", "2026-07-28"}[i%2]
	client := mcp.NewClient(&mcp.Implementation{Name: "soak", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: l.endpoint, HTTPClient: &http.Client{Transport: bearer{token}}, DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		return err
	}
	defer func() { _ = session.Close() }()
	for n := 0; time.Now().Before(end); n++ {
		t := &tools[rand.N(len(tools))]
		mark := fmt.Sprintf("m-%d-%d-%d", i, n, rand.Uint64())
		if rand.N(50) == 0 {
			brief, cancel := context.WithTimeout(ctx, rand.N(20*time.Millisecond))
			_, _ = session.CallTool(brief, &mcp.CallToolParams{Name: t.name, Arguments: json.RawMessage(fill(t.arguments, mark))})
			cancel()
			l.note(t, mark, "given up by the client")
			continue
		}
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: t.name, Arguments: json.RawMessage(fill(t.arguments, mark))})
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		l.note(t, mark, l.judge(t, mark, token, result))
	}
	return nil
}

func fill(pattern, mark string) string { return strings.ReplaceAll(pattern, "%s", mark) }

func (l *load) note(t *tool, mark, outcome string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	l.outcomes[outcome]++
	if !t.repeatable {
		l.writes[mark] = true
	}
	if strings.HasPrefix(outcome, "WRONG") {
		l.fault("%s %s: %s", t.name, mark, outcome)
	}
}

// codes are what an upstream like this one can come to.
var codes = []string{
	"http_3xx", "http_4xx", "http_5xx", "unauthorized", "network_error", "timeout", "rate_limited", "circuit_open", "response_too_large", "invalid_response",
}

// judge says what an answer is, and what is wrong with it.
func (l *load) judge(t *tool, mark, token string, result *mcp.CallToolResult) string {
	if len(result.Content) != 1 {
		return fmt.Sprintf("WRONG: %d content blocks", len(result.Content))
	}
	content, ok := result.Content[0].(*mcp.TextContent)
	if !ok || strings.Contains(content.Text, tokenPrefix) {
		return fmt.Sprintf("WRONG: %+v", result.Content[0])
	}
	if !result.IsError {
		var got faulty.Echoed
		want := faulty.Echoed{Method: t.method, Target: fill(t.target, mark), Body: fill(t.body, mark), Caller: faulty.CallerOf("Bearer " + token)}
		if err := json.Unmarshal([]byte(content.Text), &got); err != nil || got != want {
			return fmt.Sprintf("WRONG: asked %+v, answered %s", want, content.Text)
		}
		return "success"
	}
	var envelope struct {
		Error struct {
			Code, Message, Delivery string
			Status, Attempts        int
			Retryable               *bool
			RequestID               string `json:"request_id"`
		}
	}
	e := &envelope.Error
	if err := json.Unmarshal([]byte(content.Text), &envelope); err != nil || !slices.Contains(codes, e.Code) || e.Message == "" || e.Retryable == nil ||
		e.RequestID == "" || !slices.Contains([]string{"not_sent", "answered", "unknown"}, e.Delivery) || e.Attempts > 3 || !t.repeatable && e.Attempts > 1 && e.Delivery != "not_sent" {
		return "WRONG: " + content.Text
	}
	if e.Status != 0 {
		return fmt.Sprintf("%s %d, %s", e.Code, e.Status, e.Delivery)
	}
	return fmt.Sprintf("%s, %s", e.Code, e.Delivery)
}

// checkWrites checks that no write arrived twice and nothing that was not asked for.
func (l *load) checkWrites(received []faulty.Request) {
	seen := map[string]int{}
	for _, r := range received {
		where := r.Target + " " + r.Body
		at := strings.Index(where, "m-")
		if at < 0 {
			l.fault("received, but never asked for: %s", where)
			continue
		}
		mark := strings.TrimRight(where[at:at+strings.IndexAny(where[at:]+" ", " /\"?&}")], " ")
		if l.writes[mark] {
			if seen[mark]++; seen[mark] == 2 {
				l.fault("%s %s was received twice", r.Method, where)
			}
		}
	}
}

func sorted(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }
