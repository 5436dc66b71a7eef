//go:build rdma

package verbs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
)

// resolveTime bounds how long the manager looks for an address or a route.
const resolveTime = 2 * time.Second

// manager is the connection manager of a device: it finds the path between two
// adapters and connects RC queue pairs.
//
// The side that accepts expects a token, and sends it and the manager's address to the
// dialer over the control connection; the dialer's request carries the token.
// A request with another token is refused.
type manager struct {
	dev     *Device
	channel cmChannel
	file    *os.File // a duplicate of the channel's descriptor, for the runtime
	done    chan struct{}

	quit  chan struct{}  // closed when the device is
	users sync.WaitGroup // connections being made

	mu       sync.Mutex
	listenID cmID
	addr     netip.AddrPort // of listenID; its address is that of the port
	stopped  bool
	expected map[uint64]chan cmEvent // requests by token
	waiting  map[cmID]chan cmEvent   // answers by identifier
	living   map[cmID]struct{}       // identifiers of connected queue pairs
}

// connectionManager returns the manager of the device, which is opened when it
// is first needed, or why there is none.
func (d *Device) connectionManager() (*manager, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.killed.Load() {
		return nil, d.errClosed()
	}
	if d.manager == nil && d.noManager == nil {
		d.manager, d.noManager = d.openManager()
	}
	return d.manager, d.noManager
}

func (d *Device) openManager() (*manager, error) {
	if err := loadManager(); err != nil {
		return nil, err
	}
	channel, fd, err := openManager()
	if err != nil {
		return nil, fmt.Errorf("/dev/infiniband/rdma_cm: %w: load it with modprobe rdma_ucm", err)
	}
	m := &manager{
		dev: d, channel: channel, done: make(chan struct{}), quit: make(chan struct{}), expected: map[uint64]chan cmEvent{},
		waiting: map[cmID]chan cmEvent{}, living: map[cmID]struct{}{},
	}
	if m.listenID, m.addr, err = m.listen(d.adapter.Load()); err != nil {
		channel.close()
		return nil, err
	}
	if err := m.start(fd); err != nil {
		m.listenID.close()
		channel.close()
		return nil, err
	}
	return m, nil
}

// listen listens at the address of a port.
func (m *manager) listen(a *adapter) (id cmID, addr netip.AddrPort, err error) {
	ip, ok := a.ip()
	if !ok {
		return 0, addr, fmt.Errorf("the port has no IP address: give its interface one: %w", fabric.ErrUnsupported)
	}
	if id, addr, err = m.channel.listen(ip, fabric.DefaultBacklog); err != nil {
		return 0, addr, fmt.Errorf("listening at %v: %w", ip, err)
	}
	// Two adapters may stand on one interface, hardware and its stand-in.
	c := &a.choice
	if name, port := id.device(); name != c.Device || port != c.Port {
		id.close()
		return 0, addr, fmt.Errorf("the kernel gives %v to %s port %d, not to %s port %d: %w",
			ip, name, port, c.Device, c.Port, fabric.ErrUnsupported)
	}
	return id, addr, nil
}

// move listens at the new address of a port.
func (m *manager) move(a *adapter) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.leave()
	id, addr, err := m.listen(a)
	if err != nil {
		return err
	}
	m.mu.Lock()
	old := m.listenID
	m.listenID, m.addr = id, addr
	m.mu.Unlock()
	old.close()
	return nil
}

// at returns where the manager listens.
func (m *manager) at() netip.AddrPort {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.addr
}

// ip returns the address under which the connection manager knows the port:
// that of a RoCE GID, or of the IPoIB interface over the port.
func (a *adapter) ip() (netip.Addr, bool) {
	g := a.choice.GID.Addr
	if a.port.ethernet {
		return g.Unmap(), !g.IsLinkLocalUnicast()
	}
	raw := g.As16()
	all, _ := net.Interfaces()
	for _, ifc := range all {
		if len(ifc.HardwareAddr) != 20 || !bytes.Equal(ifc.HardwareAddr[4:], raw[:]) {
			continue
		}
		addrs, _ := ifc.Addrs()
		for _, x := range addrs {
			if n, ok := x.(*net.IPNet); ok {
				if ip, ok := netip.AddrFromSlice(n.IP); ok && !ip.IsLinkLocalUnicast() {
					return ip.Unmap(), true
				}
			}
		}
	}
	return netip.Addr{}, false
}

// start begins to hear events.
func (m *manager) start(fd int) error {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%w (check the limit of open files: ulimit -n)", err)
	}
	m.file = os.NewFile(uintptr(dup), "rdma connection manager")
	raw, err := m.file.SyscallConn()
	if err != nil {
		_ = m.file.Close()
		return err
	}
	go func() {
		defer close(m.done)
		for {
			var err error
			closed := raw.Read(func(uintptr) bool {
				err = m.next()
				return !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR)
			})
			if closed != nil || err != nil {
				return
			}
		}
	}()
	return nil
}

// next takes an event and passes it on. It does both under the lock: when an
// identifier has been freed, no event of it is under way to its successor at
// the same address.
func (m *manager) next() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	ev, err := m.channel.event()
	if err == nil {
		m.happened(ev)
	}
	return err
}

// enter keeps the manager until leave is called.
func (m *manager) enter() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped {
		return m.dev.errClosed()
	}
	m.users.Add(1)
	return nil
}

func (m *manager) leave() { m.users.Done() }

// stop ends the manager; no connected queue pair uses it any more.
func (m *manager) stop() {
	m.mu.Lock()
	m.stopped = true
	m.mu.Unlock()
	close(m.quit)
	m.users.Wait()
	_ = m.file.Close()
	<-m.done
	m.listenID.close()
	m.channel.close()
}

// happened passes an event to its waiter. m.mu is held.
func (m *manager) happened(ev cmEvent) {
	if ev.kind == cmConnectRequest {
		if ch := m.expected[ev.token]; ch != nil && ev.token != 0 {
			delete(m.expected, ev.token)
			ch <- ev
			return
		}
		_ = ev.id.reject()
		ev.id.close()
		return
	}
	if ch := m.waiting[ev.id]; ch != nil {
		select {
		case ch <- ev:
		default: // it has given up
		}
		return
	}
	if _, ok := m.living[ev.id]; ok && ev.kind == cmDisconnected {
		// The control connection tells why. This is for the other manager.
		_ = ev.id.disconnect()
	}
}

// expect announces a request with a token that peers cannot guess.
func (m *manager) expect() (token uint64, request chan cmEvent) {
	request = make(chan cmEvent, 1)
	m.mu.Lock()
	defer m.mu.Unlock()
	for token == 0 || m.expected[token] != nil {
		token = rand.Uint64()
	}
	m.expected[token] = request
	return token, request
}

// unexpect ends the wait for a request; one that came meanwhile is refused.
func (m *manager) unexpect(token uint64, request chan cmEvent) {
	m.mu.Lock()
	delete(m.expected, token)
	m.mu.Unlock()
	select {
	case ev := <-request:
		_ = ev.id.reject()
		ev.id.close()
	default:
	}
}

// adopt makes an identifier that of a connected queue pair.
func (m *manager) adopt(q *QP, id cmID) error {
	m.mu.Lock()
	delete(m.waiting, id)
	m.living[id] = struct{}{}
	m.mu.Unlock()
	err := q.withHW(func() error { q.cm = id; return nil })
	if err != nil {
		m.drop(id)
	}
	return err
}

// drop frees an identifier.
func (m *manager) drop(id cmID) {
	m.mu.Lock()
	delete(m.waiting, id)
	delete(m.living, id)
	m.mu.Unlock()
	id.close()
}

// await waits for an event of an identifier.
func (m *manager) await(ctx context.Context, events <-chan cmEvent, want uint32) error {
	select {
	case ev := <-events:
		if ev.kind != want || ev.status != 0 {
			return fmt.Errorf("the connection manager says: %s (%d): %w", cmEventName(ev.kind), ev.status, fabric.ErrRefused)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-m.quit:
		return m.dev.errClosed()
	}
}

// connect connects a queue pair to the one that expects the token.
func (m *manager) connect(ctx context.Context, q *QP, peer *end) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.leave()
	// The acceptor does not wait for longer either.
	ctx, cancel := context.WithTimeout(ctx, fabric.DefaultHandshake)
	defer cancel()
	id, err := m.channel.create()
	if err != nil {
		return err
	}
	events := make(chan cmEvent, 4)
	m.mu.Lock()
	m.waiting[id] = events
	m.mu.Unlock()
	if err := m.connectBy(ctx, q, peer, id, events); err != nil {
		m.drop(id)
		return err
	}
	return m.adopt(q, id)
}

func (m *manager) connectBy(ctx context.Context, q *QP, peer *end, id cmID, events <-chan cmEvent) error {
	const ms = int(resolveTime / time.Millisecond)
	if tc := m.dev.adapter.Load().tuning.TClass; tc.given {
		if err := id.setTOS(tc.value); err != nil {
			return fmt.Errorf("tclass=%d: %w", tc.value, err)
		}
	}
	if err := id.resolveAddr(m.at().Addr(), peer.manager, ms); err != nil {
		return fmt.Errorf("%v: %w", peer.manager, err)
	}
	if err := m.await(ctx, events, cmAddrResolved); err != nil {
		return err
	}
	c := &m.dev.adapter.Load().choice
	if name, port := id.device(); name != c.Device || port != c.Port {
		return fmt.Errorf("%v is reached by %s port %d, not by %s port %d: check the routes: %w",
			peer.manager, name, port, c.Device, c.Port, fabric.ErrInvalid)
	}
	if err := id.resolveRoute(ms); err != nil {
		return err
	}
	if err := m.await(ctx, events, cmRouteResolved); err != nil {
		return err
	}
	if err := id.connect(q.cmParam(peer)); err != nil {
		return err
	}
	if err := m.await(ctx, events, cmConnectResponse); err != nil {
		return err
	}
	if err := q.joinBy(id, peer); err != nil {
		return err
	}
	return id.establish()
}

// accept connects a queue pair to the one whose request has come.
func (m *manager) accept(q *QP, peer *end, id cmID) error {
	err := q.joinBy(id, peer)
	if err == nil {
		err = id.accept(q.cmParam(peer))
	}
	if err != nil {
		_ = id.reject()
		id.close()
		return err
	}
	return m.adopt(q, id)
}

func (q *QP) cmParam(peer *end) *cmParam {
	return &cmParam{
		token: peer.token, qpn: q.num, answers: q.dev.lim.MaxReads, starts: q.reads(peer),
		retries: q.reliability().retries, rnrRetries: q.rnr.retries,
	}
}

// joinBy connects the adapter's part to the other end as the manager says.
func (q *QP) joinBy(id cmID, peer *end) error {
	return q.withHW(func() error {
		return id.connectQP(q.hw, q.access(), q.dev.lim.MaxReads, q.reads(peer), planRNR(peer.rnr).timer, q.reliability(), &q.dev.adapter.Load().tuning)
	})
}
