package errors_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	apierrors "github.com/postern-mcp/postern/errors"
)

var update = flag.Bool("update", false, "rewrite the table in docs/errors.md")

func TestTheDocumentedCodesAreTheCodes(t *testing.T) {
	t.Parallel()
	const path, begin, end = "../docs/errors.md", "<!-- codes: generated from the errors package by its test with -update -->\n", "<!-- /codes -->"
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(doc), begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no markers", path)
	}
	var table strings.Builder
	table.WriteString("| code | retryable | meaning | what to do |\n| --- | --- | --- | --- |\n")
	for _, code := range apierrors.Codes() {
		retryable := "by case"
		if yes, fixed := code.Retryable(); fixed {
			retryable = map[bool]string{true: "yes", false: "no"}[yes]
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", code, retryable, code.Meaning(), code.Advice())
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+table.String()+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(table.String(), got); diff != "" {
		t.Errorf("run go test ./errors -update (-want +got):\n%s", diff)
	}
}
