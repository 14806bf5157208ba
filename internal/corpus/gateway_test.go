package corpus

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postern-mcp/postern/openapi"
)

// built is a gateway made of one document.
type built struct {
	report  *openapi.Report
	bin     string
	prefix  string // of its environment variables
	tools   []tool
	seconds float64
}

// tool is what the contract says of one.
type tool struct {
	Name        string          `json:"name"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Method      string          `json:"method"`
	Path        string          `json:"path"`
}

var (
	scratch string // removed by TestMain
	made    sync.Map
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "corpus")
	if err != nil {
		panic(err)
	}
	scratch = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// gateway generates and builds the gateway of a document, once for all tests.
func gateway(t *testing.T, document string) (*built, error) {
	t.Helper()
	make := func() (*built, error) { return generate(t, document) }
	once, _ := made.LoadOrStore(document, sync.OnceValues(make))
	return once.(func() (*built, error))()
}

func generate(t *testing.T, document string) (*built, error) {
	start := time.Now()
	runtime, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	out := filepath.Join(scratch, document)
	p := openapi.Project{Spec: filepath.Join(folder, document), Out: out, Module: "example.com/gateway", Runtime: runtime}
	report, err := p.Create(t.Context())
	if err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	b := &built{report: report, bin: filepath.Join(scratch, document+".bin")}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-p", "2", "-o", b.bin, "./cmd/...")
	cmd.Dir = out
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build: %w\n%s", err, text)
	}
	data, err := exec.CommandContext(t.Context(), b.bin, "tools", "--json").Output()
	if err != nil {
		return nil, fmt.Errorf("list the tools: %w", err)
	}
	var contract struct{ Tools []tool }
	if err := json.Unmarshal(data, &contract); err != nil {
		return nil, fmt.Errorf("read the contract: %w", err)
	}
	b.tools = contract.Tools
	overlay, err := os.ReadFile(filepath.Join(out, "openapi", "overlay.yaml"))
	if err != nil {
		return nil, err
	}
	_, after, _ := strings.Cut(string(overlay), "env-prefix: ")
	b.prefix, _, _ = strings.Cut(after, "\n")
	b.seconds = time.Since(start).Seconds()
	return b, os.RemoveAll(out)
}

// client talks to a gateway over its standard input and output.
type client struct {
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

// answer is what tools/call gives back.
type answer struct {
	IsError bool
	Content []struct{ Text string }
}

// start starts a gateway in front of an API.
func (b *built) start(t *testing.T, api string) *client {
	t.Helper()
	cmd := exec.Command(b.bin, "stdio", "--log-level", "error")
	cmd.Env = append(os.Environ(), b.prefix+"_API_URL="+api, b.prefix+"_TOKEN=token", b.prefix+"_USERNAME=user", b.prefix+"_PASSWORD=password")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	c := &client{in: in, out: bufio.NewReaderSize(out, 1<<20)}
	var ignored json.RawMessage
	err = c.request("initialize", json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"corpus","version":"1"}}`), &ignored)
	if err == nil {
		_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// call calls a tool.
func (c *client) call(name string, arguments []byte) (answer, error) {
	var a answer
	params, err := json.Marshal(map[string]any{"name": name, "arguments": json.RawMessage(arguments)})
	if err != nil {
		return a, err
	}
	return a, c.request("tools/call", params, &a)
}

func (c *client) request(method string, params json.RawMessage, result any) error {
	c.id++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.id, "method": method, "params": params})
	if err != nil {
		return err
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return err
	}
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			return err
		}
		var message struct {
			ID     int
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(line, &message); err != nil {
			return err
		}
		switch {
		case message.ID != c.id:
		case message.Error != nil:
			return fmt.Errorf("%s: %s", method, message.Error.Message)
		default:
			return json.Unmarshal(message.Result, result)
		}
	}
}
