// Package consumer makes queue triggers consume: it takes the messages routed to
// them, runs one execution per delivery and delivers again what failed.
//
//	store.Publish ──Wake──▶ claim ──▶ start ──▶ run ──▶ finish ──▶ fire, logs
//	                          ▲                            │
//	                          └──── failed: after 50 ms, ──┘
//	                                100 ms, 200 ms, …
//
// There is no code to run in a reference control plane: an execution looks at
// its trigger's args and succeeds, unless they say {"fail": true}.
package consumer

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/api"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/store"
)

const (
	workers      = 4
	firstBackoff = 50 * time.Millisecond
	maxBackoff   = 10 * time.Second
	// afterError keeps a database that fails from being asked in a tight loop.
	afterError = time.Second
)

// Consumer runs until the context given to Run ends.
type Consumer struct {
	store *store.Store
	log   *slog.Logger
	wake  chan struct{}
}

// New returns a consumer of what is in the store.
func New(s *store.Store, log *slog.Logger) *Consumer {
	return &Consumer{store: s, log: log, wake: make(chan struct{}, 1)}
}

// Wake says that there may be something to consume. It never blocks.
func (c *Consumer) Wake() {
	select {
	case c.wake <- struct{}{}:
	default: // it is going to look anyway
	}
}

// Run consumes until ctx ends and returns when nothing runs any more.
func (c *Consumer) Run(ctx context.Context) {
	work := make(chan store.Delivery)
	var pool sync.WaitGroup
	for range workers {
		pool.Go(func() {
			for d := range work {
				// What was begun is finished, also while shutting down.
				c.deliver(context.WithoutCancel(ctx), d)
				c.Wake() // its place in the prefetch is free
			}
		})
	}
	c.dispatch(ctx, work)
	close(work)
	pool.Wait()
}

// dispatch hands out what is due, then sleeps until it is woken or until the
// next retry falls due.
func (c *Consumer) dispatch(ctx context.Context, work chan<- store.Delivery) {
	for ctx.Err() == nil {
		claimed, next, err := c.store.Claim(ctx, workers)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			c.log.Error("cannot claim deliveries", "error", err)
			next = time.Now().Add(afterError)
		}
		for _, d := range claimed {
			select {
			case work <- d:
			case <-ctx.Done():
				return // the claim is taken up again at the next start
			}
		}
		if len(claimed) == workers {
			continue // there may be more
		}
		var due <-chan time.Time
		if !next.IsZero() {
			due = time.After(time.Until(next))
		}
		select {
		case <-c.wake:
		case <-due:
		case <-ctx.Done():
		}
	}
}

func (c *Consumer) deliver(ctx context.Context, d store.Delivery) {
	run, err := c.store.Start(ctx, d, []store.Line{
		{Level: api.LogLineLevelDebug, Message: "message received", Fields: fields(received{d.Queue, d.RoutingKey, d.MessageID, d.Payload})},
		{Level: api.LogLineLevelInfo, Message: "execution started", Fields: fields(started{d.TriggerName, d.Attempt, d.Args})},
	})
	if errors.Is(err, store.ErrNotFound) {
		return
	}
	if err == nil {
		err = c.store.Finish(ctx, d, run, execute(d))
	}
	if err != nil { // the claim stands until the next start frees it
		c.log.Error("cannot deliver a message", "trigger", d.TriggerID, "message", d.MessageSeq, "error", err)
	}
}

// execute is the reference control plane's whole idea of running something.
func execute(d store.Delivery) store.Result {
	var args map[string]json.RawMessage
	// Args of another shape ask for nothing.
	if err := json.Unmarshal(d.Args, &args); err != nil || string(args["fail"]) != "true" {
		return store.Result{
			Outcome: "succeeded",
			Lines:   []store.Line{{Level: api.LogLineLevelInfo, Message: "execution succeeded", Fields: fields(struct{}{})}},
		}
	}
	reason := "the trigger's args ask for a failure"
	result := store.Result{
		Outcome: "failed",
		Failure: &reason,
		Lines:   []store.Line{{Level: api.LogLineLevelError, Message: "execution failed", Fields: fields(failed{reason, d.Attempt, d.MaxAttempts})}},
	}
	if d.Attempt >= d.MaxAttempts {
		result.Outcome = "dead_lettered"
		return result
	}
	at := time.Now().Add(backoff(d.Attempt))
	result.RetryAt = &at
	return result
}

func backoff(attempt int) time.Duration {
	wait := firstBackoff
	for range attempt - 1 {
		wait = min(2*wait, maxBackoff)
	}
	return wait
}
