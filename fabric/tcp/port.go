package tcp

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/internal/fence"
)

// fewSockets is up to how many sockets a port asks each one whether it has
// something, instead of asking epoll which of them have.
const fewSockets = 2

// member is a queue pair as its port and the device see it.
type member interface {
	// drive makes what progress is possible without blocking and reports
	// whether there was anything to do. With try it gives up at once when
	// another thread drives it. into is memory of the calling thread to read
	// into, of which nothing is used after the call.
	drive(try bool, into []byte) bool
	// on reports whether the peer, as far as is known, sent last from a CPU of this host.
	on(cpu int) bool
	// buffered returns how many bytes its buffers have. The caller has the lock.
	buffered() int
	// Disconnect is that of fabric.QP.
	Disconnect() error
	// kill ends the queue pair without telling the peer.
	kill()
}

// port is the set of sockets that are driven together: those of the queue
// pairs that receive on one completion queue. The owner drives it by polling,
// the background thread when the owner does not (I4).
type port struct {
	nic   *nic
	index uint16
	ep    int

	// polls counts how often the owner has driven the port. sleeps counts how
	// often an owner went to sleep on it, asleep how many sleep at the moment.
	polls  atomic.Uint64
	sleeps atomic.Uint64
	asleep atomic.Int32

	// watched: the background thread looks regularly whether the owner still
	// polls. owing: a connection has put something off since.
	watched, owing atomic.Bool

	members atomic.Pointer[[]*queues]
	// Of the owner alone.
	events [64]unix.EpollEvent
	into   []byte  // for what is read
	lazy   []*conn // that have put something off

	mu     sync.Mutex // guards what follows, and changes of members
	armed  bool       // the background thread is woken by the sockets
	closed bool

	// Of the background thread alone.
	seen   uint64 // polls when it last looked
	streak int    // how often in a row it has found that the owner polled
	parked bool   // in its list of ports that it leaves to their owners
}

// newPort makes an armed port without members.
func (n *nic) newPort() (*port, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll_create: %w; check ulimit -n and /proc/sys/fs/epoll", err)
	}
	p, err := n.ports.add(func(i uint16) *port {
		return &port{nic: n, index: i, ep: ep, armed: true, into: make([]byte, readSize)}
	})
	if err != nil {
		_ = unix.Close(ep)
		return nil, err
	}
	p.members.Store(new([]*queues))
	n.mu.Lock()
	if n.stopped {
		err = n.dev.errClosed()
	} else {
		err = epollAdd(n.ep, ep, unix.EPOLLIN, tokenPort, int32(p.index))
	}
	n.mu.Unlock()
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// close gives up the port; it has no members any more.
func (p *port) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	p.nic.ports.drop(p.index)
	_ = unix.Close(p.ep) // leaves the epoll of the device by itself
}

// join adds a queue pair and its socket.
func (p *port) join(q *queues, fd int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errPortClosed
	}
	if err := epollAdd(p.ep, fd, unix.EPOLLIN, tokenSocket, int32(q.num)); err != nil {
		return err
	}
	list := append(slices.Clone(*p.members.Load()), q)
	p.members.Store(&list)
	return nil
}

// part removes a queue pair and its socket.
func (p *port) part(q *queues, fd int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	_ = unix.EpollCtl(p.ep, unix.EPOLL_CTL_DEL, fd, nil)
	list := slices.DeleteFunc(slices.Clone(*p.members.Load()), func(m *queues) bool { return m == q })
	p.members.Store(&list)
}

// watch says whether the port is to be woken when fd can be written to.
func (p *port) watch(q *queues, fd int, writable bool) {
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(q.num), Pad: tokenSocket}
	if writable {
		ev.Events |= unix.EPOLLOUT
	}
	_ = unix.EpollCtl(p.ep, unix.EPOLL_CTL_MOD, fd, &ev)
}

// poll drives the port for its owner.
func (p *port) poll() {
	fence.Count(&p.polls, 1)
	p.catchUp()
	list := *p.members.Load()
	if len(list) <= fewSockets {
		for _, q := range list {
			q.member.drive(true, p.into)
		}
		return
	}
	n := epollNow(p.ep, p.events[:])
	p.drive(p.events[:n], true, p.into)
}

// drive drives the queue pairs that events name.
func (p *port) drive(events []unix.EpollEvent, try bool, into []byte) bool {
	worked := false
	for i := range events {
		if q := p.nic.dev.qps.get(uint16(events[i].Fd)); q != nil && q.num == uint32(events[i].Fd) {
			worked = q.member.drive(try, into) || worked
		}
	}
	return worked
}

// later has catchUp called for q by the next poll of the owner, or by the
// background thread when there is none. It reports whether that is certain.
func (p *port) later(q *conn) bool {
	p.owing.Store(true)
	if !p.watched.Load() || p.asleep.Load() != 0 {
		return false
	}
	p.lazy = append(p.lazy, q)
	return true
}

// catchUp sends what was put off, for the owner.
func (p *port) catchUp() {
	if len(p.lazy) == 0 {
		return
	}
	for _, q := range p.lazy {
		q.catchUp()
	}
	clear(p.lazy)
	p.lazy = p.lazy[:0]
}

// unwatch is called by the background thread when it no longer watches the
// port: what was put off is sent. A connection that puts something off says so before it
// looks whether the port is watched, so that one of the two sees the other.
func (p *port) unwatch() {
	p.watched.Store(false)
	p.settle()
}

// settle sends what was put off, for the background thread.
func (p *port) settle() {
	if !p.owing.Swap(false) {
		return
	}
	for _, q := range *p.members.Load() {
		if c, ok := q.member.(*conn); ok {
			c.catchUp()
		}
	}
}

// serve drives the port for the background thread.
func (p *port) serve(events []unix.EpollEvent) bool {
	list := *p.members.Load()
	if len(list) <= fewSockets {
		worked := false
		for _, q := range list {
			worked = q.member.drive(false, p.nic.into[:]) || worked
		}
		return worked
	}
	p.mu.Lock()
	n := 0
	if !p.closed {
		n = epollNow(p.ep, events)
	}
	p.mu.Unlock()
	return p.drive(events[:n], false, p.nic.into[:])
}

// arm has the background thread woken by the sockets of the port.
func (p *port) arm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.armed && !p.closed {
		p.armed = true
		_ = epollMod(p.nic.ep, p.ep, unix.EPOLLIN, tokenPort, int32(p.index))
	}
}

// disarm undoes arm, unless an owner went to sleep since sleeps was read: then
// the background thread is needed after all.
func (p *port) disarm(sleeps uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.armed && !p.closed && p.sleeps.Load() == sleeps {
		p.armed = false
		_ = epollMod(p.nic.ep, p.ep, 0, tokenPort, int32(p.index))
	}
}

// markAsleep is called by an owner that is about to sleep on the port.
func (p *port) markAsleep() {
	p.asleep.Add(1)
	p.sleeps.Add(1)
	p.arm()
}

// markAwake is called when it is awake again.
func (p *port) markAwake() { p.asleep.Add(-1) }
