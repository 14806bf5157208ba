package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/postern-mcp/postern/examples/powerdns/gateway/catalog"
	"github.com/postern-mcp/postern/gateway/schema"
)

// TestSmoke builds the gateway, starts it, lists its tools as a client does and
// holds them against the contract.
func TestSmoke(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "gateway")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	want, err := os.ReadFile(filepath.Join("..", "..", "contracts", catalog.Gateway.ContractVersion, "mcp-tools.json"))
	if err != nil {
		t.Fatal(err)
	}
	tools := exec.Command(bin, "tools", "--json")
	tools.Env = []string{"HOME=" + t.TempDir()}
	if got, err := tools.Output(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("tools --json is not the contract: %v", err)
	}
	var contract struct{ Tools []tool }
	if err := json.Unmarshal(want, &contract); err != nil {
		t.Fatal(err)
	}
	for i := range catalog.Gateway.Tools {
		if _, err := schema.Compile([]byte(catalog.Gateway.Tools[i].InputSchema)); err != nil {
			t.Errorf("%s: %v", catalog.Gateway.Tools[i].Name, err)
		}
	}
	listed := list(t, bin)
	if len(listed) != len(contract.Tools) {
		t.Fatalf("%d tools listed, %d in the contract", len(listed), len(contract.Tools))
	}
	for i := range listed {
		if listed[i].Name != contract.Tools[i].Name || !bytes.Equal(compact(t, listed[i].InputSchema), compact(t, contract.Tools[i].InputSchema)) {
			t.Errorf("%s is listed otherwise than in the contract", contract.Tools[i].Name)
		}
	}
}

type tool struct {
	Name        string          `json:"name"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

func compact(t *testing.T, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const conversation = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"smoke","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`

// list starts the gateway over standard input and output and asks for its tools.
func list(t *testing.T, bin string) []tool {
	t.Helper()
	cmd := exec.Command(bin, "stdio")
	// Nothing of this user's settings: neither variables nor a configuration file.
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "PDNS_API_URL=http://127.0.0.1:1", "PDNS_TOKEN=smoke-test"}
	cmd.Stdin = bytes.NewBufferString(conversation)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		var answer struct {
			ID     int
			Result struct{ Tools []tool }
		}
		if json.Unmarshal(line, &answer) == nil && answer.ID == 2 {
			_, _ = io.Copy(io.Discard, lines)
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			return answer.Result.Tools
		}
		if err != nil {
			t.Fatalf("no answer to tools/list: %v", err)
		}
	}
}
