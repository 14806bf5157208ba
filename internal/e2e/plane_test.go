package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// plane starts a reference control plane of the test's own and returns its URL.
func plane(t testing.TB) string {
	t.Helper()
	p := start(t, command(t, nil, "controlplane", "--listen", "127.0.0.1:0"))
	return p.stderr.match(t, `listening on (http://\S+)`)
}

// demoTokens are the PATs of the demo by name, as the control plane prints them.
var demoTokens = sync.OnceValue(func() map[string]string {
	out, err := exec.Command(filepath.Join(binaries, "controlplane"), "demo-tokens", "--json").Output()
	if err != nil {
		panic(err)
	}
	var list []struct{ Name, Value string }
	if err := json.Unmarshal(out, &list); err != nil {
		panic(err)
	}
	tokens := map[string]string{"unknown": "viat_nobody_has_this_one"}
	for _, token := range list {
		tokens[token.Name] = token.Value
	}
	return tokens
})

// pat returns a PAT of the demo.
func pat(name string) string {
	value, ok := demoTokens()[name]
	if !ok {
		panic("the demo has no token " + name)
	}
	return value
}
