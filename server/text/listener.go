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

// Scheme is the scheme of the addresses of text listeners: text://host:port.
const Scheme = "text"

// Config configures a Listener. Zero values in the last group mean the defaults.
type Config struct {
	// Cores is the number of cores, Serve their handler, Clock their clock. Wake ends the sleep of
	// a core. Seed determines which core owns a key.
	Cores int
	Serve func(c *rpc.Call, msg, out []byte) ([]byte, error)
	Clock fabric.Clock
	Wake  func(core int)
	Seed  store.Seed
	// MaxValue is the length of the longest value, MaxClients the largest number of connections.
	MaxValue, MaxClients int
	// BusyPoll makes an idle listener poll all the time; by default it sleeps.
	BusyPoll bool
	Log      *slog.Logger

	// Backlog is how many bytes of answers a client may leave unread before its commands
	// are no longer taken; default 1 MiB. Stall is how long it may take none before it is
	// disconnected, and how long it may leave a command unfinished; default 30 s. Idle is how
	// long it may send no command; default 10 minutes. Uploads is how many bytes unfinished
	// commands may have together, beside 16 KiB for each connection; at least and by default
	// those of two of the longest commands, and 64 MiB if that is more.
	Backlog     int
	Stall, Idle time.Duration
	Uploads     int
}

// Stats is the counters of a listener.
type Stats struct {
	Clients  int    `json:"clients"`
	Accepted uint64 `json:"accepted"`
	Refused  uint64 `json:"refused"` // connections beyond MaxClients
	Cut      uint64 `json:"cut"`     // clients disconnected after Stall or Idle
	Commands uint64 `json:"commands"`
	Buffers  int64  `json:"buffers"` // bytes that connections have for input and answers
}

// Listener is an event loop with its connections.
type Listener struct {
	cfg         Config
	mailboxes   []*mailbox // by core
	waker       waker      // of the loop
	socket      int
	eventfd     int
	one         [8]byte // the value written to eventfd
	addr        string
	maxClients  atomic.Int64
	closedToNew atomic.Bool // no new clients
	stopping    atomic.Bool
	running     bool
	done        chan struct{}
	once        sync.Once

	stats struct {
		clients, buffers                 atomic.Int64
		accepted, refused, cut, commands atomic.Uint64
	}
}

// IsAddr reports whether an address is that of a text listener.
func IsAddr(url string) bool { return strings.HasPrefix(url, Scheme+":") }

// ParseAddr returns the host and port in the address of a text listener.
func ParseAddr(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != Scheme || u.Port() == "" || u.RawQuery != "" || strings.Trim(u.Path, "/") != "" {
		return "", fmt.Errorf("invalid address %q: write text://host:port", address)
	}
	return u.Host, nil
}

// New returns a listener that does not listen yet. Pass its mailboxes (Poller) to the cores, then
// call Listen. Call Close before the cores are stopped.
func New(cfg Config) (*Listener, error) {
	cfg.Backlog = cmp.Or(cfg.Backlog, 1<<20)
	cfg.Stall = cmp.Or(cfg.Stall, 30*time.Second)
	cfg.Idle = cmp.Or(cfg.Idle, 10*time.Minute)
	cfg.Uploads = max(cmp.Or(cfg.Uploads, 64<<20), 2*longestCommand(cfg.MaxValue))
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Serve = rpc.Protect(cfg.Serve, cfg.Log)
	t := &Listener{cfg: cfg, socket: -1, done: make(chan struct{})}
	binary.NativeEndian.PutUint64(t.one[:], 1)
	t.SetMaxClients(cfg.MaxClients)
	var err error
	if t.eventfd, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("text: eventfd: %w", err)
	}
	t.waker.wake = t.wake
	for core := range cfg.Cores {
		t.mailboxes = append(t.mailboxes, newMailbox(t, core))
	}
	return t, nil
}

// Poller returns the mailbox for a core to poll.
func (t *Listener) Poller(core int) rpc.Poller { return t.mailboxes[core] }

// wake ends the sleep of the loop.
func (t *Listener) wake() {
	_, _ = unix.Write(t.eventfd, t.one[:])
}

// Listen starts to listen at host:port, and returns the address.
func (t *Listener) Listen(host string) (string, error) {
	at, err := net.ResolveTCPAddr("tcp", host)
	if err != nil {
		return "", fmt.Errorf("text: %w", err)
	}
	tcp, err := net.ListenTCP("tcp", at)
	if err != nil {
		return "", fmt.Errorf("text: %w", err)
	}
	defer func() { _ = tcp.Close() }()
	if t.socket, err = descriptor(tcp); err != nil {
		return "", fmt.Errorf("text: %s: %w", host, err)
	}
	l := &loop{Listener: t}
	if err := l.watch(); err != nil {
		_ = unix.Close(t.socket)
		return "", fmt.Errorf("text: epoll: %w", err)
	}
	t.addr, t.running = Scheme+"://"+tcp.Addr().String(), true
	go l.run()
	return t.addr, nil
}

// descriptor returns a duplicate descriptor of the listener, which the Go runtime does not watch.
func descriptor(l *net.TCPListener) (fd int, err error) {
	raw, err := l.SyscallConn()
	if err != nil {
		return -1, err
	}
	err = errors.Join(raw.Control(func(have uintptr) {
		fd, err = unix.FcntlInt(have, unix.F_DUPFD_CLOEXEC, 0)
	}), err)
	return fd, err
}

// watch creates the epoll instance, and adds the listening socket and the eventfd.
func (l *loop) watch() (err error) {
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	for fd, key := range map[int]int32{l.socket: keyListener, l.eventfd: keyEventfd} {
		e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: key}
		if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &e); err != nil {
			_ = unix.Close(l.epoll)
			return err
		}
	}
	return nil
}

// Addr returns the address that Listen returned.
func (t *Listener) Addr() string { return t.addr }

// Stats returns the counters.
func (t *Listener) Stats() Stats {
	s := &t.stats
	return Stats{
		Clients: int(s.clients.Load()), Accepted: s.accepted.Load(), Refused: s.refused.Load(), Cut: s.cut.Load(), Commands: s.commands.Load(), Buffers: s.buffers.Load(),
	}
}

// SetMaxClients changes how many connections there can be. Those that there are stay.
func (t *Listener) SetMaxClients(n int) { t.maxClients.Store(int64(n)) }

// StopListening stops accepting clients.
func (t *Listener) StopListening() {
	t.closedToNew.Store(true)
	t.wake()
}

// Close closes all connections. Commands that were taken are answered, as far as the sockets
// take the answers. The cores must be running.
func (t *Listener) Close() error {
	t.once.Do(func() {
		t.stopping.Store(true)
		t.wake()
		if t.running {
			<-t.done
		}
		_ = unix.Close(t.eventfd)
	})
	return nil
}
