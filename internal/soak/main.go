// Command soak runs a gateway under load in front of an API that misbehaves, and
// checks every answer: it is the one to what was asked, it is the caller's own, a
// write happened at most once, an error is a well-formed envelope, and the gateway's
// memory and goroutines stay flat. It exits with 1 if anything is not so.
//
//	go run ./internal/soak [-time 60s] [-clients 64]
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/postern-mcp/postern/gateway/catalog"
	"github.com/postern-mcp/postern/gateway/command"
	"github.com/postern-mcp/postern/internal/faulty"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		go sample(os.Stderr)
		command.Main(&catalog.Gateway) // the binary under test, and a goroutine that measures it
		return
	}
	length := flag.Duration("time", time.Minute, "how long")
	clients := flag.Int("clients", 64, "clients that call at once, each with a token of its own")
	flag.Parse()
	faults, err := soak(*length, *clients)
	if err == nil && len(faults) > 0 {
		err = errors.New(strings.Join(faults, "\n"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// prefix marks the lines of figures among those of the log.
const prefix = "soak-sample "

// sample is what the gateway is made of at one moment.
func sample(w io.Writer) {
	var m runtime.MemStats
	for {
		runtime.GC()
		runtime.ReadMemStats(&m)
		fmt.Fprintf(w, "%s%d %d\n", prefix, runtime.NumGoroutine(), m.HeapAlloc)
		time.Sleep(500 * time.Millisecond)
	}
}

type figures struct{ goroutines, heap int }

// gateway is the process under test.
type gateway struct {
	cmd  *exec.Cmd
	addr string

	mu      sync.Mutex
	samples []figures
	log     []string // what it wrote besides
}

func startGateway(ctx context.Context, api string, clients int) (*gateway, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &gateway{addr: listener.Addr().String()}
	_ = listener.Close()
	g.cmd = exec.CommandContext(ctx, self, "serve", "--listen", g.addr, "--api-url", api, "--timeout", "500ms",
		"--rate-limit", "0", "--max-in-flight", fmt.Sprint(2*clients), "--circuit-cooldown", "100ms", "--log-level", "warn", "--grace", "2s")
	g.cmd.Env = append(os.Environ(), "HOME=/nonexistent", "XDG_CONFIG_HOME=/nonexistent")
	out, err := g.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := g.cmd.Start(); err != nil {
		return nil, err
	}
	go g.read(out)
	for range 100 {
		if c, err := net.DialTimeout("tcp", g.addr, time.Second); err == nil {
			_ = c.Close()
			return g, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil, errors.New("the gateway does not listen")
}

func (g *gateway) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		g.mu.Lock()
		var f figures
		if n, _ := fmt.Sscanf(lines.Text(), prefix+"%d %d", &f.goroutines, &f.heap); n == 2 {
			g.samples = append(g.samples, f)
		} else {
			g.log = append(g.log, lines.Text())
		}
		g.mu.Unlock()
	}
}

// last is the average of the latest n samples.
func (g *gateway) last(n int) figures {
	g.mu.Lock()
	defer g.mu.Unlock()
	var sum figures
	n = min(n, len(g.samples))
	for _, f := range g.samples[len(g.samples)-n:] {
		sum.goroutines += f.goroutines
		sum.heap += f.heap
	}
	return figures{sum.goroutines / max(1, n), sum.heap / max(1, n)}
}

// idle is what the gateway is made of when nobody asks and no connection is left, each
// of which has goroutines of its own.
func (g *gateway) idle(api *faulty.Server) figures {
	connections.CloseIdleConnections()
	api.Hangup()
	time.Sleep(2 * time.Second)
	return g.last(2)
}

func soak(length time.Duration, clients int) ([]string, error) {
	api, err := faulty.New(faults())
	if err != nil {
		return nil, err
	}
	defer api.Close()
	ctx, cancel := context.WithTimeout(context.Background(), length+time.Minute)
	defer cancel()
	g, err := startGateway(ctx, api.URL, clients)
	if err != nil {
		return nil, err
	}
	defer func() { _ = g.cmd.Process.Kill() }()
	l := &load{endpoint: "http://" + g.addr + "/mcp", outcomes: map[string]int{}, writes: map[string]bool{}}
	if err := l.run(ctx, clients, length/3); err != nil { // everything is warm after it
		return nil, err
	}
	before := g.idle(api)
	if err := l.run(ctx, clients, length-length/3); err != nil {
		return nil, err
	}
	after := g.idle(api)
	l.checkWrites(api.Received())
	fmt.Printf("clients     %d for %v\n", clients, length)
	fmt.Printf("calls       %d, %d of them answered\n", l.calls, l.outcomes["success"])
	for _, name := range sorted(l.outcomes) {
		fmt.Printf("  %-40s %d\n", name, l.outcomes[name])
	}
	fmt.Printf("requests    %d received by the API\n", len(api.Received()))
	fmt.Printf("goroutines  %d when idle before, %d after\n", before.goroutines, after.goroutines)
	fmt.Printf("heap        %d KiB when idle before, %d KiB after\n", before.heap>>10, after.heap>>10)
	if after.goroutines > before.goroutines+10 {
		l.fault("goroutines grew from %d to %d", before.goroutines, after.goroutines)
	}
	if after.heap > before.heap*3/2+2<<20 {
		l.fault("the heap grew from %d to %d bytes", before.heap, after.heap)
	}
	if l.outcomes["success"] == 0 || len(l.outcomes) < 6 {
		l.fault("too little happened to prove anything: %v", l.outcomes)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, line := range g.log {
		if strings.Contains(line, tokenPrefix) || strings.Contains(line, "panic") {
			l.fault("the log says: %s", line)
		}
	}
	return l.faults, nil
}
