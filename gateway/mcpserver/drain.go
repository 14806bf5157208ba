package mcpserver

import "sync"

// drain counts the requests under way and turns new ones away once it has begun.
type drain struct {
	mu       sync.Mutex
	underWay int
	idle     chan struct{} // made by begin, closed when nothing is under way
}

// enter reports whether a request may go on; leave must follow if so.
func (d *drain) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.idle != nil {
		return false
	}
	d.underWay++
	return true
}

func (d *drain) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.underWay--; d.underWay == 0 && d.idle != nil {
		close(d.idle)
	}
}

// begin is called once.
func (d *drain) begin() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.idle = make(chan struct{})
	if d.underWay == 0 {
		close(d.idle)
	}
	return d.idle
}

func (d *drain) begun() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.idle != nil
}
