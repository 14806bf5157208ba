// Command bench holds Postern against a plain gateway on the MCP SDK (sdk) and against
// what the work itself costs (bare), the latter with the collector set as Postern sets
// it. The three take turns in one run, and what counts is the ratio within each turn, so
// that a noisy machine disturbs all alike. It prints a table in Markdown and exits with 1
// if a bound is missed.
//
//	go run ./internal/bench [-rounds 5] [-time 2s] [-cold 10] [-only "16 KB"]
//	go run ./internal/bench -short           in a minute, with bounds that noise does not break
//	go run ./internal/bench -results FILE    a yardstick run, held against the same bounds
package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 5, "turns that each of the three takes")
	length := flag.Duration("time", 2*time.Second, "length of one load")
	cold := flag.Int("cold", 10, "cold starts per round, in turns of one")
	only := flag.String("only", "", "measure only the figures whose name has this in it")
	short := flag.Bool("short", false, "3 rounds of 200 ms whatever else is said, and twice as far from each bound as it allows")
	results := flag.String("results", "", "measure nothing, but report on the results.jsonl of a yardstick run")
	flag.Parse()
	if *rounds < 1 || *cold < 1 {
		fmt.Fprintln(os.Stderr, "bench: -rounds and -cold must be at least 1")
		os.Exit(2)
	}
	slack := 1.0
	if *short {
		*rounds, *length, *cold, slack = 3, 200*time.Millisecond, 3, 2
	}
	var figures []*figure
	var err error
	if *results != "" {
		figures, err = read(*results)
	} else {
		figures, err = run(*rounds, *cold, *length, *only)
	}
	if err == nil && len(figures) == 0 {
		err = errors.New("nothing was measured")
	}
	if err == nil && !report(os.Stdout, figures, slack) {
		err = errors.New("a bound is missed")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func read(name string) ([]*figure, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return yardstick(f)
}

// run takes every measurement of every target, rounds times; of those only whose name
// has only in it.
func run(rounds, cold int, length time.Duration, only string) ([]*figure, error) {
	dir, err := os.MkdirTemp("", "postern-bench")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	api := httptest.NewServer(upstream())
	defer api.Close()
	targets, err := build(dir, api.URL)
	if err != nil {
		return nil, err
	}
	figures := slices.DeleteFunc(plan(targets, length, cold), func(f *figure) bool { return !strings.Contains(f.what, only) })
	if math.IsNaN((&process{pid: os.Getpid()}).memory(mostResident)) {
		fmt.Fprintln(os.Stderr, "bench: memory is left out, since this system does not say how much a process uses (/proc)")
		for _, f := range figures {
			f.bounds = slices.DeleteFunc(f.bounds, func(b bound) bool { return b.value >= idle })
		}
	}
	if len(figures) == 0 {
		return nil, fmt.Errorf("no figure has %q in its name", only)
	}
	for range rounds {
		for _, f := range figures {
			for range max(1, f.turns) {
				if err := f.turn(); err != nil {
					return nil, err
				}
			}
		}
	}
	return figures, nil
}

// targets are all that is measured.
type targets struct {
	sdk, bare, postern           *target
	tools15, tools600, tools1200 *target // generated gateways of so many tools
}

func build(dir, api string) (*targets, error) {
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir+"/", "./cmd/postern", "./internal/bench/floor", "./internal/bench/bare")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build: %w\n%s", err, out)
	}
	plain := func(name, collector string) *target {
		return &target{
			bin: filepath.Join(dir, name), env: append(os.Environ(), "GOGC="+collector), stdio: []string{"-upstream", api},
			http: func(addr string) []string { return []string{"-upstream", api, "-addr", addr} },
		}
	}
	t := &targets{sdk: plain("floor", "100"), bare: plain("bare", "400"), postern: gateway(filepath.Join(dir, "postern"), api)}
	for n, generated := range map[int]**target{15: &t.tools15, 600: &t.tools600, 1200: &t.tools1200} {
		bin, err := generate(dir, n)
		if err != nil {
			return nil, err
		}
		*generated = gateway(bin, api)
	}
	return t, nil
}

// gateway is one of Postern's. Every protection is on; the rate limit is only too high
// to be met.
func gateway(bin, api string) *target {
	return &target{
		bin: bin, env: append(os.Environ(), "VIAT_TOKEN=bench-token"), stdio: []string{"stdio", "--api-url", api},
		http: func(addr string) []string {
			return []string{"serve", "--api-url", api, "--listen", addr, "--rate-limit", "1e6"}
		},
	}
}
