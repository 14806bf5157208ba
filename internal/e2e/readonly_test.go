package e2e

import (
	"strings"
	"testing"
)

func TestReadOnlyHidesAndRefusesEveryToolThatIsNot(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		up := record(t, nil)
		a := connect(t, w, settings{api: up.url, token: "any", project: "p", args: []string{"--read-only"}})
		list, err := a.session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		listed := map[string]bool{}
		for _, tool := range list.Tools {
			listed[tool.Name] = true
		}
		for _, tool := range contract() {
			readOnly := tool.Annotations.ReadOnlyHint
			r := a.call(t, tool.Name, tool.arguments(nil))
			if sent := up.take(); listed[tool.Name] != readOnly || len(sent) == 1 != readOnly || !readOnly && r.rpc != -32602 {
				t.Errorf("%s, read-only %v: listed %v, sent %d, %s", tool.Name, readOnly, listed[tool.Name], len(sent), r.raw)
			}
		}
	})
}

func TestReadOnlyHoldsOnTheCommandLineToo(t *testing.T) {
	t.Parallel()
	up := record(t, nil)
	env := []string{"VIAT_API_URL=" + up.url, "VIAT_TOKEN=any", "VIAT_PROJECT=p", "VIAT_READ_ONLY=true"}
	if _, stderr, status := postern(t, env, "", "call", "delete_queue_trigger", "name=x"); status != 2 || len(up.take()) != 0 {
		t.Errorf("status %d: %s", status, stderr)
	}
	table, _, _ := postern(t, env, "", "tools")
	contractText, _, _ := postern(t, env, "", "tools", "--json")
	for _, tool := range contract() {
		if readOnly := tool.Annotations.ReadOnlyHint; strings.Contains(table, tool.Name+" ") != readOnly || strings.Contains(contractText, `"name": "`+tool.Name+`"`) != readOnly {
			t.Errorf("%s, read-only %v:\n%s", tool.Name, readOnly, table)
		}
	}
}
