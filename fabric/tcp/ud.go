package tcp

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

// NewUD implements fabric.Domain.
func (m *domain) NewUD(cfg fabric.QPConfig) (fabric.QP, error) {
	if cfg.Transport != fabric.UD {
		return nil, fmt.Errorf("fabric: NewUD with transport %v: %w", cfg.Transport, fabric.ErrInvalid)
	}
	cfg.Domain = m
	return m.dev.newGram(cfg)
}

// NewAddressHandle implements fabric.Domain.
func (m *domain) NewAddressHandle(_ context.Context, addr []byte) (fabric.AddressHandle, error) {
	return m.dev.newHandle(addr)
}

// maxGrams bounds how many datagrams one call takes from a socket.
const maxGrams = 64

// gram is a UD queue pair: a UDP socket of its own.
type gram struct {
	queues
	fd      int
	edge    edge
	key     uint64 // that a datagram for this queue pair must bring
	ip      [16]byte
	address []byte
	out, in [gramSize + gramMTU + 1]byte // one more, to see what is too long
	from    sockaddr
}

// handle implements fabric.AddressHandle.
type handle struct {
	to   sockaddr
	edge edge
	qpn  uint32
	key  uint64
}

// newHandle makes the address of a peer a destination.
func (d *Device) newHandle(b []byte) (*handle, error) {
	var a gramAddr
	if err := a.decode(b); err != nil {
		return nil, err
	}
	h := &handle{qpn: a.qpn, key: a.key, edge: gramEdge(string(b))}
	ip := netip.AddrFrom16(a.ip).Unmap()
	if ip.Is4() {
		h.to.set4(ip.As4(), a.port)
	} else {
		h.to.set6(a.ip, a.port)
	}
	switch own := d.hostAddr(); {
	case a.port == 0 || ip.IsUnspecified() || ip.IsMulticast():
		return nil, fmt.Errorf("fabric: tcp: %v port %d is not where datagrams can be sent: %w", ip, a.port, fabric.ErrInvalid)
	case own.Is4() != ip.Is4():
		return nil, fmt.Errorf("fabric: tcp: datagrams of this device leave from %v and cannot reach %v: "+
			"set Config.Host of both devices to addresses of one family: %w", own, ip, fabric.ErrInvalid)
	}
	return h, nil
}

// Close implements fabric.AddressHandle.
func (h *handle) Close() error { return nil }

// newGram makes a datagram queue pair.
func (d *Device) newGram(cfg fabric.QPConfig) (fabric.QP, error) {
	q := &gram{fd: -1}
	if err := q.setup(d, &cfg, q); err != nil {
		return nil, err
	}
	if err := q.open(); err != nil {
		_ = q.Close()
		return nil, fmt.Errorf("fabric: tcp: datagram queue pair: %w", err)
	}
	return q, nil
}

// open makes the socket, on any free port.
func (q *gram) open() error {
	var secret [8]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return fmt.Errorf("no random numbers for its key: %w", err)
	}
	q.key = binary.LittleEndian.Uint64(secret[:])
	host := q.dev.hostAddr()
	var at unix.Sockaddr = &unix.SockaddrInet6{Addr: host.As16()}
	family := unix.AF_INET6
	if host.Is4() {
		at, family = &unix.SockaddrInet4{Addr: host.As4()}, unix.AF_INET
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("socket: %w; check ulimit -n", err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.Ready() {
		_ = unix.Close(fd)
		return q.Err()
	}
	q.fd = fd // Close closes it from now on
	if err := unix.Bind(fd, at); err != nil {
		return fmt.Errorf("bind to %v: %w; set Config.Host to an address of this host", host, err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return fmt.Errorf("getsockname: %w", err)
	}
	port := 0
	switch name := name.(type) {
	case *unix.SockaddrInet4:
		port = name.Port
	case *unix.SockaddrInet6:
		port = name.Port
	}
	q.ip = host.As16()
	q.address = (&gramAddr{ip: q.ip, port: uint16(port), qpn: q.num, key: q.key}).encode()
	q.edge = gramEdge(string(q.address))
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, gramBuffer)
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, gramBuffer)
	return q.recvCQ.port.join(&q.queues, fd)
}

// gramBuffer is asked of the kernel for each direction, so that a burst as
// long as a receive queue fits.
const gramBuffer = 1 << 20

// Post implements fabric.QP. Datagrams leave at once; one that the socket does
// not take is dropped, as the network may drop it.
func (q *gram) Post(wrs []fabric.WR) (int, error) {
	for i := range wrs {
		if n, err := q.post(wrs, i); err != nil || n == 0 {
			return i, err
		}
	}
	return len(wrs), nil
}

// post sends the datagram wrs[i].
func (q *gram) post(wrs []fabric.WR, i int) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h, ok := wrs[i].To.(*handle)
	if !ok && wrs[i].To != nil {
		return 0, &fabric.PostError{Index: i, Err: fmt.Errorf("destination of another provider: %w", fabric.ErrInvalid)}
	}
	n, live, err := q.accept(wrs[i : i+1])
	if !live || n == 0 {
		return n, atIndex(err, i)
	}
	s := q.send(q.sendNext)
	q.sendNext++
	head := gramHead{dst: h.qpn, src: q.num, key: h.key}
	if s.flags&fabric.FlagSolicited != 0 {
		head.flags = flagSolicited
	}
	b := q.out[:gramSize+s.bytes]
	head.encode(b)
	s.gather(b[gramSize:], 0)
	h.edge.sends()
	if errno := sysSendTo(q.fd, b, &h.to); errno != 0 {
		fence.Count(&q.stats.dropped, 1)
	}
	q.completeSend(fabric.StatusOK)
	return 1, nil
}

// atIndex says which request of a chain is wrong.
func atIndex(err error, i int) error {
	var wrong *fabric.PostError
	if errors.As(err, &wrong) {
		wrong.Index = i
	}
	return err
}

// PostRecv implements fabric.QP.
func (q *gram) PostRecv(wrs []fabric.RecvWR) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, _, err := q.acceptRecv(wrs)
	return n, err
}

// drive implements member.
func (q *gram) drive(try bool, _ []byte) bool {
	if try {
		if !q.mu.TryLock() {
			return false
		}
	} else {
		q.mu.Lock()
	}
	defer q.mu.Unlock()
	worked := false
	for range maxGrams {
		if q.fd < 0 {
			break
		}
		n, errno := sysRecvFrom(q.fd, q.in[:], &q.from)
		if errno == unix.EAGAIN {
			break
		}
		// Other errors are about datagrams sent before: no socket is there.
		worked = true
		if errno == 0 {
			q.edge.received()
			q.arrived(q.in[:min(n, len(q.in))])
		}
	}
	return worked
}

// arrived takes a datagram, or drops it.
func (q *gram) arrived(b []byte) {
	var head gramHead
	if !head.decode(b) || head.dst != q.num || head.key != q.key {
		return // not ours: not even counted as dropped
	}
	b = b[gramSize:]
	total := fabric.GRHSize + len(b)
	if len(b) > gramMTU || q.recvDone == q.recvPosted || total > q.recv(q.recvDone).Size {
		fence.Count(&q.stats.dropped, 1)
		return
	}
	r := q.recv(q.recvDone)
	grh := q.grh(len(b))
	r.Scatter(0, grh[:])
	r.Scatter(fabric.GRHSize, b)
	q.stats.served(fabric.OpRecv, uint32(len(b)))
	c := fabric.Completion{Bytes: uint32(total), SrcQPN: head.src}
	q.completeRecv(&c, head.flags&flagSolicited != 0)
}

// grh is the global route header of a received datagram: version, payload
// length and the two addresses, as RoCE writes it (G16).
func (q *gram) grh(n int) (h [fabric.GRHSize]byte) {
	h[0] = 6 << 4
	binary.BigEndian.PutUint16(h[4:], uint16(n))
	h[6], h[7] = 0x1b, 64
	src := q.from.ip()
	copy(h[8:], src[:])
	copy(h[24:], q.ip[:])
	return h
}

// finish leaves StateReady.
func (q *gram) finish() {
	if !q.Fall(q.errDisconnected()) {
		return
	}
	if fd := q.fd; fd >= 0 {
		q.fd = -1
		q.recvCQ.port.part(&q.queues, fd)
		_ = unix.Close(fd)
	}
	q.flush(0, 0)
	q.wake()
}

// Disconnect implements fabric.QP.
func (q *gram) Disconnect() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.finish()
	return nil
}

// kill implements member.
func (q *gram) kill() { _ = q.Disconnect() }

// Close implements fabric.QP.
func (q *gram) Close() error {
	q.mu.Lock()
	if q.State() == fabric.StateClosed {
		q.mu.Unlock()
		return q.errClosed()
	}
	q.finish()
	q.SetState(fabric.StateClosed)
	q.mu.Unlock()
	q.forget()
	return nil
}

// PeerPrivate implements fabric.QP.
func (q *gram) PeerPrivate() []byte { return nil }

// Peer implements fabric.QP.
func (q *gram) Peer() fabric.Peer { return fabric.Peer{} }

// Address implements fabric.QP.
func (q *gram) Address() []byte { return q.address }

// Owns implements fabric.QP: a datagram queue pair has no peer.
func (q *gram) Owns([]byte) error {
	return fmt.Errorf("fabric: tcp: a datagram queue pair has no peer: %w", fabric.ErrInvalid)
}

// Owns implements fabric.QP.
func (q *conn) Owns(addr []byte) error {
	var a gramAddr
	if err := a.decode(addr); err != nil {
		return err
	}
	at := netip.AddrFrom16(a.ip).Unmap()
	peer, err := netip.ParseAddrPort(q.peer.Addr)
	if err != nil || peer.Addr().Unmap().WithZone("") != at {
		return fmt.Errorf("fabric: tcp: %s wants datagrams sent to %v, which is not where it connected from: "+
			"set Config.Host of its device to the address that it connects from: %w", q.peer.Addr, at, fabric.ErrInvalid)
	}
	return nil
}
