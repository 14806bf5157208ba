// Command bench holds Postern against a plain gateway on the MCP SDK (sdk) and against
// what the work itself costs (bare), the latter with the collector set as Postern sets
// it. The three take turns in one run, and what counts is the ratio within each turn, so
// that a noisy machine disturbs all alike. It exits with 1 if a bound is missed.
//
//	go run ./internal/bench [-rounds 5] [-time 2s]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 5, "turns that each of the three takes")
	length := flag.Duration("time", 2*time.Second, "length of one load")
	cold := flag.Int("cold", 10, "cold starts per round, in turns of one")
	flag.Parse()
	ok, err := run(*rounds, *cold, *length)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if !ok {
		os.Exit(1)
	}
}

// target is one of the three.
type target struct {
	bin   string
	env   []string
	http  func(addr string) []string
	stdio []string
}

// Indexes of the targets in a turn.
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

// figure is one measurement of all three, with its bounds.
type figure struct {
	what    string
	turns   int // in one round; 0 is one
	measure func(*target) ([]float64, error)
	bounds  []bound
	targets *[3]*target    // nil for the three
	values  [3][][]float64 // by target and turn
}

func run(rounds, cold int, length time.Duration) (bool, error) {
	dir, err := os.MkdirTemp("", "postern-bench")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir+"/", "./cmd/postern", "./internal/bench/floor", "./internal/bench/bare")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return false, fmt.Errorf("build: %w\n%s", err, out)
	}
	api := httptest.NewServer(upstream())
	defer api.Close()
	plain := func(name, collector string) *target {
		return &target{
			bin: filepath.Join(dir, name), env: append(os.Environ(), "GOGC="+collector, "VIAT_TOKEN=bench-token"), stdio: []string{"-upstream", api.URL},
			http: func(addr string) []string { return []string{"-upstream", api.URL, "-addr", addr} },
		}
	}
	targets := [3]*target{plain("floor", "100"), plain("bare", "400"), {
		bin: filepath.Join(dir, "postern"), env: append(os.Environ(), "VIAT_TOKEN=bench-token"), stdio: []string{"stdio", "--api-url", api.URL},
		http: func(addr string) []string {
			// Every protection is on; the limit is only too high to be met.
			return []string{"serve", "--api-url", api.URL, "--listen", addr, "--rate-limit", "1e6"}
		},
	}}
	few, err := generated(dir, 15, api.URL)
	if err != nil {
		return false, err
	}
	some, err := generated(dir, 600, api.URL)
	if err != nil {
		return false, err
	}
	many, err := generated(dir, 1200, api.URL)
	if err != nil {
		return false, err
	}
	figures := figures(length, cold)
	one := call{"operation_0", `{"trigger_id":"t1"}`, legacy}
	figures = append(figures,
		&figure{what: "600 tools, start to tools/list", turns: cold, measure: (*target).coldStart, targets: &[3]*target{postern: some}, bounds: []bound{{"ms", 0, postern, 35, 20, true}}},
		&figure{what: "600 tools, tools/list", measure: (*target).listing, targets: &[3]*target{postern: some}, bounds: []bound{{"ms", 0, postern, 3, 1, true}}},
		// In the place of bare stands the gateway with 15 tools.
		&figure{what: "1,200 tools, 1 KB, 16 at a time", measure: load(one, 16, length), targets: &[3]*target{bare: few, postern: many}, bounds: []bound{{"calls/s, to 15 tools", 0, bare, 0.95, 1, false}}},
	)
	for range rounds {
		for _, f := range figures {
			if f.targets == nil {
				f.targets = &targets
			}
			for range max(1, f.turns) {
				for i, t := range f.targets {
					if t == nil {
						continue
					}
					values, err := f.measure(t)
					if err != nil {
						return false, fmt.Errorf("%s, %s: %w", f.what, filepath.Base(t.bin), err)
					}
					f.values[i] = append(f.values[i], values)
				}
			}
		}
	}
	return report(figures), nil
}

func figures(length time.Duration, cold int) []*figure {
	small := func(revision string) call { return call{"trigger.inspect", `{"trigger_id":"t1"}`, revision} }
	large := func(revision string) call {
		return call{"read_queue_trigger_fires", `{"project":"p","name":"n"}`, revision}
	}
	toBare := bound{"calls/s, to bare", 0, bare, 0.75, 0.90, false}
	p99 := bound{"p99, to bare", 1, bare, 1.5, 1.2, true}
	toSDK := bound{"calls/s, to the SDK's", 0, sdk, 2.6, 3.3, false}
	return []*figure{
		{what: "HTTP, 1 KB, 1 at a time", measure: load(small(legacy), 1, length), bounds: []bound{toBare}},
		{what: "HTTP, 16 KB, 1 at a time", measure: load(large(legacy), 1, length), bounds: []bound{toBare}},
		{what: "HTTP, 1 KB, 16 at a time", measure: load(small(legacy), 16, length), bounds: []bound{
			toBare, p99, toSDK, {"MB when idle", 2, postern, 18, 14, true}, {"MB under load", 3, postern, 45, 30, true},
		}},
		{what: "HTTP, 16 KB, 16 at a time", measure: load(large(legacy), 16, length), bounds: []bound{toBare, p99, toSDK, {"MB under load", 3, postern, 45, 30, true}}},
		{what: "HTTP " + modern + ", 1 KB, 16 at a time", measure: load(small(modern), 16, length), bounds: []bound{toBare, p99, toSDK}},
		{what: "HTTP " + modern + ", 16 KB, 16 at a time", measure: load(large(modern), 16, length), bounds: []bound{toBare, p99, toSDK}},
		{what: "stdio, 1 KB", measure: lines(small(legacy), length), bounds: []bound{{"calls/s, to bare", 0, bare, 0.75, 0.90, false}}},
		{what: "stdio, start to tools/list", turns: cold, measure: (*target).coldStart, bounds: []bound{{"ms, to bare", 0, bare, 1.8, 1.4, true}}},
	}
}

func report(figures []*figure) bool {
	ok := true
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "FIGURE\tSDK\tBARE\tPOSTERN\tBOUND\tIS\tMUST\tGOAL\t")
	for _, f := range figures {
		for _, b := range f.bounds {
			is := f.ratio(b)
			sign, reached := "≥", func(limit float64) bool { return is >= limit }
			if b.atMost {
				sign, reached = "≤", func(limit float64) bool { return is <= limit }
			}
			verdict := "goal met"
			switch {
			case !reached(b.must):
				verdict, ok = "MISSED", false
			case !reached(b.goal):
				verdict = "met"
			}
			fmt.Fprintf(w, "%s\t%.4g\t%.4g\t%.4g\t%s\t%.2f\t%s %.2f\t%.2f\t%s\n", f.what, f.median(sdk, b.value), f.median(bare, b.value), f.median(postern, b.value),
				b.what, is, sign, b.must, b.goal, verdict)
		}
	}
	_ = w.Flush()
	return ok
}

// ratio is the median of the ratios within each turn, or of the values themselves.
func (f *figure) ratio(b bound) float64 {
	var ratios []float64
	for turn, values := range f.values[postern] {
		of := 1.0
		if b.to != postern {
			of = f.values[b.to][turn][b.value]
		}
		ratios = append(ratios, values[b.value]/of)
	}
	return median(ratios)
}

func (f *figure) median(target, value int) float64 {
	if len(f.values[target]) == 0 {
		return 0
	}
	var all []float64
	for _, values := range f.values[target] {
		all = append(all, values[value])
	}
	return median(all)
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

// upstream answers every GET with one of two prepared bodies.
func upstream() http.Handler {
	record := `{"id":"4c3a1f1e-0c55-4a52-9d7e-0b1c8e0f5a01","trigger_id":"8f38e72e-4e77-4f9d-b0dc-58b99a0a3325","execution_id":"0b0a3b5e-8f0c-4c7a-8b55-5f2b8a4f9d10","message_id":"msg-1","routing_key":null,"redelivered":false,"outcome":"succeeded","detail":null,"fired_at":"2026-05-27T14:31:00Z"}`
	fires := []byte("[" + strings.TrimSuffix(strings.Repeat(record+",", 50), ",") + "]")
	trigger := []byte(`{"trigger":{"trigger_id":"t1","payload":{"text":"` + strings.Repeat("x", 900) + `"}},"deliveries":[]}`)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body := trigger
		if strings.HasSuffix(r.URL.Path, "/fires") {
			body = fires
		}
		_, _ = w.Write(body)
	})
}

// serving starts a target over HTTP and waits until it accepts connections.
func (t *target) serving() (url string, p *process, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	addr := l.Addr().String()
	_ = l.Close()
	cmd := exec.Command(t.bin, t.http(addr)...)
	cmd.Env = t.env
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	p = &process{cmd.Process.Pid, func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		if c, err := new(net.Dialer).DialContext(ctx, "tcp", addr); err == nil {
			_ = c.Close()
			return "http://" + addr + "/mcp", p, nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	p.stop()
	return "", nil, errors.New("it does not accept connections")
}
