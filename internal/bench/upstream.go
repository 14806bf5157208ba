package main

import (
	"net/http"
	"strings"
)

// megabyte is the name of the queue trigger whose fires are 1 MB.
const megabyte = "megabyte"

// upstream answers every GET with one of three prepared bodies.
func upstream() http.Handler {
	const record = `{"id":"4c3a1f1e-0c55-4a52-9d7e-0b1c8e0f5a01","trigger_id":"8f38e72e-4e77-4f9d-b0dc-58b99a0a3325","execution_id":"0b0a3b5e-8f0c-4c7a-8b55-5f2b8a4f9d10","message_id":"msg-1","routing_key":null,"redelivered":false,"outcome":"succeeded","detail":null,"fired_at":"2026-05-27T14:31:00Z"}`
	records := func(n int) []byte { return []byte("[" + strings.TrimSuffix(strings.Repeat(record+",", n), ",") + "]") }
	trigger := []byte(`{"trigger":{"trigger_id":"t1","payload":{"text":"` + strings.Repeat("x", 900) + `"}},"deliveries":[]}`)
	fires, many := records(50), records(1_000_000/len(record))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body := trigger
		switch {
		case strings.HasSuffix(r.URL.Path, "/"+megabyte+"/fires"):
			body = many
		case strings.HasSuffix(r.URL.Path, "/fires"):
			body = fires
		}
		_, _ = w.Write(body)
	})
}
