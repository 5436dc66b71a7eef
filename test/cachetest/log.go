package cachetest

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// Watchdog bounds what must happen. Nothing is measured by it: it is so long that a machine
// on which many tests run at once does not come near it.
const Watchdog = 5 * time.Minute

// Log keeps what is written to it. Its methods may be called from any goroutine.
type Log struct {
	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{} // closed when there is more; nil while no goroutine waits
}

// Write implements io.Writer.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
	return l.text.Write(b)
}

// String returns all that was written.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Await waits until the words have been written n times.
func (l *Log) Await(t testing.TB, words string, n int) {
	t.Helper()
	timeout := time.NewTimer(Watchdog)
	defer timeout.Stop()
	for {
		l.mu.Lock()
		if strings.Count(l.text.String(), words) >= n {
			l.mu.Unlock()
			return
		}
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-changed:
		case <-timeout.C:
			t.Fatalf("timed out waiting for %q in:\n%s", words, l)
		}
	}
}

// Await waits for something that is not announced.
func Await(t testing.TB, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(Watchdog); !is(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}
