package openapi

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/postern-mcp/postern/internal/faulty"
)

// What a document says of repeating is what the built gateway does.
func TestADocumentDecidesWhatIsRepeated(t *testing.T) {
	bin := builtGateway(t, minimal+`paths:
  /a: {post: {operationId: plain}}
  /b: {post: {operationId: keyed, x-mcp: {retry: {header: idempotency-key}}, parameters: [{name: Idempotency-Key, in: header, required: true, schema: {type: string}}]}}
  /c: {post: {operationId: harmless, x-mcp: {retry: safe}}}
  /d: {put: {operationId: replace}, delete: {operationId: remove, x-mcp: {annotations: {idempotent: false}}}}
  /e: {get: {operationId: once, x-mcp: {retry: never}}}
`)
	env := func(url string) []string { return append(os.Environ(), "SHOP_API_URL="+url) }
	for tool, requests := range map[string]int{"plain": 1, "keyed": 2, "harmless": 2, "replace": 2, "remove": 1, "once": 1} {
		api, err := faulty.New(faulty.Script(faulty.ResetAfterRequest, faulty.Echo))
		if err != nil {
			t.Fatal(err)
		}
		call := exec.Command(bin, "call", tool)
		call.Env = env(api.URL)
		out, err := call.CombinedOutput()
		received := api.Received()
		api.Close()
		if len(received) != requests || (err == nil) != (requests == 2) {
			t.Errorf("%s: %d requests, %v %s", tool, len(received), err, out)
			continue
		}
		key := received[0].Header.Get("Idempotency-Key")
		if (key != "") != (tool == "keyed") || received[len(received)-1].Header.Get("Idempotency-Key") != key {
			t.Errorf("%s: %+v", tool, received)
		}
	}

	// The caller's own key, by the argument and by _meta.
	api, err := faulty.New(faulty.Script(faulty.Echo))
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	stdio := exec.Command(bin, "stdio")
	stdio.Env = env(api.URL)
	stdio.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"keyed","_meta":{"postern/idempotency-key":"from-meta"}}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"keyed","arguments":{"Idempotency-Key":"from-argument"}}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"plain","_meta":{"postern/idempotency-key":"refused"}}}
{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"keyed","_meta":{"postern/idempotency-key":7}}}
`)
	out, err := stdio.Output()
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for _, r := range api.Received() {
		keys[r.Header.Get("Idempotency-Key")] = true
	}
	if len(keys) != 2 || !keys["from-meta"] || !keys["from-argument"] {
		t.Errorf("%v\n%s", keys, out)
	}
	for _, want := range []string{"takes no idempotency key", "postern/idempotency-key is no text"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
}
