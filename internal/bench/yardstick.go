package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// sample is a line of the results of a yardstick run (results.jsonl), of what this
// command reads. yardstick.json has Postern's entries for such a run.
type sample struct {
	Round    int     `json:"round"`
	Target   string  `json:"target"`
	Scenario string  `json:"scenario"`
	Err      string  `json:"err"`
	Run      *result `json:"run"`
	Stdio    *struct {
		Cold  float64           `json:"cold_ms"`
		Calls map[string]result `json:"calls"`
	} `json:"stdio"`
	Idle  *memory `json:"idle"`
	After *memory `json:"after"`
}

type result struct {
	Errors    int     `json:"errors"`
	PerSecond float64 `json:"rps"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
}

type memory struct {
	Now  float64 `json:"rss_kb"`
	Most float64 `json:"peak_rss_kb"`
}

// The values of a sample, by place; one that it does not have is not a number.
const (
	rate = iota
	tail
	start
	lists
	before
	most
)

// values are those of a sample, of what call.
func (s *sample) values(call string) []float64 {
	v := slices.Repeat([]float64{math.NaN()}, most+1)
	run := s.Run
	if s.Stdio != nil {
		v[start] = s.Stdio.Cold
		if list, ok := s.Stdio.Calls["list"]; ok && list.Errors == 0 {
			v[lists] = list.P50
		}
		if of, ok := s.Stdio.Calls[call]; ok {
			run = &of
		}
	}
	if run != nil && run.Errors == 0 { // calls that fail are no measure
		v[rate], v[tail] = run.PerSecond, run.P99
	}
	if s.Idle != nil && s.After != nil {
		v[before], v[most] = s.Idle.Now/1024, s.After.Most/1024
	}
	return v
}

// yardstick makes the figures of a yardstick run, one turn for each round.
func yardstick(results io.Reader) ([]*figure, error) {
	var samples []*sample
	lines := bufio.NewScanner(results)
	for lines.Scan() {
		s := &sample{}
		if err := json.Unmarshal(lines.Bytes(), s); err != nil {
			return nil, fmt.Errorf("sample %d: %w", len(samples)+1, err)
		}
		samples = append(samples, s)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	toBare := bound{"calls/s, to bare", rate, bare, 0.75, 0.90, false}
	toSDK := bound{"calls/s, to the SDK's", rate, sdk, 2.6, 3.3, false}
	p99 := bound{"p99, to bare", tail, bare, 1.5, 1.2, true}
	today := [3]string{"limit (c) SDK, pass-through", "limit (d), same collector", "Postern"}
	next := [3]string{"limit (c) at " + modern, "limit (d) at " + modern + ", same collector", "Postern at " + modern}
	var figures []*figure
	var missing error
	add := func(what, scenario, call string, names [3]string, bounds ...bound) {
		f := &figure{what: what, bounds: bounds}
		var rounds [3][]int
		for place, name := range names {
			if name == "" {
				continue
			}
			f.targets[place] = &target{bin: name}
			f.values[place], rounds[place] = turns(samples, name, scenario, call)
		}
		for place, name := range names {
			if name != "" && !slices.Equal(rounds[place], rounds[postern]) {
				missing = errors.Join(missing, fmt.Errorf("%s has the rounds %v of %s, and Postern %v", name, rounds[place], scenario, rounds[postern]))
			}
		}
		if f.values[postern] != nil { // not every run measures everything
			figures = append(figures, f)
		}
	}
	for _, version := range []struct {
		name    string
		targets [3]string
	}{{legacy, today}, {modern, next}} {
		for _, size := range []struct{ name, call string }{{"1 KB", "trigger"}, {"16 KB", "fires"}} {
			add("HTTP "+version.name+", "+size.name+", 1 at a time", "http-"+size.call+"-c1", "", version.targets, toBare)
			add("HTTP "+version.name+", "+size.name+", 16 at a time", "http-"+size.call+"-c16", "", version.targets, toBare, toSDK, p99)
		}
	}
	add("HTTP, memory", "http", "", today, bound{"MB when idle", before, postern, 18, 14, true}, bound{"MB at most", most, postern, 45, 30, true})
	for _, size := range []struct{ name, call string }{{"1 KB", "trigger"}, {"16 KB", "fires"}} {
		add("stdio, "+size.name, "stdio", size.call, today, toBare)
		add("stdio "+modern+", "+size.name, "stdio", size.call, next, toBare)
	}
	add("stdio, start to tools/list", "stdio", "", today, bound{"ms, to bare", start, bare, 1.8, 1.4, true})
	today[sdk] = ""
	// Where the bounds in milliseconds were set, the limit took 12 ms for its start.
	add("600 tools, start to tools/list", "big", "", today, bound{"ms", start, postern, 35, 20, true}, bound{"ms, to bare", start, bare, 35. / 12, 20. / 12, true})
	add("600 tools, tools/list", "big", "", today, bound{"ms", lists, postern, 3, 1, true})
	return figures, missing
}

// turns are the medians of the values of a target in a scenario, and their rounds.
func turns(samples []*sample, target, scenario, call string) (turns [][]float64, numbers []int) {
	rounds := map[int][][]float64{}
	for _, s := range samples {
		if s.Target == target && s.Scenario == scenario && s.Err == "" {
			rounds[s.Round] = append(rounds[s.Round], s.values(call))
		}
	}
	numbers = slices.Sorted(maps.Keys(rounds))
	for _, round := range numbers {
		values := slices.Repeat([]float64{math.NaN()}, most+1)
		for i := range values {
			var some []float64
			for _, v := range rounds[round] {
				if !math.IsNaN(v[i]) {
					some = append(some, v[i])
				}
			}
			if some != nil {
				values[i] = median(some)
			}
		}
		turns = append(turns, values)
	}
	return turns, numbers
}
