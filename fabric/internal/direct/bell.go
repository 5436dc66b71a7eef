package direct

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
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

// RingFD rings the bell whose writing end is fd.
func RingFD(fd int) {
	one := [1]byte{1}
	for {
		if _, err := unix.Write(fd, one[:]); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// WriteFD returns the end that is handed to peers.
func (p *Pipe) WriteFD() int { return p.w }

// drain silences the bell.
func (p *Pipe) drain() {
	var buf [64]byte
	for {
		n, err := unix.Read(p.r, buf[:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n < len(buf) || err != nil {
			return
		}
	}
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
