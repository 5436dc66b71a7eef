package load

import (
	"context"
	"testing"
	"testing/synctest"
)

// Changed is called once for all notifications that arrive while it runs, and not without one.
func TestWatchGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		calls, goOn := 0, make(chan struct{})
		w := &watcher{news: make(chan struct{}, 1), done: make(chan struct{})}
		w.Changed = func() { calls++; <-goOn }
		go w.call(ctx)
		expect := func(want int) {
			t.Helper()
			synctest.Wait() // until the goroutine waits for something
			if calls != want {
				t.Fatalf("Changed was called %d times, want %d", calls, want)
			}
		}
		expect(0)
		w.tell()
		expect(1)
		for range 10 {
			w.tell()
		}
		expect(1) // it runs
		goOn <- struct{}{}
		expect(2) // for all ten
		goOn <- struct{}{}
		expect(2)
		w.tell()
		expect(3)
		goOn <- struct{}{}
		cancel()
		<-w.done
		w.tell()
		expect(3)
	})
}
