//go:build rdma

package verbs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// bell wakes a sleeper of this process: an eventfd, readable when rung.
type bell struct {
	fd int
	// mu keeps a bell from being rung after its descriptor was closed and
	// perhaps taken by another file.
	mu     sync.Mutex
	closed bool
}

func newBell() (*bell, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("fabric: eventfd for wake-ups: %w (check the limit of open files: ulimit -n)", err)
	}
	return &bell{fd: fd}, nil
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	for {
		if _, err := unix.Write(b.fd, one[:]); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// drain silences the bell.
func (b *bell) drain() {
	var buf [8]byte
	for {
		if _, err := unix.Read(b.fd, buf[:]); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (b *bell) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.closed = true
		_ = unix.Close(b.fd)
	}
}
