package consumer

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBackoffDoublesUpToItsBound(t *testing.T) {
	for attempt, want := range map[int]time.Duration{1: 50 * time.Millisecond, 2: 100 * time.Millisecond, 3: 200 * time.Millisecond, 24: maxBackoff} {
		if got := backoff(attempt); got != want {
			t.Errorf("attempt %d: %v, want %v", attempt, got, want)
		}
	}
}

func TestOnlyAnObjectWithFailTrueFails(t *testing.T) {
	for args, want := range map[string]string{
		`{"fail":true}`: "dead_lettered", `{"x":1,"fail": true}`: "dead_lettered",
		`{}`: "succeeded", `{"fail":false}`: "succeeded", `{"fail":"true"}`: "succeeded", `{"Fail":true}`: "succeeded",
		`null`: "succeeded", `[true]`: "succeeded", `"fail"`: "succeeded", `1e400`: "succeeded",
	} {
		if got := execute(store.Delivery{Args: json.RawMessage(args), Attempt: 1, MaxAttempts: 1}).Outcome; got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

func TestBrokenDatabaseIsNotAskedInATightLoop(t *testing.T) {
	db, err := store.Open(t.Context(), store.Memory)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		lines := &counter{}
		New(db, slog.New(slog.NewTextHandler(lines, nil))).Run(ctx)
		if lines.n < 3 || lines.n > 5 {
			t.Errorf("%d attempts in 3.5 s", lines.n)
		}
	})
}

type counter struct{ n int }

func (c *counter) Write(b []byte) (int, error) { c.n++; return io.Discard.Write(b) }
