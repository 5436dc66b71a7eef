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

	woken atomic.Bool
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
		for range s.Yields {
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

// spin polls without a pause for the configured time, or forever when busy.
func (s *Spinner) spin(poll func() bool, start, deadline int64) int {
	for {
		for range s.Burst {
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
		if s.Policy == fabric.Adaptive && now-start >= int64(s.Time) {
			return quiet
		}
		// No Gosched here: on a goroutine that is locked to its thread it costs
		// two thread switches, and the runtime preempts us when it must.
		fence.Pause()
	}
}

// Wake ends the current Wait, or the next one. It does not end a sleep.
func (s *Spinner) Wake() { s.woken.Store(true) }

// Woken reports whether there is a Wake that has not ended a Wait yet: then
// there must be no sleep.
func (s *Spinner) Woken() bool { return s.woken.Load() }
