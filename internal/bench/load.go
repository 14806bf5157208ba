package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
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

// What load measures.
const (
	perSecond = iota // calls per second
	slowest          // 99th percentile of the latency in ms
	idle             // resident memory in MB before the load
	peak             // the most resident memory in MB until the load's end
	held             // growth of the resident memory for each byte of the answers under way
)

// load returns a measurement over HTTP.
func load(c call, concurrency int, length time.Duration) func(*target) ([]float64, error) {
	body := c.body(1)
	return func(t *target) ([]float64, error) {
		url, process, err := t.serving()
		if err != nil {
			return nil, err
		}
		defer process.stop()
		before := process.memory(resident)
		client := &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: concurrency}}
		defer client.CloseIdleConnections()
		size := 0
		for range 200 { // until pools and caches are warm
			if size, err = c.once(client, url, body); err != nil {
				return nil, err
			}
			if size > 1<<18 {
				break
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
					_, err = c.once(client, url, body)
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
		most := process.memory(mostResident)
		return []float64{
			float64(len(took)) / elapsed, float64(p99.Microseconds()) / 1000, before, most,
			(most - before) * (1 << 20) / float64(concurrency*size),
		}, nil
	}
}

// once makes one call, checks that it is a success and returns the answer's size.
func (c call) once(client *http.Client, url string, body []byte) (int, error) {
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
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
		return 0, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	return len(answer), success(resp.StatusCode, answer)
}

func success(status int, answer []byte) error {
	if status != http.StatusOK || !bytes.Contains(answer, []byte("trigger_id")) || bytes.Contains(answer, []byte(`"isError":true`)) {
		return fmt.Errorf("status %d: %.200s", status, answer)
	}
	return nil
}
