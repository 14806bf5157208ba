package corpus

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
)

// minTools is the share of operations that must become tools.
const minTools = 0.995

// Every document becomes a gateway that compiles, and nearly every operation a
// tool. The table is what to look at: go test -v -run TestCorpus.
func TestCorpus(t *testing.T) {
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "operations\ttools\tleft out\ttokens\tseconds\t  document")
	operations, tools := 0, 0
	reasons := tally{}
	for _, document := range documents(t) {
		b, err := gateway(t, document)
		if err != nil {
			t.Errorf("%s: %v", document, err)
			continue
		}
		r := b.report
		operations += r.Operations
		tools += r.Tools
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%.1f\t  %s\n", r.Operations, r.Tools, len(r.LeftOut), r.Tokens, b.seconds, document)
		for _, l := range r.LeftOut {
			reasons.add(kindOf(l.Reason), document+" "+l.Operation+": "+l.Reason)
		}
		checkNames(t, document, b)
	}
	fmt.Fprintf(w, "%d\t%d\t%d\t\t\t  in all\n", operations, tools, operations-tools)
	_ = w.Flush()
	t.Logf("\n%s\nleft out:\n%s", table.String(), reasons)
	if share := float64(tools) / float64(operations); share < minTools {
		t.Errorf("%.2f %% of the operations became tools, want %.2f %%", 100*share, 100*minTools)
	}
}

func checkNames(t *testing.T, document string, b *built) {
	t.Helper()
	if len(b.tools) != b.report.Tools {
		t.Errorf("%s: the gateway lists %d tools, the report %d", document, len(b.tools), b.report.Tools)
	}
	seen := map[string]bool{}
	for _, tool := range b.tools {
		if len(tool.Name) > 64 || seen[tool.Name] {
			t.Errorf("%s: the name %s is too long or taken twice", document, tool.Name)
		}
		seen[tool.Name] = true
	}
}

var specifics = regexp.MustCompile(`"[^"]*"|[0-9]+`)

// kindOf is a message without what is specific to one case.
func kindOf(message string) string { return specifics.ReplaceAllString(message, "*") }

// tally counts cases by their kind and keeps the first of each.
type tally map[string]*kind

type kind struct {
	count   int
	example string
}

func (t tally) add(name, example string) {
	if t[name] == nil {
		t[name] = &kind{example: example}
	}
	t[name].count++
}

// String lists the kinds, the most frequent first.
func (t tally) String() string {
	var names []string
	for name := range t {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := t[b].count - t[a].count; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var b strings.Builder
	for _, name := range names[:min(40, len(names))] {
		fmt.Fprintf(&b, "%6d  %s\n        e.g. %.700s\n", t[name].count, name, t[name].example)
	}
	return b.String()
}
