package base

import (
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// A listener has room for as many silent connections as its backlog has places, within these
// bounds, and for no more than a quarter of the files that the process can open.
const (
	minGreeters = 512
	maxGreeters = 4096
)

// Greeters are the connections of a listener whose hello is awaited. When there are too many, the
// oldest silent one of the peer that has the most is closed (L1): so a peer that floods a listener
// closes its own connections, and one whose hello is here never loses its place. Its methods may
// be called from any goroutine.
type Greeters struct {
	room int

	mu     sync.Mutex
	all    []*Greeter // the oldest first
	closed bool
}

// Greeter is a connection whose hello is awaited.
type Greeter struct {
	// Name is the connection in errors.
	Name string

	conn   GreeterConn
	raw    syscall.RawConn
	peer   string
	silent atomic.Bool // the reader takes nothing, but waits for the peer
	of     *Greeters
}

// GreeterConn is a connection of package net.
type GreeterConn interface {
	io.ReadCloser
	syscall.Conn
}

// NewGreeters returns the greeters of a listener with a backlog, none yet.
func NewGreeters(backlog int) *Greeters {
	room := min(max(backlog, minGreeters), maxGreeters)
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil && files.Cur/4 < uint64(room) {
		room = int(files.Cur / 4)
	}
	return &Greeters{room: max(room, 1)}
}

// Enter adds a connection of a peer, and returns those that it closed for that. After Close it
// closes the new one and returns an error.
func (s *Greeters) Enter(c GreeterConn, peer, name string) (entered *Greeter, closed []*Greeter, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		_ = c.Close()
		return nil, nil, err
	}
	g := &Greeter{Name: name, conn: c, raw: raw, peer: peer, of: s}
	g.silent.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = c.Close()
		return nil, nil, unix.ESHUTDOWN
	}
	closed = s.makeRoom()
	s.all = append(s.all, g)
	return g, closed, nil
}

// MakeRoom closes what Enter would close for one more, and returns it. That is for a listener that
// cannot accept connections for lack of files.
func (s *Greeters) MakeRoom() []*Greeter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.makeRoom()
}

func (s *Greeters) makeRoom() (closed []*Greeter) {
	for len(s.all) >= s.room {
		x := s.mostSilent()
		if x == nil {
			break
		}
		s.remove(x)
		_ = x.conn.Close()
		closed = append(closed, x)
	}
	return closed
}

// mostSilent returns the oldest silent connection of the peer that has the most connections.
func (s *Greeters) mostSilent() (found *Greeter) {
	share := map[string]int{}
	for _, g := range s.all {
		share[g.peer]++
	}
	most := 0
	for _, g := range s.all {
		if n := share[g.peer]; n > most && g.isSilent() {
			found, most = g, n
		}
	}
	return found
}

func (s *Greeters) remove(g *Greeter) {
	if i := slices.Index(s.all, g); i >= 0 {
		s.all = slices.Delete(s.all, i, i+1)
	}
}

// Close closes all connections, and those that come later.
func (s *Greeters) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, g := range s.all {
		_ = g.conn.Close()
	}
	s.all = nil
}

// Leave takes out a connection that has said hello, or failed to.
func (g *Greeter) Leave() {
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	g.of.remove(g)
}

// isSilent reports whether nothing has come that the reader has not taken, and it waits for more.
// silent ends before the reader takes what has come, so the order of the two questions matters.
func (g *Greeter) isSilent() bool {
	silent := false
	err := g.raw.Control(func(fd uintptr) { silent = !readable(fd) && g.silent.Load() })
	return err == nil && silent
}

// Await waits until there is something to read, or the end.
func (g *Greeter) Await() error {
	return g.raw.Read(func(fd uintptr) bool {
		here := readable(fd)
		g.silent.Store(!here)
		return here
	})
}

// Read implements io.Reader.
func (g *Greeter) Read(b []byte) (int, error) {
	if err := g.Await(); err != nil {
		return 0, err
	}
	return g.conn.Read(b)
}

// readable reports whether reading would not block.
func readable(fd uintptr) bool {
	var b [1]byte
	_, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return !errors.Is(err, unix.EAGAIN)
}
