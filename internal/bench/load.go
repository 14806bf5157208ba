package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// call is one request that is made again and again.
type call struct{ tool, arguments, revision string }

func (c call) body(id int) []byte {
	meta := ""
	if c.revision == modern {
		meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":%s%s}}`, id, c.tool, c.arguments, meta)
}

// load returns a measurement over HTTP: calls per second, the 99th percentile of the
// latency in ms, and the resident memory in MB before and under the load.
func load(c call, concurrency int, length time.Duration) func(*target) ([]float64, error) {
	body := c.body(1)
	return func(t *target) ([]float64, error) {
		url, process, err := t.serving()
		if err != nil {
			return nil, err
		}
		defer process.stop()
		idle := process.resident()
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: concurrency}}
		defer client.CloseIdleConnections()
		for range 200 { // until pools and caches are warm
			if err := c.once(client, url, body); err != nil {
				return nil, err
			}
		}
		var mu sync.Mutex
		var took []time.Duration
		var failed error
		var wg sync.WaitGroup
		start := time.Now()
		for range concurrency {
			wg.Go(func() {
				var own []time.Duration
				var err error
				for time.Since(start) < length && err == nil {
					begun := time.Now()
					err = c.once(client, url, body)
					own = append(own, time.Since(begun))
				}
				mu.Lock()
				defer mu.Unlock()
				took = append(took, own...)
				if err != nil {
					failed = err
				}
			})
		}
		wg.Wait()
		if failed != nil {
			return nil, failed
		}
		elapsed := time.Since(start).Seconds()
		slices.Sort(took)
		p99 := took[len(took)*99/100]
		return []float64{float64(len(took)) / elapsed, float64(p99.Microseconds()) / 1000, idle, process.resident()}, nil
	}
}

// once makes one call and checks that it is a success.
func (c call) once(client *http.Client, url string, body []byte) error {
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = http.Header{
		"Authorization": {"Bearer bench-token"}, "Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {c.revision},
	}
	if c.revision == modern {
		req.Header["Mcp-Method"], req.Header["Mcp-Name"] = []string{"tools/call"}, []string{c.tool}
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	return success(resp.StatusCode, answer)
}

func success(status int, answer []byte) error {
	if status != http.StatusOK || !bytes.Contains(answer, []byte("trigger_id")) || bytes.Contains(answer, []byte(`"isError":true`)) {
		return fmt.Errorf("status %d: %.200s", status, answer)
	}
	return nil
}

const (
	handshake = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`
	list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}
`
)

// conversation is a process spoken to by lines.
type conversation struct {
	in    io.Writer
	lines *bufio.Reader
	stop  func()
}

func (t *target) converse() (*conversation, error) {
	cmd := exec.Command(t.bin, t.stdio...)
	cmd.Env = t.env
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &conversation{in, bufio.NewReaderSize(out, 1<<20), func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}}, nil
}

// answer waits for the answer to a request.
func (c *conversation) answer(id int) ([]byte, error) {
	want := []byte(`"id":` + strconv.Itoa(id) + `,`)
	for {
		line, err := c.lines.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("no answer to request %d: %w", id, err)
		}
		if bytes.Contains(line[:min(len(line), 64)], want) {
			return line, nil
		}
	}
}

// coldStart measures the time in milliseconds from starting the process to the
// answer to tools/list.
func (t *target) coldStart() ([]float64, error) {
	start := time.Now()
	c, err := t.converse()
	if err != nil {
		return nil, err
	}
	defer c.stop()
	if _, err := io.WriteString(c.in, handshake+list); err != nil {
		return nil, err
	}
	if _, err := c.answer(1); err != nil {
		return nil, err
	}
	return []float64{float64(time.Since(start).Microseconds()) / 1000}, nil
}

// lines returns a measurement: calls per second over standard input and output, one
// after the other.
func lines(c call, length time.Duration) func(*target) ([]float64, error) {
	return func(t *target) ([]float64, error) {
		p, err := t.converse()
		if err != nil {
			return nil, err
		}
		defer p.stop()
		if _, err := io.WriteString(p.in, handshake); err != nil {
			return nil, err
		}
		if _, err := p.answer(0); err != nil {
			return nil, err
		}
		start, n := time.Now(), 0
		for ; time.Since(start) < length; n++ {
			if _, err := p.in.Write(append(c.body(n+1), '\n')); err != nil {
				return nil, err
			}
			answer, err := p.answer(n + 1)
			if err == nil {
				err = success(http.StatusOK, answer)
			}
			if err != nil {
				return nil, err
			}
		}
		return []float64{float64(n) / time.Since(start).Seconds()}, nil
	}
}

// process is a target that serves HTTP.
type process struct {
	pid  int
	stop func()
}

// resident is its resident memory in MB, 0 where there is no /proc.
func (p *process) resident() float64 {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
	return float64(kib) / 1024
}
