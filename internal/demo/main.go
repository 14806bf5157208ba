// Command demo runs the gateway in front of the reference control plane, both on
// loopback, and prints what is needed to use them. It is what `make run` starts.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

func main() {
	gatewayAddr := flag.String("addr", "127.0.0.1:8080", "address of the gateway")
	controlPlaneAddr := flag.String("controlplane-addr", "127.0.0.1:8081", "address of the reference control plane")
	bin := flag.String("bin", "bin", "folder of the binaries postern and controlplane")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *bin, *gatewayAddr, *controlPlaneAddr); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin, gatewayAddr, controlPlaneAddr string) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	for _, a := range []struct{ addr, variable string }{{gatewayAddr, "ADDR"}, {controlPlaneAddr, "CONTROLPLANE_ADDR"}} {
		if err := free(a.addr, a.variable); err != nil {
			return err
		}
	}
	tokens, err := demoTokens(bin)
	if err != nil {
		return err
	}
	apiURL := "http://" + controlPlaneAddr
	// The gateway stops first, so that what it has in flight still has an API.
	controlPlane, err := start(filepath.Join(bin, "controlplane"), "controlplane", nil, "--listen", controlPlaneAddr)
	if err != nil {
		return err
	}
	defer controlPlane.stop()
	gateway, err := start(filepath.Join(bin, "postern"), "gateway", []string{"VIAT_API_URL=" + apiURL, "VIAT_PROJECT=mcp-lab"},
		"serve", "--listen", gatewayAddr)
	if err != nil {
		return err
	}
	defer gateway.stop()
	if err := ready(ctx, apiURL+"/healthz", controlPlane); err != nil {
		return err
	}
	if err := ready(ctx, "http://"+gatewayAddr+"/readyz", gateway); err != nil {
		return err
	}
	announce(os.Stdout, bin, gatewayAddr, apiURL, tokens)
	select {
	case <-ctx.Done():
		fmt.Println("\nStopping.")
		return nil
	case <-controlPlane.done:
		return errors.New("the control plane stopped by itself")
	case <-gateway.done:
		return errors.New("the gateway stopped by itself")
	}
}

// free reports a port in use before anything is started, with the way out.
func free(addr, variable string) error {
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use by another process; choose another with `make run %s=127.0.0.1:PORT`", addr, variable)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", variable, err)
	}
	return l.Close()
}

type demoToken struct{ Name, Value, May string }

func demoTokens(bin string) ([]demoToken, error) {
	out, err := exec.Command(filepath.Join(bin, "controlplane"), "demo-tokens", "--json").Output()
	if err != nil {
		return nil, fmt.Errorf("list the demo's tokens: %w", err)
	}
	var tokens []demoToken
	return tokens, json.Unmarshal(out, &tokens)
}

// child is a process that this one started.
type child struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
}

func start(path, name string, env []string, args ...string) (*child, error) {
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = &prefixed{w: os.Stderr, prefix: name + " | "}
	// Ctrl-C reaches this process alone, which stops the others in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	c := &child{name: name, cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(c.done)
	}()
	return c, nil
}

func (c *child) stop() {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.done:
	case <-time.After(15 * time.Second):
		_ = c.cmd.Process.Kill()
		<-c.done
	}
}

// ready waits until url answers 200.
func ready(ctx context.Context, url string, c *child) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-c.done:
			return fmt.Errorf("%s did not start", c.name)
		case <-ctx.Done():
			return fmt.Errorf("%s did not answer at %s", c.name, url)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func announce(w io.Writer, bin, gatewayAddr, apiURL string, tokens []demoToken) {
	endpoint, full, postern := "http://"+gatewayAddr+"/mcp", tokens[0].Value, filepath.Join(bin, "postern")
	p := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	p("\nPostern is running; Ctrl-C stops it.\n")
	p("endpoint       %s", endpoint)
	p("control plane  %s (in memory, seeded)\n", apiURL)
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "TOKEN\tMAY")
	for _, t := range tokens {
		fmt.Fprintf(table, "%s\t%s\n", t.Value, t.May)
	}
	_ = table.Flush()
	p("\nIn another shell:\n")
	p("export VIAT_API_URL=%s VIAT_TOKEN=%s VIAT_PROJECT=mcp-lab", apiURL, full)
	p("%s call read_queue_trigger_fires name=mcp_queue", postern)
	p("%s call trigger.inspect trigger_id=trg_01HXP9DLQ\n", postern)
	p("Client configuration, stdio:\n\n%s\n", configuration(map[string]any{
		"command": postern, "args": []string{"stdio"},
		"env": map[string]string{"VIAT_API_URL": apiURL, "VIAT_TOKEN": full, "VIAT_PROJECT": "mcp-lab"},
	}))
	p("Client configuration, HTTP:\n\n%s\n", configuration(map[string]any{
		"type": "http", "url": endpoint, "headers": map[string]string{"Authorization": "Bearer " + full},
	}))
}

// configuration is the form that most MCP clients read.
func configuration(server map[string]any) string {
	b, err := json.MarshalIndent(map[string]any{"mcpServers": map[string]any{"postern": server}}, "", "  ")
	if err != nil {
		panic(err) // made of strings
	}
	return string(b)
}

// prefixed writes whole lines with a prefix.
type prefixed struct {
	w      io.Writer
	prefix string
	rest   string
}

func (p *prefixed) Write(b []byte) (int, error) {
	p.rest += string(b)
	for {
		line, rest, ok := strings.Cut(p.rest, "\n")
		if !ok {
			return len(b), nil
		}
		p.rest = rest
		if _, err := fmt.Fprintln(p.w, p.prefix+line); err != nil {
			return 0, err
		}
	}
}
