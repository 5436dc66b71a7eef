package direct

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
)

// Bell wakes the owner of a completion queue. Ring may be called by anyone at
// any time, does not block, and may be lost on nobody: a pipe that is full is
// readable already.
type Bell interface{ Ring() }

// Pipe is the bell of one completion queue or waiter of this process.
type Pipe struct {
	r, w int
	// mu keeps a bell from being rung after its descriptor was closed and
	// perhaps taken by another file.
	mu     sync.Mutex
	closed bool
	// sink is where drain reads to.
	sink [4096]byte
}

// NewPipe makes a bell.
func NewPipe() (*Pipe, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil, fmt.Errorf("fabric: pipe for wake-ups: %w (check the limit of open files: ulimit -n)", err)
	}
	return &Pipe{r: fds[0], w: fds[1]}, nil
}

// Ring implements Bell.
func (p *Pipe) Ring() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		RingFD(p.w)
	}
}

// clapper is what vmsplice puts into a bell; nobody writes it.
var (
	clapper    = [1]byte{1}
	clapperVec = []unix.Iovec{{Base: &clapper[0], Len: 1}}
)

// RingFD rings the bell whose writing end is fd. Peers share the open file and
// could make it block, or hand over something that is no pipe; vmsplice with
// SPLICE_F_NONBLOCK neither waits for room nor writes to anything else.
func RingFD(fd int) {
	for {
		if _, err := unix.Vmsplice(fd, clapperVec, unix.SPLICE_F_NONBLOCK); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// Share returns a descriptor of the writing end, to be handed to a peer and
// closed.
func (p *Pipe) Share() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return -1, fmt.Errorf("fabric: completion queue: %w", fabric.ErrClosed)
	}
	return unix.FcntlInt(uintptr(p.w), unix.F_DUPFD_CLOEXEC, 0)
}

// drain silences the bell. One read is enough: what a peer that rings without
// end leaves behind only wakes again.
func (p *Pipe) drain() {
	_, _ = unix.Read(p.r, p.sink[:])
}

// Close releases both ends of this process.
func (p *Pipe) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	_ = unix.Close(p.r)
	_ = unix.Close(p.w)
}

// RecvBell wakes who waits for receives of the queue pair.
func (q *QP) RecvBell() *Pipe { return q.recv.bell }

// SendBell wakes who waits for the queue pair's own requests.
func (q *QP) SendBell() *Pipe { return q.send.bell }
