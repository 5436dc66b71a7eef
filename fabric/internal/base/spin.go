package base

import (
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

// Spinner is the part of waiting that all providers do alike (see fabric.Waiter):
// it polls without a pause for a while, yields a few times, and has the provider
// sleep, until poll finds something, the time is over, or Wake is called. Wake may
// be called from any goroutine, the rest by the waiter's owner.
type Spinner struct {
	Clock fabric.Clock
	// Policy and Time are those of the WaitConfig.
	Policy fabric.Policy
	Time   time.Duration
	// Burst is how often spinning polls between looks at the clock, Yields how
	// often it yields before each sleep.
	Burst, Yields int
	// Peers are those of the waiter's queue pairs, nil where nobody knows on which CPUs they run.
	Peers Peers

	alone   int64 // until when the waiter does not yield
	crowded atomic.Bool
	woken   atomic.Bool
}

// Peers are the other ends of the queue pairs of a waiter. One that shares the CPU of the waiter's
// owner cannot answer while the owner polls.
type Peers interface {
	// Beside tells the peers where the owner runs, and reports whether one of them was on the
	// same CPU when it last looked.
	Beside() bool
	// Yield lets other threads run on the CPU.
	Yield()
}

// Init sets the spinner of a waiter up and fills in the defaults of cfg.
func (s *Spinner) Init(clock fabric.Clock, cfg *fabric.WaitConfig, burst, yields int) error {
	if cfg.Spin < 0 || cfg.Policy > fabric.Busy {
		return fmt.Errorf("fabric: waiter: policy %d, spin %v: %w", cfg.Policy, cfg.Spin, fabric.ErrInvalid)
	}
	if cfg.Spin == 0 {
		cfg.Spin = fabric.DefaultSpin
	}
	s.Clock, s.Policy, s.Time, s.Burst, s.Yields = clock, cfg.Policy, cfg.Spin, burst, yields
	return nil
}

// Wait is fabric.Waiter.Wait from the second call of poll on. sleep is called
// when spinning has found nothing; it looks once more, blocks until something
// may have happened, or until the deadline of the clock, and reports whether
// its poll found something. Neither function is kept, so that closures stay on
// the stack.
func (s *Spinner) Wait(poll func() bool, sleep func(deadline int64) bool, timeout time.Duration) bool {
	deadline := int64(math.MaxInt64)
	now := s.Clock.Now()
	if timeout > 0 {
		deadline = After(now, timeout)
	}
	for {
		switch s.spin(poll, now, deadline) {
		case found:
			return true
		case over:
			return poll()
		}
		for i := 0; i < s.Yields && !s.Crowded(); i++ {
			runtime.Gosched()
			if poll() {
				return true
			}
		}
		if sleep(deadline) {
			return true
		}
		now = s.Clock.Now()
	}
}

// What spinning ended with.
const (
	found = iota
	over
	quiet
)

// spin polls without a pause for the configured time, or forever when busy. Between polls it
// makes room for peers.
func (s *Spinner) spin(poll func() bool, start, deadline int64) int {
	for {
		burst := s.Burst
		if s.Crowded() {
			burst = 1
		}
		for range burst {
			if poll() {
				return found
			}
			if s.woken.Load() {
				s.woken.Store(false)
				return over
			}
		}
		now := s.Clock.Now()
		if now >= deadline {
			return over
		}
		if s.makeRoom(start, now) && poll() {
			return found
		}
		if s.Policy == fabric.Adaptive && now-start >= int64(s.Time) {
			return quiet
		}
		if !s.Crowded() {
			// No Gosched here: on a goroutine that is locked to its thread it costs
			// two thread switches, and the runtime preempts us when it must.
			fence.Pause()
		}
	}
}

const (
	// lookAfter is the time of polling in vain before the first look for peers on the same CPU: one
	// on another CPU has mostly answered by then, so that waiting for it costs what it did.
	lookAfter = 3 * time.Microsecond
	// longYield is how long a yield to peers takes at most. When it took longer, a thread ran that
	// does not yield, and would run as long every time: for aloneFor the waiter does not yield.
	longYield = time.Millisecond
	aloneFor  = 100 * time.Millisecond
)

// makeRoom yields the CPU if a peer was on it when it last looked, and reports whether it did. A waiter
// that is to sleep sooner than the first look does not yield.
func (s *Spinner) makeRoom(start, now int64) bool {
	if s.Peers == nil || s.Time <= lookAfter {
		return false
	}
	beside := now >= s.alone && (s.Crowded() || now-start > int64(lookAfter)) && s.Peers.Beside()
	if beside {
		s.Peers.Yield()
		if after := s.Clock.Now(); after-now > int64(longYield) {
			s.alone = After(after, aloneFor)
		}
	}
	if beside != s.Crowded() {
		s.crowded.Store(beside)
	}
	return beside
}

// Crowded implements fabric.Waiter.
func (s *Spinner) Crowded() bool { return s.crowded.Load() }

// Wake ends the current Wait, or the next one. It does not end a sleep.
func (s *Spinner) Wake() { s.woken.Store(true) }

// Woken reports whether there is a Wake that has not ended a Wait yet: then
// there must be no sleep.
func (s *Spinner) Woken() bool { return s.woken.Load() }
