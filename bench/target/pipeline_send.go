//go:build unix

package target

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// send sends what was collected and more behind it.
func (c *Pipeline) send(more ...[]byte) error {
	c.parts = append(append(c.parts[:0], c.out), more...)
	c.out = c.out[:0]
	for parts := skip(c.parts, 0); len(parts) != 0; {
		n, err := c.write(parts)
		switch {
		case errors.Is(err, unix.EAGAIN):
			if err := c.relieve(); err != nil {
				return err
			}
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("sending: %w", err)
		case err == nil:
			parts = skip(parts, n)
		}
	}
	return nil
}

// write sends what the socket takes.
func (c *Pipeline) write(parts [][]byte) (int, error) {
	if len(parts) == 1 {
		return unix.SendmsgN(c.fd, parts[0], nil, nil, unix.MSG_DONTWAIT)
	}
	return unix.SendmsgBuffers(c.fd, parts, nil, nil, unix.MSG_DONTWAIT)
}

// skip takes the first n bytes away.
func skip(parts [][]byte, n int) [][]byte {
	for len(parts) != 0 && n >= len(parts[0]) {
		n -= len(parts[0])
		parts = parts[1:]
	}
	if n != 0 {
		parts[0] = parts[0][n:]
	}
	return parts
}

// sendTimeout is how long a server may take nothing.
const sendTimeout = 10 * time.Second

// relieve waits until the socket takes more, and reads what is there meanwhile
// (P4).
func (c *Pipeline) relieve() error {
	poll := []unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN | unix.POLLOUT}}
	n := 0
	err := retry(func() (err error) {
		n, err = unix.Poll(poll, int(sendTimeout.Milliseconds()))
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("sending: %w", err)
	case n == 0:
		return fmt.Errorf("sending: the server has taken nothing for %v: %w", sendTimeout, os.ErrDeadlineExceeded)
	case poll[0].Revents&unix.POLLIN == 0:
		return nil
	}
	_, err = c.read()
	return err
}
