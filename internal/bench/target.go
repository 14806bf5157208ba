package main

import (
	"context"
	"errors"
	"math"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// target is a server that is measured.
type target struct {
	bin   string
	env   []string
	http  func(addr string) []string
	stdio []string
}

// serving starts a target over HTTP and waits until it accepts connections.
func (t *target) serving() (url string, p *process, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	addr := l.Addr().String()
	_ = l.Close()
	cmd := exec.Command(t.bin, t.http(addr)...)
	cmd.Env = t.env
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	p = &process{cmd.Process.Pid, func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		if c, err := new(net.Dialer).DialContext(ctx, "tcp", addr); err == nil {
			_ = c.Close()
			return "http://" + addr + "/mcp", p, nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	p.stop()
	return "", nil, errors.New("it does not accept connections")
}

// patience is how long a target may take for an answer, and for a conversation.
const patience = time.Minute

// process is a target that serves HTTP.
type process struct {
	pid  int
	stop func()
}

// Lines of a process's status (proc(5), /proc/pid/status).
const (
	resident     = "VmRSS:"
	mostResident = "VmHWM:"
)

// memory is a line of its status in MB, NaN where the system has none.
func (p *process) memory(line string) float64 {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/status")
	if err != nil {
		return math.NaN()
	}
	_, rest, _ := strings.Cut(string(status), line)
	kib, err := strconv.Atoi(strings.Fields(rest + " ?")[0])
	if err != nil {
		return math.NaN()
	}
	return float64(kib) / 1024
}
