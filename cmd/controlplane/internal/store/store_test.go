package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/api"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, path string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// withTrigger puts in a project p with a trigger of the given prefetch on q.
func withTrigger(t *testing.T, s *store.Store, prefetch int) {
	t.Helper()
	if err := s.AddProject(t.Context(), api.Project{Slug: "p", Activated: true}); err != nil {
		t.Fatal(err)
	}
	err := s.CreateQueueTrigger(t.Context(), "p", api.QueueTrigger{
		Id: uuid.NewString(), Name: "t", Queue: "q", Enabled: true, Prefetch: prefetch, MaxAttempts: 1, Args: json.RawMessage(`{}`),
	})
	if err != nil {
		t.Fatal(err)
	}
}

func publish(t *testing.T, s *store.Store, n int) {
	t.Helper()
	for range n {
		if _, err := s.Publish(t.Context(), "p", "q", api.NewMessage{Payload: json.RawMessage(`1`)}); err != nil {
			t.Fatal(err)
		}
	}
}

func claim(t *testing.T, s *store.Store) []store.Delivery {
	t.Helper()
	claimed, _, err := s.Claim(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	return claimed
}

func finish(t *testing.T, s *store.Store, d store.Delivery) {
	t.Helper()
	run, err := s.Start(t.Context(), d, nil)
	if err == nil {
		err = s.Finish(t.Context(), d, run, store.Result{Outcome: "succeeded"})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestClaimHonoursPrefetch(t *testing.T) {
	t.Parallel()
	s := open(t, store.Memory)
	defer s.Close()
	withTrigger(t, s, 2)
	publish(t, s, 5)
	first := claim(t, s)
	if len(first) != 2 || first[0].MessageSeq > first[1].MessageSeq {
		t.Fatalf("claimed %+v, want the oldest 2", first)
	}
	if more := claim(t, s); len(more) != 0 {
		t.Fatalf("claimed %d beyond the prefetch", len(more))
	}
	finish(t, s, first[0])
	if more := claim(t, s); len(more) != 1 {
		t.Fatalf("claimed %d, want 1 for the place that got free", len(more))
	}
}

func TestFiresRecordedSideBySideAreInTheOrderOfTheirStamps(t *testing.T) {
	t.Parallel()
	s := open(t, store.Memory)
	defer s.Close()
	withTrigger(t, s, 50)
	publish(t, s, 50)
	claimed := claim(t, s)
	var group sync.WaitGroup
	for _, d := range claimed {
		group.Go(func() {
			run, err := s.Start(t.Context(), d, nil)
			if err == nil {
				err = s.Finish(t.Context(), d, run, store.Result{Outcome: "succeeded"})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	fires, err := s.Fires(t.Context(), claimed[0].TriggerID)
	if err != nil || len(fires) != len(claimed) {
		t.Fatalf("%d records, %v", len(fires), err)
	}
	for i := 1; i < len(fires); i++ {
		if fires[i].FiredAt > fires[i-1].FiredAt {
			t.Errorf("record %d of %s comes after one of %s", i, fires[i].FiredAt, fires[i-1].FiredAt)
		}
	}
}

func TestStartAfterDeletionLeavesTheMessageInItsQueue(t *testing.T) {
	t.Parallel()
	s := open(t, store.Memory)
	defer s.Close()
	withTrigger(t, s, 1)
	publish(t, s, 1)
	d := claim(t, s)[0]
	if err := s.DeleteQueueTrigger(t.Context(), "p", "t"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start(t.Context(), d, nil); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("start: %v, want ErrNotFound", err)
	}
}

func TestFileKeepsItsContentAndFreesClaims(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a?b #c.db")
	s := open(t, path)
	withTrigger(t, s, 1)
	publish(t, s, 1)
	d := claim(t, s)[0]
	run, err := s.Start(t.Context(), d, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = open(t, path)
	defer s.Close()
	e, err := s.Execution(t.Context(), "p", run.ExecutionID)
	if err != nil || e.Status != api.Failed {
		t.Errorf("execution %+v, %v, want failed", e, err)
	}
	again := claim(t, s)
	if len(again) != 1 || again[0].Attempt != 2 {
		t.Errorf("claimed %+v, want a second attempt", again)
	}
}

func TestCanceledRequestsDoNotLoseAMemoryDatabase(t *testing.T) {
	t.Parallel()
	s := open(t, store.Memory)
	defer s.Close()
	withTrigger(t, s, 1)
	for i := range 200 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*10*time.Microsecond)
		_, _ = s.Publish(ctx, "p", "q", api.NewMessage{Payload: json.RawMessage(`1`)})
		cancel()
	}
	if _, err := s.QueueTrigger(t.Context(), "p", "t"); err != nil {
		t.Fatal(err)
	}
}

func TestStampsSortAsTimes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 27, 14, 31, 0, 0, time.UTC)
	if a, b := store.Stamp(now), store.Stamp(now.Add(time.Millisecond)); a >= b || a != "2026-05-27T14:31:00.000Z" {
		t.Errorf("%s, %s", a, b)
	}
	if !store.Past("no time", now) || store.Past(store.Stamp(now.Add(time.Second)), now) || !store.Past(store.Stamp(now.Add(-time.Second)), now) {
		t.Error("Past is wrong")
	}
}
