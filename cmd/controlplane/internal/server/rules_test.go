package server

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func TestRulesHaveTheScopesOfTheDocument(t *testing.T) {
	raw, err := os.ReadFile("../../../../openapi/control-plane.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]yaml.Node
	}
	if err := yaml.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, item := range document.Paths {
		for method, node := range item {
			if method == "parameters" {
				continue
			}
			var op struct {
				OperationID string `yaml:"operationId"`
				Security    []map[string][]string
			}
			if err := node.Decode(&op); err != nil {
				t.Fatal(err)
			}
			if len(op.Security) != 1 {
				t.Errorf("%s: %d security requirements, want 1", op.OperationID, len(op.Security))
			}
			want[goName(op.OperationID)] = strings.Join(op.Security[0]["pat"], " ")
		}
	}
	got := map[string]string{}
	for operation, rule := range rules {
		got[operation] = rule.scope
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func goName(operationID string) string {
	var b strings.Builder
	for _, word := range strings.Split(operationID, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
