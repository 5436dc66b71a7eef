package tcp

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric/internal/base"
)

const (
	// yieldTime is for how long the background thread leaves a port to an
	// owner that polls, before it looks again.
	yieldTime = time.Millisecond
	// pollStreak is how often in a row it must find that the owner has polled:
	// one that polls now and then needs it all the more.
	pollStreak = 3
	// lingerMax is how long a closing device waits for what it has said to
	// be read.
	lingerMax = 500 * time.Millisecond
)

// What an event of the device's epoll is about (EpollEvent.Pad); Fd is its
// number.
const (
	tokenWake int32 = iota
	tokenPort
	tokenLinger
	tokenSocket // in the epoll of a port: a queue pair
)

var errPortClosed = errors.New("the completion queue is closed")

// nic is the background thread of a device: it serves the ports whose owners
// do not poll, sees to timeouts, and brings closed connections to their end.
type nic struct {
	dev   *Device
	ep    int
	file  *os.File // the same, as the runtime knows it
	raw   syscall.RawConn
	wake  int // an eventfd
	spin  int64
	ports table[port]
	// wakes counts owners that were woken, blocks how often the thread
	// blocked, rounds how often it looked without blocking.
	wakes, blocks, rounds atomic.Uint64
	done                  chan struct{}

	// mu guards what follows, and uses of ep and wake by others than the
	// thread. It is taken after every other lock.
	mu      sync.Mutex
	stopped bool
	grace   int64 // when stopped: until when to wait for lingerers
	waiting []*conn
	lingers map[int32]*lingerer
	serial  int32

	// Of the thread alone.
	events, inner [64]unix.EpollEvent
	anything      func(fd uintptr) bool // fills events
	found         int                   // by anything
	limited       bool                  // there is a deadline on file
	into          [readSize]byte        // for what is read
	parked        []*port
	hot           *port // the only port that had work in the last round
	nextLook      int64 // when to look at parked ports again
	wakeAt        int64 // when chores are due
	woken         bool  // chores may be due before
}

// startNIC makes the background thread.
func startNIC(d *Device, spin time.Duration) (*nic, error) {
	n := &nic{dev: d, spin: int64(max(spin, 0)), done: make(chan struct{}), lingers: map[int32]*lingerer{}}
	var err error
	if n.ep, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("epoll_create: %w; check ulimit -n", err)
	}
	// Non-blocking is what makes package os hand it to the runtime's poller.
	_ = unix.SetNonblock(n.ep, true)
	n.file = os.NewFile(uintptr(n.ep), "epoll")
	if n.raw, err = n.file.SyscallConn(); err != nil {
		_ = n.file.Close()
		return nil, err
	}
	n.anything = func(fd uintptr) bool {
		n.found = epollNow(int(fd), n.events[:])
		return n.found != 0
	}
	if n.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		_ = n.file.Close()
		return nil, fmt.Errorf("eventfd: %w; check ulimit -n", err)
	}
	if err := epollAdd(n.ep, n.wake, unix.EPOLLIN, tokenWake, 0); err != nil {
		_ = n.file.Close()
		_ = unix.Close(n.wake)
		return nil, err
	}
	go n.run()
	return n, nil
}

func epollAdd(ep, fd int, events uint32, token, number int32) error {
	ev := unix.EpollEvent{Events: events, Fd: number, Pad: token}
	if err := unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		return fmt.Errorf("epoll_ctl: %w; check /proc/sys/fs/epoll/max_user_watches", err)
	}
	return nil
}

func epollMod(ep, fd int, events uint32, token, number int32) error {
	ev := unix.EpollEvent{Events: events, Fd: number, Pad: token}
	return unix.EpollCtl(ep, unix.EPOLL_CTL_MOD, fd, &ev)
}

// wakeLocked makes the thread look at what has changed.
func (n *nic) wakeLocked() {
	one := [8]byte{0: 1, 7: 1} // not 0 in either byte order
	_, _ = unix.Write(n.wake, one[:])
}

// stop ends the thread, at the latest after grace, and waits for its end.
func (n *nic) stop(grace time.Duration) {
	n.mu.Lock()
	n.stopped = true
	n.grace = n.dev.clock.Now() + int64(grace)
	n.wakeLocked()
	n.mu.Unlock()
	<-n.done
	for _, p := range n.ports.all() {
		p.close()
	}
	_ = unix.Close(n.wake)
	_ = n.file.Close()
}

// run is the thread.
func (n *nic) run() {
	defer close(n.done)
	for {
		wake, over := n.chores()
		if over {
			return
		}
		n.serve(n.wait(wake))
		n.stay()
	}
}

// wait blocks until there are events, or until a moment of the clock that is
// not 0.
func (n *nic) wait(wake int64) []unix.EpollEvent {
	if wake != 0 || n.limited {
		n.limited = wake != 0
		limit := time.Time{}
		if n.limited {
			limit = base.Until(time.Duration(wake - n.dev.clock.Now()))
		}
		if err := n.file.SetReadDeadline(limit); err != nil {
			panic(fmt.Sprintf("fabric: tcp: the runtime does not poll epoll descriptors: %v", err))
		}
	}
	n.blocks.Add(1)
	n.found = 0
	if err := n.raw.Read(n.anything); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		panic(fmt.Sprintf("fabric: tcp: waiting on the device's own descriptor: %v", err))
	}
	return n.events[:n.found]
}

// stay looks for more work for a while, so that a stream of requests does not
// pay for a wake-up each.
func (n *nic) stay() {
	if n.spin == 0 {
		n.hot = nil
	}
	clock := n.dev.clock
	end := clock.Now() + n.spin
	for i := 1; n.hot != nil; i++ {
		n.rounds.Add(1)
		if n.look(i) {
			end = clock.Now() + n.spin
			if i%16 == 0 {
				if n.due(end - n.spin) {
					return
				}
				runtime.Gosched() // the program may have no other processor
			}
			continue
		}
		now := clock.Now()
		if now >= end || n.due(now) {
			n.hot = nil
			return
		}
		runtime.Gosched()
	}
}

// due reports whether there are chores.
func (n *nic) due(now int64) bool { return n.woken || (n.wakeAt != 0 && now >= n.wakeAt) }

// look makes one round without blocking and reports whether there was work.
// While one port has all the work, it is asked directly most of the time.
func (n *nic) look(i int) bool {
	if i%8 != 0 && len(*n.hot.members.Load()) <= fewSockets {
		return n.servePort(n.hot)
	}
	k := epollNow(n.ep, n.events[:])
	return n.serve(n.events[:k])
}

// serve handles events of the device's epoll.
func (n *nic) serve(events []unix.EpollEvent) bool {
	worked := false
	for i := range events {
		ev := &events[i]
		switch ev.Pad {
		case tokenWake:
			var count [8]byte
			_, _ = unix.Read(n.wake, count[:])
			n.woken = true
		case tokenLinger:
			n.lingerEvent(ev.Fd)
		case tokenPort:
			if p := n.ports.get(uint16(ev.Fd)); p != nil && n.servePort(p) {
				worked = true
				n.hot = p
			}
		}
	}
	return worked
}

// servePort drives a port unless its owner does (I4). A thread that is
// woken by incoming data drives it from then on.
func (n *nic) servePort(p *port) bool {
	sleeps, asleep := p.sleeps.Load(), p.asleep.Load() > 0
	if polls := p.polls.Load(); asleep || polls == p.seen {
		p.streak = 0
	} else if p.seen, p.streak = polls, p.streak+1; p.streak == pollStreak {
		n.park(p, sleeps)
		return false
	}
	wakes := n.wakes.Load()
	worked := p.serve(n.inner[:])
	if asleep && n.wakes.Load() != wakes {
		n.park(p, sleeps)
		runtime.Gosched()
	}
	return worked
}

// park leaves a port to its owner for a while.
func (n *nic) park(p *port, sleeps uint64) {
	p.disarm(sleeps)
	p.streak = 0
	if n.hot == p {
		n.hot = nil
	}
	if !p.parked {
		p.parked = true
		p.watched.Store(true)
		n.parked = append(n.parked, p)
	}
	if n.nextLook == 0 {
		n.nextLook = n.dev.clock.Now() + int64(yieldTime)
	}
}

// lookAtParked takes back the ports whose owners have stopped polling.
func (n *nic) lookAtParked() {
	n.parked = slices.DeleteFunc(n.parked, func(p *port) bool {
		polls := p.polls.Load()
		if polls != p.seen && p.asleep.Load() == 0 {
			p.seen = polls
			p.settle() // an owner that polls may yet not drive
			return false
		}
		p.parked = false
		p.unwatch()
		p.arm()
		return true
	})
	n.nextLook = 0
	if len(n.parked) != 0 {
		n.nextLook = n.dev.clock.Now() + int64(yieldTime)
	}
}

// chores does what is due by the clock and returns when the next is, 0 for
// never, or that the thread is over.
func (n *nic) chores() (wake int64, over bool) {
	now := n.dev.clock.Now()
	n.woken = false
	if n.nextLook != 0 && now >= n.nextLook {
		n.lookAtParked()
	}
	n.mu.Lock()
	late := n.lateLocked(now)
	n.closeLateLocked(now)
	wake = n.nextLook
	for _, q := range n.waiting {
		wake = sooner(wake, q.rnrEnd.Load())
	}
	for _, l := range n.lingers {
		wake = sooner(wake, l.end)
	}
	stopped, left, grace := n.stopped, len(n.lingers), n.grace
	n.mu.Unlock()
	for _, q := range late {
		q.rnrExpired(n.into[:])
	}
	if stopped {
		if left == 0 || now >= grace {
			n.closeLingers()
			return 0, true
		}
		wake = sooner(wake, grace)
	}
	n.wakeAt = wake
	return wake, false
}

// sooner returns the earlier of two moments, of which 0 means never.
func sooner(a, b int64) int64 {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

// lateLocked takes the queue pairs out of the list that wait no more, and
// returns those whose time is over.
func (n *nic) lateLocked(now int64) []*conn {
	var late []*conn
	n.waiting = slices.DeleteFunc(n.waiting, func(q *conn) bool {
		end := q.rnrEnd.Load()
		if end != 0 && now >= end {
			late = append(late, q)
			return true
		}
		return end == 0
	})
	return late
}

// expect has rnrExpired called for q when its time is over.
func (n *nic) expect(q *conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped {
		return // so is the queue pair, in a moment
	}
	if !slices.Contains(n.waiting, q) {
		n.waiting = append(n.waiting, q)
	}
	n.wakeLocked()
}

// isAgain reports whether a call that failed is worth another try.
func isAgain(errno syscall.Errno) bool {
	return errno == unix.EAGAIN || errno == unix.EINTR || errno == unix.ENOBUFS || errno == unix.ENOMEM
}
