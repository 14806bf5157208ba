package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/postern-mcp/postern/openapi"
)

// generate writes and builds a gateway of so many tools of about 1 KB each. The first
// is the call that is measured.
func generate(dir string, tools int) (bin string, err error) {
	name := fmt.Sprintf("tools%d", tools)
	var doc strings.Builder
	fmt.Fprintf(&doc, "openapi: 3.1.0\ninfo: {title: %s, version: '1'}\nx-mcp: {env-prefix: VIAT}\nsecurity: [{token: []}]\ncomponents: {securitySchemes: {token: {type: http, scheme: bearer}}}\npaths:\n", name)
	for i := range tools {
		fmt.Fprintf(&doc, "  /v1/op%d/{trigger_id}:\n    get:\n      operationId: operation_%d\n      summary: Operation number %d\n      parameters:\n        - {name: trigger_id, in: path, required: true, schema: {type: string}}\n", i, i, i)
		for j := range 8 {
			fmt.Fprintf(&doc, "        - {name: field_%d, in: query, description: Field number %d of the operation., schema: {type: string, maxLength: 255}}\n", j, j)
		}
	}
	spec := filepath.Join(dir, name+".yaml")
	if err := os.WriteFile(spec, []byte(doc.String()), 0o600); err != nil {
		return "", err
	}
	runtime, err := os.Getwd()
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, name)
	if _, err := (openapi.Project{Spec: spec, Out: out, Module: "example.com/" + name, Runtime: runtime}).Create(context.Background()); err != nil {
		return "", err
	}
	bin = filepath.Join(dir, name+".bin")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, "./cmd/...")
	build.Dir, build.Env = out, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, text)
	}
	return bin, nil
}
