package base

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
)

// Sleeper implements fabric.Waiter for providers whose completion queues can be
// waited for by poll(2).
type Sleeper struct {
	spinner     Spinner
	beforeSleep func()
	afterSleep  func()
	source      Source
	pipe        *WakePipe
	fds         []unix.PollFd // the pipe, then those of the source
	late        time.Duration

	asleep atomic.Uint32
	sleeps atomic.Uint64
	// lateWakes counts sleeps that no wake-up ended though there was something.
	lateWakes atomic.Uint64
	closed    bool
}

// Source is the completion queues of a Sleeper. Its methods are called by the
// owner of the queues.
type Source interface {
	// Arm makes everything that has news write to the source's descriptors from
	// now on, and returns when the clock has news: the earliest request that
	// fails for want of a receive.
	Arm() (until int64)
	// Pending reports whether there is something that the last poll did not see
	// and that makes no descriptor readable.
	Pending() bool
	// Drain empties the descriptors that are readable.
	Drain(fds []unix.PollFd)
	// Disarm undoes Arm.
	Disarm()
}

// maxSleep bounds a single sleep. No wake-up is lost among peers that keep the protocol and
// adapters; but a process of the same user could drain a pipe through /proc, an
// adapter could lose an event, and neither must put others to sleep for longer.
const maxSleep = 200 * time.Millisecond

// Init makes the waiter of cfg over source, which is ready when one of fds is
// readable. late is how long after a completion its event may come.
func (s *Sleeper) Init(clock fabric.Clock, cfg *fabric.WaitConfig, burst, yields int, late time.Duration,
	source Source, fds ...int,
) error {
	if err := s.spinner.Init(clock, cfg, burst, yields); err != nil {
		return err
	}
	var err error
	if s.pipe, err = NewWakePipe(); err != nil {
		return err
	}
	s.beforeSleep, s.afterSleep, s.source, s.late = cfg.BeforeSleep, cfg.AfterSleep, source, late
	for _, fd := range append([]int{s.pipe.FD()}, fds...) {
		s.fds = append(s.fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	return nil
}

// Wait implements fabric.Waiter.
func (s *Sleeper) Wait(poll func() bool, timeout time.Duration) bool {
	if poll() {
		return true
	}
	return s.spinner.Wait(poll, func(deadline int64) bool { return s.Sleep(poll, deadline) }, timeout)
}

// Sleep is the part of Wait after spinning. It blocks until there are news, after
// arming everything that can have them and looking once more: what came before is
// seen, what comes later wakes. It reports whether poll found something.
func (s *Sleeper) Sleep(poll func() bool, deadline int64) bool {
	s.asleep.Store(1)
	until := min(deadline, s.source.Arm())
	if s.beforeSleep != nil {
		s.beforeSleep()
	}
	hit := poll()
	if !hit && !s.spinner.Woken() && !s.source.Pending() {
		s.sleeps.Add(1)
		longest := s.spinner.Clock.Now() + int64(maxSleep)
		if woken := s.block(min(until, longest)); !woken && longest < until {
			// What is found now may have come, with its wake-up, after the sleep was over.
			if hit = poll(); hit && !s.poll(s.late) {
				s.lateWakes.Add(1)
			}
		}
	}
	s.asleep.Store(0)
	s.source.Disarm()
	if s.afterSleep != nil {
		s.afterSleep()
	}
	return hit
}

// block waits until a moment of the clock, and reports whether something ended
// that before.
func (s *Sleeper) block(until int64) bool {
	left := until - s.spinner.Clock.Now()
	return left > 0 && s.poll(time.Duration(left))
}

// poll waits for a descriptor and empties those that are readable. It reports
// whether one was, or a signal came.
func (s *Sleeper) poll(limit time.Duration) bool {
	n, err := unix.Poll(s.fds, int((limit+time.Millisecond-1)/time.Millisecond))
	if err != nil {
		return errors.Is(err, unix.EINTR)
	}
	if s.fds[0].Revents != 0 {
		s.pipe.Drain()
	}
	s.source.Drain(s.fds[1:])
	return n > 0
}

// Wake implements fabric.Waiter.
func (s *Sleeper) Wake() {
	s.spinner.Wake()
	if s.asleep.Load() != 0 {
		s.pipe.Wake()
	}
}

// Crowded implements fabric.Waiter.
func (s *Sleeper) Crowded() bool { return s.spinner.Crowded() }

// SetPeers has the waiter make room for peers that share its CPU.
func (s *Sleeper) SetPeers(p Peers) { s.spinner.Peers = p }

// Sleeps implements fabric.Waiter.
func (s *Sleeper) Sleeps() uint64 { return s.sleeps.Load() }

// LateWakes returns how often a sleep had to end by itself though there was
// something to find. Memory that a peer wrote counts too: a WRITE wakes no thread
// (G17).
func (s *Sleeper) LateWakes() uint64 { return s.lateWakes.Load() }

// Close implements fabric.Waiter.
func (s *Sleeper) Close() error {
	if s.closed {
		return fmt.Errorf("fabric: waiter: %w", fabric.ErrClosed)
	}
	s.closed = true
	s.pipe.Close()
	return nil
}
