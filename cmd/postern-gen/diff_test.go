package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/postern-mcp/postern/openapi"
)

func TestDiffCommand(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	one := write("one.json", `{"tools":[{"name":"a"}]}`)
	two := write("two.json", `{"tools":[{"name":"a"},{"name":"<b>"}]}`)
	bad := write("bad.json", `{`)
	for _, c := range []struct {
		args     []string
		want     string
		breaking bool
	}{
		{[]string{one, one}, "no changes\n", false},
		{[]string{one, two}, "additive  <b>: tool added\n\n0 breaking, 1 additive, 0 cosmetic\n", false},
		{[]string{two, one}, "breaking  <b>: tool removed\n\n1 breaking, 0 additive, 0 cosmetic\n", true},
		{[]string{one, one, "--json"}, "{\n  \"changes\": []\n}\n", false},
	} {
		var out strings.Builder
		if err := parseDiff(t, c.args).print(&out); errors.Is(err, errSilent) != c.breaking || err != nil && !c.breaking {
			t.Errorf("%q: %v", c.args, err)
		}
		if out.String() != c.want {
			t.Errorf("%q: %q", c.args, out.String())
		}
	}
	var out strings.Builder
	if err := parseDiff(t, []string{"--json", two, one}).print(&out); !errors.Is(err, errSilent) {
		t.Error(err)
	}
	var got openapi.Diff
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || len(got.Changes) != 1 || got.Changes[0].Class != openapi.Breaking || got.Changes[0].Tool != "<b>" {
		t.Errorf("%v %s", err, out.String())
	}
	for _, file := range []string{bad, filepath.Join(dir, "none.json")} {
		if err := parseDiff(t, []string{one, file}).print(&out); err == nil || errors.Is(err, errSilent) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func parseDiff(t *testing.T, args []string) *diff {
	t.Helper()
	var d diff
	parser, err := kong.New(&d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	return &d
}
