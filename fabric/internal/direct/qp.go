package direct

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
	"github.com/remora-kv/remora/internal/fence"
)

// Control is the provider's half of a connection: what cannot be done through
// the segment.
type Control interface {
	// Resolve maps the peer's region under key. It returns nil when the peer
	// does not grant it, or later = true when it has to ask: then
	// QP.Resolved is called with the answer. Called by the owner.
	Resolve(key uint32) (w *Window, later bool)
	// Disconnect tells the peer that this end is over. It is called once, from
	// any goroutine, and does not block.
	Disconnect()
	// Release gives back the segment and everything else. It is the last call.
	Release()
}

// QP is a queue pair of either provider.
type QP struct {
	core       *Core
	num        uint32
	transport  fabric.Transport
	domain     *Domain
	send, recv *CQ
	rnr        time.Duration
	control    Control

	out producer
	in  source
	// gramRings are those of peers that send datagrams here.
	gramRings []*GramRing

	limits fabric.Limits // of its requests

	// The send queue: numbers of requests ever posted, and freed (G10).
	sendDepth, sendPosted, sendRetired uint64
	// shown is how many had been posted when the ring was last published.
	shown     uint64
	backlog   backlog
	inBacklog bool

	recvQueue

	windows        windowTable
	window         *Window        // the one used last
	known          *fabric.Region // the one used last, of the right domain
	asked, refused uint32         // keys; see find
	released       bool
	settled        bool // the flush after breaking is done

	base.Life
	// begun counts Start and the end: the second of them settles.
	begun atomic.Uint32
	mu    sync.Mutex // guards control, shared and final
	// shared says that the counters in the segment can be read; final holds
	// what was counted when it was given back.
	shared bool
	final  *fabric.Counters

	stats stats

	peerPrivate []byte
	peer        fabric.Peer

	// reach guards the address, which is made when it is first asked for: a queue pair
	// that only sends datagrams needs none, and on shm it is a file.
	reach   sync.Mutex
	address []byte
	named   bool
}

// NewQP makes a queue pair that is not connected yet. It must be followed by
// Start, or by Abandon.
func NewQP(core *Core, cfg fabric.QPConfig) (*QP, error) {
	send, recv, dom, err := base.QPParts(&cfg, &core.limits, core.name, func(send, recv *CQ, dom *Domain) bool {
		return send.core == core && recv.core == core && dom.core == core
	})
	if err != nil {
		return nil, err
	}
	q := &QP{
		core: core, transport: cfg.Transport, domain: dom, send: send, recv: recv,
		limits: cfg.Limits(core.limits),
		rnr:    cfg.RNRTimeout, sendDepth: uint64(cfg.SendDepth),
	}
	q.Begin()
	q.recvQueue.init(cfg.RecvDepth)
	q.in.qp = q
	if err := send.Reserve(cfg.SendDepth, &recv.Places, cfg.RecvDepth); err != nil {
		return nil, err
	}
	core.mu.Lock()
	defer core.mu.Unlock()
	if core.closed || dom.contents.Closed {
		send.Release(cfg.SendDepth, &recv.Places, cfg.RecvDepth)
		return nil, core.errClosed()
	}
	core.nextQPN++
	q.num = core.nextQPN
	core.qps[q.num] = q
	dom.contents.QPs++
	return q, nil
}

// RecvDepth returns how many receives can be posted.
func (q *QP) RecvDepth() int { return int(q.recvDepth) }

// Ends of a segment.
const (
	Dialer = iota
	Acceptor
)

// Attach gives the queue pair its end of a segment of SegmentBytes.
// wakeRecv wakes the peer's receiver, wakeSend its sender.
func (q *QP) Attach(mem []byte, end, peerDepth int, wakeRecv, wakeSend base.Waker) {
	myDepth := int(q.recvDepth)
	dialer, acceptor := myDepth, peerDepth
	if end == Acceptor {
		dialer, acceptor = acceptor, dialer
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	toAcceptor := ringAt(mem[:ringBytes(acceptor)], acceptor)
	toDialer := ringAt(mem[ringBytes(acceptor):], dialer)
	q.out.ring, q.in.ring = toAcceptor, toDialer
	if end == Acceptor {
		q.out.ring, q.in.ring = toDialer, toAcceptor
	}
	q.out.wake, q.in.wake = wakeRecv, wakeSend
	q.shared = true
}

// RecvPipe wakes the owner when it waits for receives of the queue pair.
func (q *QP) RecvPipe() *base.WakePipe { return q.recv.Pipe }

// SendPipe wakes the owner when it waits for the queue pair's own requests.
func (q *QP) SendPipe() *base.WakePipe { return q.send.Pipe }

// Describe tells the queue pair who is at the other end, before Start.
func (q *QP) Describe(peer fabric.Peer, private []byte) { q.peer, q.peerPrivate = peer, private }

// Start makes the queue pair ready. control is nil for datagrams.
func (q *QP) Start(control Control) {
	q.mu.Lock()
	q.control = control
	q.mu.Unlock()
	if q.begun.Add(1) == 2 {
		q.tellPeer()
		q.noteSettle()
	}
}

// Abandon takes back a queue pair that was not started.
func (q *QP) Abandon() {
	q.fall(fabric.ErrClosed)
	q.SetState(fabric.StateClosed)
	q.forget()
}

func (q *QP) forget() {
	q.send.Release(int(q.sendDepth), &q.recv.Places, int(q.recvDepth))
	c := q.Counters()
	q.mu.Lock()
	q.shared, q.final = false, &c
	q.mu.Unlock()
	q.core.mu.Lock()
	delete(q.core.qps, q.num)
	q.core.past.Add(&c)
	q.domain.contents.QPs--
	q.core.mu.Unlock()
}

// Num implements fabric.QP.
func (q *QP) Num() uint32 { return q.num }

// Domain returns the protection domain.
func (q *QP) Domain() *Domain { return q.domain }

// Transport implements fabric.QP.
func (q *QP) Transport() fabric.Transport { return q.transport }

// PeerPrivate implements fabric.QP.
func (q *QP) PeerPrivate() []byte { return q.peerPrivate }

// Peer implements fabric.QP.
func (q *QP) Peer() fabric.Peer { return q.peer }

// fall leaves StateReady, for the given reason. It reports whether it did and
// the rest is the caller's: before Start there is nothing to settle yet, and
// Start does it.
func (q *QP) fall(reason error) bool { return q.Fall(reason) && q.begun.Add(1) == 2 }

// Disconnect implements fabric.QP.
func (q *QP) Disconnect() error {
	if q.fall(fmt.Errorf("fabric: queue pair %d was disconnected by this side: %w", q.num, fabric.ErrClosed)) {
		q.tellPeer()
		q.noteSettle()
	}
	return nil
}

func (q *QP) tellPeer() {
	q.mu.Lock()
	control := q.control
	q.mu.Unlock()
	if control != nil {
		control.Disconnect()
	}
}

// PeerGone tells the queue pair that the other end is over: an error that
// wraps fabric.ErrDisconnected, ErrPeerLost or ErrProtocol. It may be called
// from any goroutine.
func (q *QP) PeerGone(reason error) {
	if q.fall(reason) {
		q.noteSettle()
	}
}

func (q *QP) noteSettle() {
	q.send.note(q.settle)
	if q.recv != q.send {
		q.recv.note(q.settle)
	}
}

// settle takes what the peer had sent and flushes the rest (G11, G13).
func (q *QP) settle() {
	if q.settled || q.State() == fabric.StateClosed {
		return
	}
	q.settled = true
	if q.transport != fabric.UD {
		// A peer that sends from now on sees that nothing is taken; what was sent
		// before is seen by drain (I3).
		fence.Announce32(&q.in.h.armed, armedClosed)
		q.in.drain()
	}
	first := fabric.StatusFlushed
	if errors.Is(q.Err(), fabric.ErrPeerLost) {
		first = fabric.StatusPeerLost
	}
	q.flushBacklog(first)
	q.flushReceives()
}

// breakNow ends the queue pair because of a failed request; the failure has
// been completed already.
func (q *QP) breakNow(d *done) {
	var c fabric.Completion
	d.unpack(&c)
	q.publish() // what completed before must not come behind the end (G13)
	q.stats.errors.Add(1)
	if q.fall(c.Err()) {
		q.tellPeer()
	} else {
		q.Explain(c.Err(), fabric.ErrDisconnected) // which was because of the failure
	}
	q.settle()
}

// violated ends what the rule-breaking peer could reach (I1): the connection,
// or the ring of one sender of datagrams.
func (s *source) violated(what string) {
	q := s.qp
	s.dead = true
	q.stats.errors.Add(1)
	if q.transport == fabric.UD {
		q.dropRing(s)
		return
	}
	if q.fall(fmt.Errorf("fabric: queue pair %d: %s: %w", q.num, what, fabric.ErrProtocol)) {
		q.tellPeer()
	}
	q.settle()
}

// Close implements fabric.QP.
func (q *QP) Close() error {
	if q.State() == fabric.StateClosed {
		return fmt.Errorf("fabric: queue pair %d: %w", q.num, fabric.ErrClosed)
	}
	_ = q.Disconnect()
	q.SetState(fabric.StateClosed)
	q.send.Attend()
	q.recv.Attend()
	q.recv.unlisten(&q.in)
	if q.transport == fabric.UD {
		q.unreach()
		q.closeGrams()
	}
	if q.inBacklog {
		q.send.unbacklog(q)
	}
	q.send.discard(q)
	q.recv.discard(q)
	q.releaseWindows()
	q.forget()
	if q.control != nil {
		q.control.Release()
	}
	return nil
}
