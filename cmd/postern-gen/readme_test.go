package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheReadmesCommandsForABackendWork runs the block of the README's section on
// fronting a backend, with a document of the test's in place of api.yaml.
func TestTheReadmesCommandsForABackendWork(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "## Front your own backend")
	_, rest, ok := strings.Cut(section, "```sh\n")
	block, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 || strings.Count(block, "postern-gen") != 2 {
		t.Fatalf("the README's section has no such block: %q", block)
	}
	dir := t.TempDir()
	spec, out := filepath.Join(dir, "api.yaml"), filepath.Join(dir, "my-gateway")
	const document = "openapi: 3.0.3\ninfo: {title: Shop API, version: '1'}\npaths: {/things: {get: {operationId: listThings, responses: {'200': {description: Things.}}}}}\n"
	if err := os.WriteFile(spec, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-e", "-c", strings.NewReplacer("api.yaml", spec, "../my-gateway", out).Replace(block))
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "GOPROXY=off")
	got, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	for _, want := range []string{"tools          1", "left out       0", "example.com/my-gateway/cmd/shop-api"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "bin", "shop-api")); err != nil {
		t.Error(err)
	}
}
