package tcp

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// Sockets are opened, resolved and greeted through package net, and then taken
// away from it: the runtime's poller would be woken by every packet.

// halfOpen is a connection before its queue pair is ready.
type halfOpen struct {
	*base.HalfOpen
	dev *Device
}

// say sends a hello.
func (h *halfOpen) say(m *hello) error {
	m.version = wireVersion
	_, err := h.Write(m.encode(make([]byte, 0, helloSize+len(m.private))))
	return err
}

// hear receives a hello, and not a byte more.
func hear(from io.Reader) (hello, error) {
	var fixed [helloSize]byte
	if _, err := io.ReadFull(from, fixed[:]); err != nil {
		return hello{}, err
	}
	m, n, err := decodeHello(&fixed)
	if err != nil || n == 0 {
		return m, err
	}
	m.private = make([]byte, n)
	_, err = io.ReadFull(from, m.private)
	return m, err
}

// take makes the socket that of q and starts it.
func (h *halfOpen) take(q *conn, m *hello) error {
	fd, err := h.detach()
	if err != nil {
		return fmt.Errorf("fabric: tcp: %w", err)
	}
	h.dev.tune(fd)
	h.dev.learnHost(h.LocalAddr())
	q.local = sameHost(h.LocalAddr(), h.RemoteAddr())
	q.peer = fabric.Peer{Addr: h.RemoteAddr().String()}
	q.private, q.peerWindow = m.private, min(m.window, maxPeerWindow)
	q.edge = connEdge(h.LocalAddr().String(), h.RemoteAddr().String())
	h.Abandon()
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.Ready() { // the device was closed meanwhile
		_ = unix.Close(fd)
		return q.Err()
	}
	q.fd = fd
	if err := q.recvCQ.port.join(&q.queues, fd); err != nil {
		q.fd = -1
		_ = unix.Close(fd)
		return fmt.Errorf("fabric: tcp: %w", err)
	}
	return nil
}

// detach returns a descriptor of the socket that the runtime knows nothing of.
func (h *halfOpen) detach() (int, error) {
	raw, err := h.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	cerr := raw.Control(func(s uintptr) { fd, err = unix.FcntlInt(s, unix.F_DUPFD_CLOEXEC, 0) })
	if cerr != nil {
		err = cerr
	}
	if err != nil {
		return -1, fmt.Errorf("dup: %w; check ulimit -n", err)
	}
	return fd, nil
}

// tune sets what the data path wants of a socket. None of it can fail on a TCP
// socket; a kernel that knows less is slower to notice a dead host.
func (d *Device) tune(fd int) {
	set := func(level, opt, value int) { _ = unix.SetsockoptInt(fd, level, opt, value) }
	set(unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if d.sockBuf != 0 {
		set(unix.SOL_SOCKET, unix.SO_SNDBUF, d.sockBuf)
		set(unix.SOL_SOCKET, unix.SO_RCVBUF, d.sockBuf)
	}
	seconds := max(int(d.timeout/time.Second), 1)
	set(unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
	set(unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, max(seconds/2, 1))
	set(unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, max(seconds/8, 1))
	set(unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 4)
	set(unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.timeout/time.Millisecond))
}

// newConn makes a queue pair that has no socket yet.
func (d *Device) newConn(cfg fabric.QPConfig) (*conn, error) {
	if cfg.Transport == fabric.UD {
		return nil, fmt.Errorf("fabric: datagram queue pairs are made by Domain.NewUD: %w", fabric.ErrInvalid)
	}
	q := &conn{fd: -1, out: outBuffer{pool: &d.pool}}
	if err := q.setup(d, &cfg, q); err != nil {
		return nil, err
	}
	return q, nil
}

// Dial implements fabric.Device.
func (d *Device) Dial(ctx context.Context, addr fabric.Addr, cfg fabric.QPConfig, private []byte) (fabric.QP, error) {
	if err := d.checkAddr(addr, private); err != nil {
		return nil, err
	}
	q, err := d.newConn(cfg)
	if err != nil {
		return nil, err
	}
	if err := d.connect(ctx, q, addr, private); err != nil {
		_ = q.Close()
		return nil, err
	}
	return q, nil
}

func (d *Device) checkAddr(addr fabric.Addr, private []byte) error {
	if addr.Fabric != "tcp" {
		return fmt.Errorf("fabric: tcp: address %v is of another fabric: %w", addr, fabric.ErrInvalid)
	}
	if err := addr.CheckOptions(); err != nil {
		return err
	}
	return checkPrivate(private)
}

func checkPrivate(private []byte) error {
	if len(private) > maxPrivate {
		return fmt.Errorf("fabric: tcp: %d bytes of private data, the limit is %d: %w",
			len(private), maxPrivate, fabric.ErrInvalid)
	}
	return nil
}

// connect does all of Dial that takes time.
func (d *Device) connect(ctx context.Context, q *conn, addr fabric.Addr, private []byte) error {
	open, err := d.handshakes.Dial(ctx, addr)
	if err != nil {
		return base.DialError(ctx, addr, err)
	}
	h := &halfOpen{open, d}
	defer h.Abandon()
	defer h.Bound(ctx)()
	err = h.say(&hello{
		kind: helloRequest, transport: q.transport, qpn: q.num, window: window, private: private,
	})
	if err != nil {
		return base.DialError(ctx, addr, err)
	}
	m, err := hear(h)
	if err != nil {
		return base.DialError(ctx, addr, err)
	}
	switch m.kind {
	case helloAccept:
		if m.transport != q.transport {
			return violation("%v answered %v to %v", addr, m.transport, q.transport)
		}
		return h.take(q, &m)
	case helloReject:
		return &fabric.RejectedError{Private: m.private}
	case helloRefuse:
		return fmt.Errorf("fabric: tcp: %v takes no more connections at the moment; try again: %w", addr, fabric.ErrRefused)
	default:
		return violation("%v answered with a hello of kind %d", addr, m.kind)
	}
}

// learnHost remembers under which address this host is reached.
func (d *Device) learnHost(a net.Addr) {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	if !ip.IsValid() || ip.IsUnspecified() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.host.IsValid() {
		d.host = ip
	}
}

// hostAddr returns the address of datagram queue pairs.
func (d *Device) hostAddr() netip.Addr {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.host.IsValid() {
		return d.host
	}
	// Connecting a datagram socket sends nothing; it makes the kernel choose
	// a route, and with it our address.
	if c, err := net.DialUDP("udp", nil, &net.UDPAddr{IP: net.IPv4(198, 51, 100, 1), Port: 9}); err == nil {
		defer func() { _ = c.Close() }()
		if local, err := netip.ParseAddrPort(c.LocalAddr().String()); err == nil {
			return local.Addr().Unmap()
		}
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}
