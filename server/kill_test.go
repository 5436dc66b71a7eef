package server_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/test/cachetest"
)

// writer is a goroutine that stores values which nobody else does, one after the
// other, for as long as it is wanted.
type writer struct {
	id      int
	cache   operations
	mu      sync.Mutex
	results map[string]cachetest.Outcome // by value
	acked   int
	failed  int // since the last success
}

func (w *writer) run(ctx context.Context, stop <-chan struct{}) {
	pause := time.NewTicker(time.Millisecond)
	defer pause.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		select {
		case <-stop:
			return
		default:
		}
		c := cachetest.Call{Kind: cachetest.Set, Key: fmt.Sprint("key ", w.id, n%8), Value: fmt.Sprint("value ", w.id, " ", n)}
		o := adapter{operations: w.cache}.Do(ctx, &c)
		w.mu.Lock()
		if w.results[c.Value] = o; o.Status == cachetest.OK {
			w.acked, w.failed = w.acked+1, 0
		} else {
			w.failed++
		}
		w.mu.Unlock()
		if o.Status != cachetest.OK {
			<-pause.C
		}
	}
}

// await waits until something holds for the results of all writers.
func awaitWriters(t *testing.T, what string, all []*writer, is func(w *writer) bool) {
	t.Helper()
	for _, w := range all {
		cachetest.Await(t, what, func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return is(w)
		})
	}
}

// When the server is killed its clients get errors that are true, and when it is
// back at its address they go on by themselves.
func TestKilledServer(t *testing.T) {
	for _, name := range across {
		t.Run(name, func(t *testing.T) { testKilledServer(t, name) })
	}
}

func testKilledServer(t *testing.T, name string) {
	files := []string{filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")}
	t.Setenv(writtenVar, files[0])
	first := startServer(t, serverTask{URL: listenURL(t, name), Engine: "written down", Cores: 2})
	r := newRig(t, name)
	r.url = first.url
	quick := []remora.Option{
		remora.WithReconnectWait(20 * time.Millisecond), remora.WithBackoff(time.Millisecond, 10*time.Millisecond),
	}
	c, replies := r.dial(quick...), r.dial(append(quick, remora.WithPath(remora.PathReply))...)
	caches := []operations{c, c, c, session(t, c), replies, session(t, replies)}
	all := make([]*writer, len(caches))
	stop := make(chan struct{})
	ctx := testContext(t)
	var wg sync.WaitGroup
	for i, cache := range caches {
		all[i] = &writer{id: i, cache: cache, results: map[string]cachetest.Outcome{}}
		wg.Go(func() { all[i].run(ctx, stop) })
	}
	awaitWriters(t, "the writers to be under way", all, func(w *writer) bool { return w.acked > 30 })
	old, err := c.GetItem(ctx, "key 0 0")
	if err != nil {
		t.Error(err)
	}
	first.Kill()
	awaitWriters(t, "an error", all, func(w *writer) bool { return w.failed > 3 })
	t.Setenv(writtenVar, files[1])
	startServer(t, serverTask{URL: r.url, Engine: "written down", Cores: 2})
	before := make([]int, len(all))
	for i, w := range all {
		w.mu.Lock()
		before[i] = w.acked
		w.mu.Unlock()
	}
	awaitWriters(t, "the writers to go on", all, func(w *writer) bool { return w.failed == 0 && w.acked > before[w.id]+30 })
	close(stop)
	wg.Wait()
	checkWritten(t, all, files)
	// What was known of the first server fits nothing of the second.
	if _, err := c.CAS(ctx, "key 0 0", old, nil, 0); !errors.Is(err, remora.ErrChanged) && !errors.Is(err, remora.ErrNotFound) {
		t.Errorf("a change of a version of before the restart: %v", err)
	}
}

// checkWritten compares what clients were told with what the servers have done.
func checkWritten(t *testing.T, all []*writer, files []string) {
	t.Helper()
	done := map[string]bool{}
	for _, path := range files {
		values, err := written(path)
		if err != nil {
			t.Fatal(err)
		}
		for value := range values {
			done[value] = true
		}
	}
	counts := map[cachetest.Status]int{}
	for _, w := range all {
		for value, o := range w.results {
			counts[o.Status]++
			switch {
			case o.Status == cachetest.OK && !done[value]:
				t.Errorf("%s was acknowledged and not stored", value)
			case o.Status == cachetest.Unavailable && done[value]:
				t.Errorf("%s was stored, and yet: %v", value, o)
			case o.Status != cachetest.OK && o.Status != cachetest.Unavailable && o.Status != cachetest.Unknown:
				t.Errorf("%s: %v", value, o)
			}
		}
	}
	t.Logf("how writes ended: %v", counts)
}
