package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
)

func TestABoundIsMissedByTheMedianOfTheRatios(t *testing.T) {
	t.Parallel()
	// The ratios are 0.9, 0.5 and 0.7; that of the medians is 0.5.
	calls := &figure{
		what: "calls", targets: [3]*target{bare: {}, postern: {}},
		values: [3][][]float64{bare: {{10}, {100}, {1000}}, postern: {{9}, {50}, {700}}},
	}
	unmeasured := &figure{what: "unmeasured", targets: [3]*target{postern: {}}, values: [3][][]float64{postern: {{1}, {math.NaN()}, {1}}}}
	own := &figure{what: "own", targets: [3]*target{postern: {}}, values: [3][][]float64{postern: {{30}, {50}}}}
	for _, c := range []struct {
		figure *figure
		bound  bound
		slack  float64
		kept   bool
	}{
		{calls, bound{must: 0.7, to: bare}, 1, true},
		{calls, bound{must: 0.71, to: bare}, 1, false},
		{calls, bound{must: 1.4, to: bare}, 2, true},
		{calls, bound{must: 0.7, to: bare, atMost: true}, 1, true},
		{calls, bound{must: 0.69, to: bare, atMost: true}, 1, false},
		{unmeasured, bound{must: 9, to: postern, atMost: true}, 1, false},
		{unmeasured, bound{must: 0, to: postern}, 1, false},
		{own, bound{must: 40, to: postern, atMost: true}, 1, true},
		{own, bound{must: 39, to: postern, atMost: true}, 1, false},
		{own, bound{must: 20, to: postern, atMost: true}, 2, true},
		{own, bound{must: 19, to: postern, atMost: true}, 2, false},
	} {
		c.figure.bounds = []bound{c.bound}
		var out strings.Builder
		if kept := report(&out, []*figure{c.figure}, c.slack); kept != c.kept || (strings.Contains(out.String(), "MISSED") || strings.Contains(out.String(), "not measured")) == kept {
			t.Errorf("%+v with slack %v: kept is %t\n%s", c.bound, c.slack, kept, &out)
		}
	}
}

func TestYardstickHasAFigureForWhatWasMeasured(t *testing.T) {
	t.Parallel()
	lines := func(targets ...string) io.Reader {
		var all strings.Builder
		for round := range 2 {
			for i, name := range targets {
				for _, ms := range []int{10, 30, 20} {
					fmt.Fprintf(&all, `{"round":%d,"target":%q,"scenario":"stdio","stdio":{"cold_ms":%d}}`+"\n", round+1, name, ms*(i+1))
				}
			}
		}
		return strings.NewReader(all.String())
	}
	figures, err := yardstick(lines("limit (d), same collector", "Postern", "limit (c) SDK, pass-through"))
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range figures {
		if f.what == "stdio, start to tools/list" {
			found = true
			if got := f.ratio(f.bounds[0]); got != 2 {
				t.Errorf("the ratio is %v, of 40 ms to 20 ms", got)
			}
		}
		if strings.HasPrefix(f.what, "HTTP") {
			t.Errorf("%s was not measured", f.what)
		}
	}
	if !found {
		t.Error("the start is missing")
	}
	if _, err := yardstick(lines("Postern", "limit (c) SDK, pass-through")); err == nil {
		t.Error("Postern alone is held against nothing")
	}
	if _, err := yardstick(strings.NewReader("{")); err == nil {
		t.Error("a broken line was read")
	}
}

// A target of which calls fail is not fast.
func TestYardstickMeasuresNothingByCallsThatFail(t *testing.T) {
	t.Parallel()
	for errors, measured := range map[int]bool{0: true, 1: false} {
		var all strings.Builder
		for _, name := range []string{"limit (c) SDK, pass-through", "limit (d), same collector", "Postern"} {
			fmt.Fprintf(&all, `{"round":1,"target":%q,"scenario":"http-fires-c1","run":{"rps":100,"p99_ms":1,"errors":%d}}`+"\n", name, errors)
		}
		figures, err := yardstick(strings.NewReader(all.String()))
		if err != nil {
			t.Fatal(err)
		}
		if kept := report(io.Discard, figures, 1); kept != measured {
			t.Errorf("%d errors: kept is %t", errors, kept)
		}
	}
}
