package text

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/store"
)

// Scheme is that of the addresses of text doors: text://host:port.
const Scheme = "text"

// Config describes a door. Zero values of the last group mean the defaults.
type Config struct {
	// Cores is how many there are, Serve their handler, Clock their clock, and Wake ends
	// the sleep of one. Seed says which core owns a key.
	Cores int
	Serve func(c *rpc.Call, msg, out []byte) ([]byte, error)
	Clock fabric.Clock
	Wake  func(core int)
	Seed  store.Seed
	// MaxValue is the longest value, MaxClients how many connections there can be.
	MaxValue, MaxClients int
	// BusyPoll has an idle door poll all the time; by default it sleeps.
	BusyPoll bool
	Log      *slog.Logger

	// Backlog is how many bytes of answers a client may leave before no command of it
	// is taken; default 1 MiB. Stall is how long it may take none of them before it is
	// cut off; default 30 s.
	Backlog int
	Stall   time.Duration
}

// Stats is what a door has counted.
type Stats struct {
	Clients  int    `json:"clients"`
	Accepted uint64 `json:"accepted"`
	Refused  uint64 `json:"refused"` // because there were too many
	Cut      uint64 `json:"cut"`     // clients that were cut off
	Commands uint64 `json:"commands"`
}

// Door is an event loop with its connections.
type Door struct {
	cfg       Config
	mailboxes []*mailbox // by core
	waker     waker      // of the loop
	listener  int
	eventfd   int
	one       [8]byte // what an eventfd is told
	addr      string
	quiet     atomic.Bool // no new clients
	stopping  atomic.Bool
	running   bool
	done      chan struct{}
	once      sync.Once

	stats struct {
		clients                          atomic.Int64
		accepted, refused, cut, commands atomic.Uint64
	}
}

// IsAddr reports whether an address is that of a text door.
func IsAddr(url string) bool { return strings.HasPrefix(url, Scheme+":") }

// ParseAddr returns host and port of the address of a text door.
func ParseAddr(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != Scheme || u.Port() == "" || u.RawQuery != "" || strings.Trim(u.Path, "/") != "" {
		return "", fmt.Errorf("address %q: write text://host:port", address)
	}
	return u.Host, nil
}

// New makes a door that nobody can come through yet: its mailboxes (Poller) are to be given to
// cores, and then Listen opens it. Close it before the cores are stopped.
func New(cfg Config) (*Door, error) {
	cfg.Backlog = cmp.Or(cfg.Backlog, 1<<20)
	cfg.Stall = cmp.Or(cfg.Stall, 30*time.Second)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	d := &Door{cfg: cfg, listener: -1, done: make(chan struct{})}
	binary.NativeEndian.PutUint64(d.one[:], 1)
	var err error
	if d.eventfd, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("text: eventfd: %w", err)
	}
	d.waker.wake = d.wake
	for core := range cfg.Cores {
		d.mailboxes = append(d.mailboxes, newMailbox(d, core))
	}
	return d, nil
}

// Poller returns the mailbox that a core is to poll.
func (d *Door) Poller(core int) rpc.Poller { return d.mailboxes[core] }

// wake ends the sleep of the loop.
func (d *Door) wake() {
	_, _ = unix.Write(d.eventfd, d.one[:])
}

// Listen opens the door at host:port, and returns its address as it really is.
func (d *Door) Listen(host string) (string, error) {
	at, err := net.ResolveTCPAddr("tcp", host)
	if err != nil {
		return "", fmt.Errorf("text: %w", err)
	}
	tcp, err := net.ListenTCP("tcp", at)
	if err != nil {
		return "", fmt.Errorf("text: %w", err)
	}
	defer func() { _ = tcp.Close() }()
	if d.listener, err = descriptor(tcp); err != nil {
		return "", fmt.Errorf("text: %s: %w", host, err)
	}
	l := &loop{Door: d}
	if err := l.watch(); err != nil {
		_ = unix.Close(d.listener)
		return "", fmt.Errorf("text: epoll: %w", err)
	}
	d.addr, d.running = Scheme+"://"+tcp.Addr().String(), true
	go l.run()
	return d.addr, nil
}

// descriptor returns a descriptor of the listener that the runtime does not watch.
func descriptor(t *net.TCPListener) (fd int, err error) {
	raw, err := t.SyscallConn()
	if err != nil {
		return -1, err
	}
	err = errors.Join(raw.Control(func(have uintptr) {
		fd, err = unix.FcntlInt(have, unix.F_DUPFD_CLOEXEC, 0)
	}), err)
	return fd, err
}

// watch makes the epoll with what is no connection in it.
func (l *loop) watch() (err error) {
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	for fd, key := range map[int]int32{l.listener: keyListener, l.eventfd: keyEventfd} {
		e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: key}
		if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &e); err != nil {
			_ = unix.Close(l.epoll)
			return err
		}
	}
	return nil
}

// Addr is where the door is open.
func (d *Door) Addr() string { return d.addr }

// Stats returns what was counted.
func (d *Door) Stats() Stats {
	s := &d.stats
	return Stats{
		Clients: int(s.clients.Load()), Accepted: s.accepted.Load(), Refused: s.refused.Load(), Cut: s.cut.Load(), Commands: s.commands.Load(),
	}
}

// StopListening lets no more clients in.
func (d *Door) StopListening() {
	d.quiet.Store(true)
	d.wake()
}

// Close ends all connections. Commands that were taken are answered, where the sockets
// take the answers. The cores must run.
func (d *Door) Close() error {
	d.once.Do(func() {
		d.stopping.Store(true)
		d.wake()
		if d.running {
			<-d.done
		}
		_ = unix.Close(d.eventfd)
	})
	return nil
}
