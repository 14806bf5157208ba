package e2e

import (
	"bufio"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// settings say how a gateway is started.
type settings struct {
	api     string   // URL of the control plane
	token   string   // stdio: the gateway's; HTTP: the client's
	project string   // the default project; "" for none
	args    []string // further flags
	// environment is what is set besides.
	environment []string
}

func (s settings) env() []string {
	env := append([]string{"VIAT_API_URL=" + s.api}, s.environment...)
	if s.project != "" {
		env = append(env, "VIAT_PROJECT="+s.project)
	}
	return env
}

// serve starts a gateway over HTTP and returns it with its endpoint.
func serve(t testing.TB, s settings) (p *process, endpoint string) {
	t.Helper()
	args := append([]string{"serve", "--listen=127.0.0.1:0", "--rate-limit=0"}, s.args...)
	p = start(t, command(t, s.env(), "postern", args...))
	return p, p.stderr.match(t, `msg"?[=:]"?listening"?[ ,]"?url"?[=:]"?(http://[^ "]+)`)
}

// stdio is a gateway over standard input and output, line by line.
type stdio struct {
	*process
	in  io.WriteCloser
	out *os.File
	buf *bufio.Reader
}

func startStdio(t testing.TB, s settings) *stdio {
	t.Helper()
	env := s.env()
	if s.token != "" {
		env = append(env, "VIAT_TOKEN="+s.token)
	}
	cmd := command(t, env, "postern", append([]string{"stdio"}, s.args...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	g := &stdio{process: start(t, cmd), in: in, out: out, buf: bufio.NewReader(out)}
	w.Close()
	t.Cleanup(func() {
		in.Close()
		out.Close()
	})
	return g
}

func (g *stdio) send(t testing.TB, line string) {
	t.Helper()
	if _, err := io.WriteString(g.in, line+"\n"); err != nil {
		t.Fatalf("write: %v; the log:\n%s", err, g.stderr)
	}
}

// receive returns the next line, "" at the end of output.
func (g *stdio) receive(t testing.TB) string {
	t.Helper()
	_ = g.out.SetReadDeadline(time.Now().Add(patience))
	line, err := g.buf.ReadString('\n')
	if err != nil && err != io.EOF {
		t.Fatalf("read: %v; the log:\n%s", err, g.stderr)
	}
	return strings.TrimSuffix(line, "\n")
}

// rest closes the input and returns every line until output ends.
func (g *stdio) rest(t testing.TB) []string {
	t.Helper()
	g.in.Close()
	var lines []string
	for {
		line := g.receive(t)
		if line == "" {
			return lines
		}
		lines = append(lines, line)
	}
}
