package serving

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// Loop is a goroutine that polls, and the mail that other goroutines leave for it. A core
// has one; it can also be driven by a host.
type Loop struct {
	// Waiter is where the loop sleeps, nil when a host drives it. Its owner makes and
	// closes it.
	Waiter fabric.Waiter
	// MaxSleep bounds the next sleep; 0 is no bound.
	MaxSleep time.Duration

	wakeHost func()
	started  bool
	stop     atomic.Bool
	done     chan struct{} // Run has returned
	idle     int           // looks in vain since there was work
	ending   bool

	attention atomic.Bool // mail is not empty
	mu        sync.Mutex
	mail      []func()
	spare     []func() // what mail will be next
	closed    bool
}

// Moves are the functions that a path contributes to a loop.
type Moves struct {
	// Work polls while More says so. It may be nil.
	Work func()
	// Poll looks at everything once while the loop waits, and reports whether there was
	// work, or the loop is Stopping.
	Poll func() bool
	// Close is called at the end.
	Close func()
}

// Init makes a loop ready. wakeHost wakes the host that drives it; it is nil when it runs
// by itself.
func (l *Loop) Init(wakeHost func()) { l.wakeHost, l.done = wakeHost, make(chan struct{}) }

// Start runs the loop on a goroutine of its own.
func (l *Loop) Start(m Moves) {
	l.started = true
	go l.Run(m)
}

// Run polls until Quit, on the goroutine of the caller.
func (l *Loop) Run(m Moves) {
	defer close(l.done)
	for !l.stop.Load() {
		if l.idle = 0; m.Work != nil {
			m.Work()
		}
		l.Waiter.Wait(m.Poll, l.MaxSleep)
	}
	m.Close()
}

// More reports whether to look once more, after a look that found work or did not.
func (l *Loop) More(worked bool) bool {
	if l.idle++; worked {
		l.idle = 0
	} else if l.idle == 1 && l.Waiter.Crowded() {
		return false
	}
	return l.idle < IdleSteps && !l.stop.Load()
}

// Stopping reports whether the loop is to end.
func (l *Loop) Stopping() bool { return l.stop.Load() }

// Quit has Run return soon.
func (l *Loop) Quit() {
	l.stop.Store(true)
	l.Post(func() {})
}

// Stop ends a loop that was started, and returns when its goroutine has ended.
func (l *Loop) Stop() {
	if l.started {
		l.Quit()
		<-l.done
	}
}

// Post has the goroutine of the loop call f soon, in the order of Posts. When the loop has
// ended, f is called at once. The lock keeps the waiter of the loop, or that of its host,
// from being closed while it is woken.
func (l *Loop) Post(f func()) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		f()
		return
	}
	defer l.mu.Unlock()
	l.mail = append(l.mail, f)
	l.attention.Store(true)
	if l.wakeHost != nil {
		l.wakeHost()
	} else {
		l.Waiter.Wake()
	}
}

// Do is Post that returns when f has.
func (l *Loop) Do(f func()) {
	called := make(chan struct{})
	l.Post(func() { f(); close(called) })
	<-called
}

// HasMail reports whether Attend has something to do.
func (l *Loop) HasMail() bool { return l.attention.Load() }

// Attend calls the functions that were posted.
func (l *Loop) Attend() {
	l.attention.Store(false)
	l.mu.Lock()
	mail := l.mail
	l.mail, l.spare = l.spare[:0], nil
	l.mu.Unlock()
	for _, f := range mail {
		f()
	}
	clear(mail)
	l.spare = mail
}

// End ends the loop: it calls drop, which is to drop all sessions, until nothing is
// posted any more. A second End does nothing and returns false.
func (l *Loop) End(drop func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	for !l.closed {
		l.mu.Unlock()
		l.ending = true
		l.Attend()
		drop()
		l.mu.Lock()
		l.closed = len(l.mail) == 0
	}
	return true
}

// Ending reports whether the loop ends: it takes no new sessions.
func (l *Loop) Ending() bool { return l.ending }
