package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"time"
)

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

// converse starts a process and writes the handshake and what follows it.
func (t *target) converse(follows string) (*conversation, error) {
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
	// It ends one that does not answer.
	watchdog := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	c := &conversation{in, bufio.NewReaderSize(out, 1<<20), func() {
		watchdog.Stop()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}}
	if _, err := io.WriteString(in, handshake+follows); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
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
	c, err := t.converse(list)
	if err != nil {
		return nil, err
	}
	defer c.stop()
	if _, err := c.answer(1); err != nil {
		return nil, err
	}
	return []float64{float64(time.Since(start).Microseconds()) / 1000}, nil
}

// lines returns a measurement: calls per second over standard input and output, one
// after the other.
func lines(c call, length time.Duration) func(*target) ([]float64, error) {
	return func(t *target) ([]float64, error) {
		p, err := t.converse("")
		if err != nil {
			return nil, err
		}
		defer p.stop()
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

// listing measures the time in milliseconds of a tools/list on a server that is warm,
// the median of many.
func (t *target) listing() ([]float64, error) {
	c, err := t.converse("")
	if err != nil {
		return nil, err
	}
	defer c.stop()
	var took []float64
	for i := range 120 {
		start := time.Now()
		if _, err := io.WriteString(c.in, list); err != nil {
			return nil, err
		}
		if _, err := c.answer(1); err != nil {
			return nil, err
		}
		if i >= 20 {
			took = append(took, float64(time.Since(start).Microseconds())/1000)
		}
	}
	return []float64{median(took)}, nil
}
