// Command bench holds Postern against a plain gateway on the MCP SDK (floor): the
// two take turns in one run, and what counts is the ratio within each turn, so
// that a noisy machine disturbs both alike. It exits with 1 below a goal.
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

// goals are minimums for rates and maximums for times, as ratios to the floor.
const (
	minRate = 0.95
	maxCold = 1.20
)

func main() {
	rounds := flag.Int("rounds", 5, "turns that each of the two takes")
	length := flag.Duration("time", 2*time.Second, "length of one load")
	concurrency := flag.Int("concurrency", 16, "requests under way at once")
	cold := flag.Int("cold", 20, "cold starts per round, in turns of one")
	flag.Parse()
	ok, err := run(*rounds, *concurrency, *cold, *length)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if !ok {
		os.Exit(1)
	}
}

// target is one of the two gateways.
type target struct {
	name  string
	bin   string
	http  func(addr string) []string
	stdio []string
}

// result collects one figure of both, in the order of the turns.
type result struct {
	what           string
	unit           string
	atMost         bool
	goal           float64
	turns          int // in one round; 0 is one
	floor, gateway []float64
	measure        func(t *target) (float64, error)
}

func run(rounds, concurrency, cold int, length time.Duration) (bool, error) {
	dir, err := os.MkdirTemp("", "postern-bench")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir+"/", "./cmd/postern", "./internal/bench/floor")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return false, fmt.Errorf("build: %w\n%s", err, out)
	}
	api := httptest.NewServer(upstream())
	defer api.Close()
	floor := &target{
		name: "floor", bin: filepath.Join(dir, "floor"),
		http:  func(addr string) []string { return []string{"-upstream", api.URL, "-addr", addr} },
		stdio: []string{"-upstream", api.URL},
	}
	postern := &target{
		name: "postern", bin: filepath.Join(dir, "postern"),
		http: func(addr string) []string {
			// Every protection is on; the limit is only too high to be met.
			return []string{"serve", "--api-url", api.URL, "--listen", addr, "--rate-limit", "1e6"}
		},
		stdio: []string{"stdio", "--api-url", api.URL},
	}
	results := []*result{
		{what: "HTTP, 1 KB answer", unit: "calls/s", goal: minRate, measure: load("trigger.inspect", `{"trigger_id":"t1"}`, concurrency, length)},
		{what: "HTTP, 16 KB answer", unit: "calls/s", goal: minRate, measure: load("read_queue_trigger_fires", `{"project":"p","name":"n"}`, concurrency, length)},
		{what: "stdio, cold start to first tools/list", unit: "ms", goal: maxCold, atMost: true, turns: cold, measure: (*target).coldStart},
	}
	for range rounds {
		for _, r := range results {
			for range max(1, r.turns) {
				if err := r.turn(floor, postern); err != nil {
					return false, err
				}
			}
		}
	}
	return report(results), nil
}

func (r *result) turn(floor, postern *target) error {
	a, err := r.measure(floor)
	if err != nil {
		return fmt.Errorf("%s, floor: %w", r.what, err)
	}
	b, err := r.measure(postern)
	if err != nil {
		return fmt.Errorf("%s, postern: %w", r.what, err)
	}
	r.floor, r.gateway = append(r.floor, a), append(r.gateway, b)
	return nil
}

func report(results []*result) bool {
	ok := true
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "FIGURE\tFLOOR\tPOSTERN\tRATIO\tGOAL\t")
	for _, r := range results {
		ratios := make([]float64, len(r.floor))
		for i := range ratios {
			ratios[i] = r.gateway[i] / r.floor[i]
		}
		ratio, sign := median(ratios), "≥"
		met := ratio >= r.goal
		if r.atMost {
			sign, met = "≤", ratio <= r.goal
		}
		verdict := "met"
		if !met {
			verdict, ok = "MISSED", false
		}
		fmt.Fprintf(w, "%s\t%.1f %s\t%.1f\t%.2f\t%s %.2f\t%s\n", r.what, median(r.floor), r.unit, median(r.gateway), ratio, sign, r.goal, verdict)
	}
	_ = w.Flush()
	return ok
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
func (t *target) serving() (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	addr := l.Addr().String()
	_ = l.Close()
	cmd := exec.Command(t.bin, t.http(addr)...)
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		if c, err := new(net.Dialer).DialContext(ctx, "tcp", addr); err == nil {
			_ = c.Close()
			return "http://" + addr + "/mcp", stop, nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	stop()
	return "", nil, errors.New("it does not accept connections")
}
