package main

import (
	"fmt"
	"path/filepath"
	"time"
)

// Places in a turn.
const (
	sdk = iota
	bare
	postern
)

// bound is what a value of Postern must keep to, and what it should: a ratio to
// another target's, or a value of its own.
type bound struct {
	what       string
	value      int // which of the measurement's
	to         int // the other target; postern for the value itself
	must, goal float64
	atMost     bool
}

// figure is one measurement of up to three targets, with its bounds.
type figure struct {
	what    string
	turns   int // in one round; 0 is one
	measure func(*target) ([]float64, error)
	bounds  []bound
	targets [3]*target     // by place; nil for none
	values  [3][][]float64 // by place and turn
}

// turn measures each target once.
func (f *figure) turn() error {
	for place, t := range f.targets {
		if t == nil {
			continue
		}
		values, err := f.measure(t)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", f.what, filepath.Base(t.bin), err)
		}
		f.values[place] = append(f.values[place], values)
	}
	return nil
}

// plan is every measurement, with the bounds of docs/performance.md.
func plan(t *targets, length time.Duration, cold int) []*figure {
	small := func(revision string) call { return call{"trigger.inspect", `{"trigger_id":"t1"}`, revision} }
	fires := func(name, revision string) call {
		return call{"read_queue_trigger_fires", `{"project":"p","name":"` + name + `"}`, revision}
	}
	toBare := bound{"calls/s, to bare", perSecond, bare, 0.75, 0.90, false}
	p99 := bound{"p99, to bare", slowest, bare, 1.5, 1.2, true}
	toSDK := bound{"calls/s, to the SDK's", perSecond, sdk, 2.6, 3.3, false}
	memory := bound{"MB at most", peak, postern, 45, 30, true}
	three := [3]*target{t.sdk, t.bare, t.postern}
	return []*figure{
		{what: "HTTP, 1 KB, 1 at a time", targets: three, measure: load(small(legacy), 1, length), bounds: []bound{toBare}},
		{what: "HTTP, 16 KB, 1 at a time", targets: three, measure: load(fires("n", legacy), 1, length), bounds: []bound{toBare}},
		{what: "HTTP " + modern + ", 1 KB, 1 at a time", targets: three, measure: load(small(modern), 1, length), bounds: []bound{toBare}},
		{what: "HTTP " + modern + ", 16 KB, 1 at a time", targets: three, measure: load(fires("n", modern), 1, length), bounds: []bound{toBare}},
		{what: "HTTP, 1 KB, 16 at a time", targets: three, measure: load(small(legacy), 16, length), bounds: []bound{
			toBare, p99, toSDK, {"MB when idle", idle, postern, 18, 14, true}, memory,
		}},
		{what: "HTTP, 16 KB, 16 at a time", targets: three, measure: load(fires("n", legacy), 16, length), bounds: []bound{toBare, p99, toSDK, memory}},
		{what: "HTTP " + modern + ", 1 KB, 16 at a time", targets: three, measure: load(small(modern), 16, length), bounds: []bound{toBare, p99, toSDK}},
		{what: "HTTP " + modern + ", 16 KB, 16 at a time", targets: three, measure: load(fires("n", modern), 16, length), bounds: []bound{toBare, p99, toSDK}},
		// docs/configuration.md states the bound, for all of the process and the API's bytes.
		{what: "HTTP, 1 MB, 16 at a time", targets: three, measure: load(fires(megabyte, legacy), 16, length), bounds: []bound{
			toBare, {"bytes held per byte under way", held, postern, 10, 5, true},
		}},
		{what: "stdio, 1 KB", targets: three, measure: lines(small(legacy), length), bounds: []bound{toBare}},
		{what: "stdio, 16 KB", targets: three, measure: lines(fires("n", legacy), length), bounds: []bound{toBare}},
		{what: "stdio, start to tools/list", targets: three, turns: cold, measure: (*target).coldStart, bounds: []bound{{"ms, to bare", 0, bare, 1.8, 1.4, true}}},
		{what: "600 tools, start to tools/list", targets: [3]*target{postern: t.tools600}, turns: cold, measure: (*target).coldStart, bounds: []bound{{"ms", 0, postern, 35, 20, true}}},
		{what: "600 tools, tools/list", targets: [3]*target{postern: t.tools600}, measure: (*target).listing, bounds: []bound{{"ms", 0, postern, 3, 1, true}}},
		// In the place of bare stands the gateway with 15 tools.
		{what: "1,200 tools, 1 KB, 16 at a time", targets: [3]*target{bare: t.tools15, postern: t.tools1200}, turns: 3,
			measure: load(call{"operation_0", `{"trigger_id":"t1"}`, legacy}, 16, length), bounds: []bound{{"calls/s, to 15 tools", perSecond, bare, 1 / 1.05, 1, false}}},
	}
}
