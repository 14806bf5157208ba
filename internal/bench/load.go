package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// load returns a measurement: calls per second of one tool over HTTP.
func load(tool, arguments string, concurrency int, length time.Duration) func(*target) (float64, error) {
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`)
	return func(t *target) (float64, error) {
		url, stop, err := t.serving()
		if err != nil {
			return 0, err
		}
		defer stop()
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: concurrency}}
		defer client.CloseIdleConnections()
		for range 200 { // until pools and caches are warm
			if err := callOnce(client, url, body); err != nil {
				return 0, err
			}
		}
		var done atomic.Int64
		var failed atomic.Pointer[error]
		var wg sync.WaitGroup
		start := time.Now()
		for range concurrency {
			wg.Go(func() {
				for time.Since(start) < length {
					if err := callOnce(client, url, body); err != nil {
						failed.Store(&err)
						return
					}
					done.Add(1)
				}
			})
		}
		wg.Wait()
		if err := failed.Load(); err != nil {
			return 0, *err
		}
		return float64(done.Load()) / time.Since(start).Seconds(), nil
	}
}

// callOnce makes one call and checks that it is a success.
func callOnce(client *http.Client, url string, body []byte) error {
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = http.Header{
		"Authorization": {"Bearer bench-token"}, "Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2025-11-25"},
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
	if resp.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte("trigger_id")) || bytes.Contains(answer, []byte(`"isError":true`)) {
		return fmt.Errorf("status %d: %.200s", resp.StatusCode, answer)
	}
	return nil
}

const conversation = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}
`

// coldStart measures the time in milliseconds from starting the process to the
// answer to tools/list.
func (t *target) coldStart() (float64, error) {
	cmd := exec.Command(t.bin, t.stdio...)
	cmd.Env = append(os.Environ(), "VIAT_TOKEN=bench-token")
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	if _, err := io.WriteString(in, conversation); err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"id":2`) {
			return float64(time.Since(start).Microseconds()) / 1000, nil
		}
	}
	return 0, fmt.Errorf("no answer to tools/list: %w", lines.Err())
}
