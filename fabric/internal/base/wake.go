package base

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// Waker wakes the owner of a completion queue. Wake may be called by any goroutine at
// any time, does not block, and is never lost: a pipe that is full is readable
// already.
type Waker interface{ Wake() }

// WakePipe wakes the owner of one completion queue or waiter of this process: a
// pipe, readable while there is a wake-up that was not drained.
type WakePipe struct {
	r, w int
	// mu keeps Wake from writing to a descriptor that was closed and perhaps
	// taken by another file.
	mu     sync.Mutex
	closed bool
	// sink is where Drain reads to.
	sink [4096]byte
}

// NewWakePipe makes a wake pipe.
func NewWakePipe() (*WakePipe, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil, fmt.Errorf("fabric: pipe for wake-ups: %w (check the limit of open files: ulimit -n)", err)
	}
	return &WakePipe{r: fds[0], w: fds[1]}, nil
}

// FD returns the reading end, for poll(2).
func (p *WakePipe) FD() int { return p.r }

// Wake implements Waker.
func (p *WakePipe) Wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		WakeFD(p.w)
	}
}

// wakeByte is what vmsplice puts into a pipe; it never changes.
var (
	wakeByte = [1]byte{1}
	wakeVec  = []unix.Iovec{{Base: &wakeByte[0], Len: 1}}
)

// WakeFD writes to the wake pipe whose writing end is fd. Peers share the open
// file and could make it block, or hand over something that is not a pipe;
// vmsplice with SPLICE_F_NONBLOCK neither waits for room nor writes to anything
// else.
func WakeFD(fd int) {
	for {
		if _, err := unix.Vmsplice(fd, wakeVec, unix.SPLICE_F_NONBLOCK); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// Share returns a descriptor of the writing end, to be handed to a peer and
// closed.
func (p *WakePipe) Share() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return -1, errCQClosed()
	}
	return unix.FcntlInt(uintptr(p.w), unix.F_DUPFD_CLOEXEC, 0)
}

// Drain empties the pipe. One read is enough: what a peer that wakes without end
// leaves behind only wakes again.
func (p *WakePipe) Drain() {
	_, _ = unix.Read(p.r, p.sink[:])
}

// Close releases both ends of this process.
func (p *WakePipe) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	_ = unix.Close(p.r)
	_ = unix.Close(p.w)
}
