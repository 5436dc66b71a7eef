//go:build unix

package target

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// Pipeline is a connection.
type Pipeline struct {
	proto Protocol
	fd    int
	busy  bool
	out   []byte // requests that were not sent
	parts [][]byte
	in    []byte // what was read: answers from at to end
	at    int
	end   int
	want  int // bytes that the first answer has at least
}

const (
	// inSize is the least room for answers.
	inSize = 256 << 10
	// long is the size from which on a value is sent from where it is.
	long = 8 << 10
	// outMost is how much is collected before it is sent.
	outMost = 256 << 10
	// patience is how long Next waits, and looks how often it does so when it is
	// busy.
	patience = 100 * time.Millisecond
	looks    = 1 << 14
)

// DialPipeline connects to a server: at an address and a port in figures on tcp, or at the
// path of a socket on unix. A busy connection polls instead of sleeping.
func DialPipeline(network, address string, proto Protocol, busy bool) (*Pipeline, error) {
	c := &Pipeline{proto: proto, fd: -1, busy: busy, in: make([]byte, inSize)}
	if err := c.dial(network, address); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("connecting to %s: %w", address, err)
	}
	return c, nil
}

func (c *Pipeline) dial(network, address string) (err error) {
	var to unix.Sockaddr = &unix.SockaddrUnix{Name: address}
	domain := unix.AF_UNIX
	if network != "unix" {
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if domain = unix.AF_INET6; ap.Addr().Is4() {
			domain = unix.AF_INET
			to = &unix.SockaddrInet4{Port: int(ap.Port()), Addr: ap.Addr().As4()}
		} else {
			to = &unix.SockaddrInet6{Port: int(ap.Port()), Addr: ap.Addr().As16()}
		}
	}
	if c.fd, err = unix.Socket(domain, unix.SOCK_STREAM, 0); err != nil {
		return err
	}
	unix.CloseOnExec(c.fd)
	if err := retry(func() error { return unix.Connect(c.fd, to) }); err != nil {
		return err
	}
	if domain != unix.AF_UNIX {
		if err := unix.SetsockoptInt(c.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			return err
		}
	}
	if c.busy {
		return unix.SetNonblock(c.fd, true)
	}
	tv := unix.NsecToTimeval(int64(patience))
	return unix.SetsockoptTimeval(c.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv)
}

// retry calls f again as long as a signal interrupts it.
func retry(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Close ends the connection.
func (c *Pipeline) Close() error {
	if c.fd < 0 {
		return nil
	}
	fd := c.fd
	c.fd = -1
	return unix.Close(fd)
}

// Get asks for a key.
func (c *Pipeline) Get(key []byte) error {
	c.out = c.proto.Get(c.out, key)
	return c.limit()
}

// Set stores a value. Neither is kept.
func (c *Pipeline) Set(key, value []byte) error {
	c.out = c.proto.Set(c.out, key, len(value))
	return c.value(value)
}

// value sends the value of a request that was collected.
func (c *Pipeline) value(value []byte) error {
	if len(value) >= long {
		return c.send(value, crlf)
	}
	c.out = append(c.out, value...)
	c.out = append(c.out, crlf...)
	return c.limit()
}

// limit sends what was collected when that is much.
func (c *Pipeline) limit() error {
	if len(c.out) < outMost {
		return nil
	}
	return c.send()
}

// Flush sends what was collected.
func (c *Pipeline) Flush() error {
	if len(c.out) == 0 {
		return nil
	}
	return c.send()
}

// Poll returns an answer that was read already.
func (c *Pipeline) Poll() (Answer, bool, error) {
	if c.end-c.at < max(c.want, 1) {
		return Answer{}, false, nil
	}
	a, size, want, err := c.proto.Answer(c.in[c.at:c.end])
	if err != nil {
		return Answer{}, false, err
	}
	c.want = want
	if size == 0 {
		return Answer{}, false, nil
	}
	c.at += size
	return a, true, nil
}

// Next sends what was collected and waits for an answer; false when there is none
// after a tenth of a second or so.
func (c *Pipeline) Next() (Answer, bool, error) {
	if err := c.Flush(); err != nil {
		return Answer{}, false, err
	}
	for left := looks; ; {
		if a, ok, err := c.Poll(); ok || err != nil {
			return a, ok, err
		}
		n, err := c.read()
		switch {
		case err != nil:
			return Answer{}, false, err
		case n == 0 && !c.busy:
			return Answer{}, false, nil
		case n == 0:
			if left--; left == 0 {
				return Answer{}, false, nil
			}
		}
	}
}

// TryNext is Next of a busy connection that does not wait.
func (c *Pipeline) TryNext() (Answer, bool, error) {
	if err := c.Flush(); err != nil {
		return Answer{}, false, err
	}
	if a, ok, err := c.Poll(); ok || err != nil {
		return a, ok, err
	}
	if _, err := c.read(); err != nil {
		return Answer{}, false, err
	}
	return c.Poll()
}

// read reads what is there, and waits for some unless the connection is busy. It
// returns 0 when there was nothing.
func (c *Pipeline) read() (n int, err error) {
	c.room()
	// Each signal begins the socket's own wait anew: where they come often it has no end.
	var over time.Time
	for n, err = unix.Read(c.fd, c.in[c.end:]); errors.Is(err, unix.EINTR); n, err = unix.Read(c.fd, c.in[c.end:]) {
		if now := time.Now(); over.IsZero() {
			over = now.Add(patience)
		} else if now.After(over) {
			return 0, nil
		}
	}
	switch {
	case errors.Is(err, unix.EAGAIN):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("reading: %w", err)
	case n == 0:
		return 0, io.ErrUnexpectedEOF
	}
	c.end += n
	return n, nil
}

// room makes room for more of the first answer, and for all of it once its length
// is known.
func (c *Pipeline) room() {
	if c.at == c.end {
		c.at, c.end = 0, 0
	}
	if c.at+max(c.want, 1) <= len(c.in) && c.end < len(c.in) {
		return
	}
	to := c.in
	if need := max(c.want, c.end-c.at+1); need > len(to) {
		to = make([]byte, 2*need)
	}
	c.end = copy(to, c.in[c.at:c.end])
	c.at, c.in = 0, to
}
