//go:build rdma

package verbs

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// sendSlot is a request in the send queue.
type sendSlot struct {
	id    uint64
	bytes uint32
	op    fabric.Op
	flags fabric.Flags
}

// QP is a queue pair.
type QP struct {
	dev        *Device
	num        uint32
	transport  fabric.Transport
	domain     *Domain
	send, recv *CQ
	lim        fabric.Limits // of its requests
	rnr        rnrPlan
	rnrTimeout time.Duration
	qkey       uint32 // of datagrams

	// Everything down to the blank line belongs to the owner. The queues are
	// numbers of slots ever posted and freed by polling; recvHanded are the
	// receives that the adapter was given (I5).
	sends                   []sendSlot
	sendMask, sendDepth     uint64
	sendPosted, sendRetired uint64
	sendKnown               uint64   // slots up to here are done, whether polled or not
	recvs                   []uint64 // IDs
	recvMask, recvDepth     uint64
	recvPosted, recvHanded  uint64
	recvRetired             uint64
	shadow                  []shadowRecv // of datagrams, by slot
	owed                    uint64       // receives that the adapter has yet to give back (see survives)
	sendID, recvID          uint64       // upper bits of wr_id
	settled                 bool         // I4
	broken                  bool         // a failure was reported
	foretold                bool         // a failure will be, and is the reason
	isLate, isTimed         bool         // it is in CQ.late, CQ.timed
	rnrOver                 bool         // the wait for a receive was ended here
	always                  uint32       // flags of every request
	waiting                 int64        // since when the oldest request waits; 0 is not known

	base.Life
	accused atomic.Bool // the peer says that a request was wrong (I6)
	blamed  atomic.Bool // and the adapter has said nothing in time
	suspect atomic.Bool // the adapter has broken it, for a reason not yet known
	stats   stats

	// hwMu guards the adapter's part for everybody but the owner. It may be
	// held for seconds: a dialer looks for the peer on the network.
	hwMu sync.Mutex
	hw   hwQP // 0 when released
	cm   cmID // 0 when it was not connected by a manager

	mu       sync.Mutex
	control  *control
	reported counts            // by the peer
	senders  map[uint64]sender // of datagrams, by their numbers
	dropped  uint64            // messages of the peers, as far as known
	final    *fabric.Counters

	peer        fabric.Peer
	peerPrivate []byte
	address     []byte
}

// newQP makes a queue pair that is not connected. It must be started, or
// abandoned.
func (d *Device) newQP(cfg fabric.QPConfig) (*QP, error) {
	send, recv, dom, err := base.QPParts(&cfg, &d.lim, d.Name(), func(send, recv *CQ, dom *Domain) bool {
		return send.dev == d && recv.dev == d && dom.dev == d
	})
	if err != nil {
		return nil, err
	}
	q := &QP{
		dev: d, transport: cfg.Transport, domain: dom, send: send, recv: recv, lim: cfg.Limits(d.lim), rnrTimeout: cfg.RNRTimeout,
		sendDepth: uint64(cfg.SendDepth), recvDepth: uint64(cfg.RecvDepth),
	}
	q.Begin()
	if cfg.Transport == fabric.RC { // the others do not wait for receives
		q.rnr = planRNR(cfg.RNRTimeout)
	}
	q.sends, q.recvs = make([]sendSlot, base.CeilPow2(cfg.SendDepth)), make([]uint64, base.CeilPow2(cfg.RecvDepth))
	q.sendMask, q.recvMask = uint64(len(q.sends)-1), uint64(len(q.recvs)-1)
	if q.rnr.limit != 0 {
		q.always = sendSignaled
	}
	if cfg.Transport == fabric.UD {
		q.shadow = make([]shadowRecv, len(q.recvs))
	}
	if err := send.Reserve(cfg.SendDepth, &recv.Places, cfg.RecvDepth); err != nil {
		return nil, err
	}
	if err := q.open(); err != nil {
		send.Release(cfg.SendDepth, &recv.Places, cfg.RecvDepth)
		return nil, err
	}
	return q, nil
}

// open makes the adapter's part and enters the queue pair everywhere.
func (q *QP) open() error {
	d := q.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || q.domain.closed {
		return d.errClosed()
	}
	var err error
	q.hw, q.num, _, err = newHWQP(&qpPlan{
		pd: q.domain.hw, send: q.send.hw.cq, recv: q.recv.hw.cq, transport: q.transport,
		sendDepth: int(q.sendDepth), recvDepth: int(q.recvDepth), segs: q.lim.MaxSegs, inline: q.lim.MaxInline,
	})
	if err != nil {
		return fmt.Errorf("fabric: queue pair of depths %d and %d: %w", q.sendDepth, q.recvDepth, explainPin(err))
	}
	if err := q.joinCQs(); err != nil {
		_ = q.hw.close()
		return err
	}
	d.qps[q.num] = q
	q.domain.qps++
	return nil
}

// joinCQs takes a place on each completion queue.
func (q *QP) joinCQs() error {
	tag, err := q.send.join(q)
	if err != nil {
		return err
	}
	q.sendID, q.recvID = uint64(tag)<<tagShift, uint64(tag)<<tagShift|recvBit
	if q.recv == q.send {
		return nil
	}
	if tag, err = q.recv.join(q); err != nil {
		q.send.leave(uint32(q.sendID >> tagShift))
		return err
	}
	q.recvID = uint64(tag)<<tagShift | recvBit
	return nil
}

// leaveCQs gives the places back.
func (q *QP) leaveCQs() {
	q.send.leave(uint32(q.sendID >> tagShift))
	if q.recv != q.send {
		q.recv.leave(uint32(q.recvID >> tagShift))
	}
}

// abandon takes back a queue pair that was not returned to the program.
func (q *QP) abandon() {
	q.Fall(fabric.ErrClosed)
	q.SetState(fabric.StateClosed)
	_ = q.release()
	q.forget()
}

// release gives the adapter's part back; nothing of the queue pair touches
// memory any more.
func (q *QP) release() error {
	q.hwMu.Lock()
	defer q.hwMu.Unlock()
	if q.hw == 0 {
		return nil
	}
	if err := q.hw.close(); err != nil {
		return fmt.Errorf("fabric: queue pair %d: %w", q.num, err)
	}
	q.hw = 0
	if q.cm != 0 {
		q.dev.manager.drop(q.cm)
		q.cm = 0
	}
	return nil
}

// forget takes the queue pair out of everything.
func (q *QP) forget() {
	q.leaveCQs()
	q.send.Release(int(q.sendDepth), &q.recv.Places, int(q.recvDepth))
	d := q.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	c := q.snapshot()
	q.mu.Lock()
	q.final = &c
	q.mu.Unlock()
	if d.qps[q.num] == q { // the adapter may have given the number away again
		delete(d.qps, q.num)
	}
	d.past.Add(&c)
	q.domain.qps--
}

// Num implements fabric.QP.
func (q *QP) Num() uint32 { return q.num }

// Transport implements fabric.QP.
func (q *QP) Transport() fabric.Transport { return q.transport }

// PeerPrivate implements fabric.QP.
func (q *QP) PeerPrivate() []byte { return q.peerPrivate }

// Peer implements fabric.QP.
func (q *QP) Peer() fabric.Peer { return q.peer }

// Address implements fabric.QP.
func (q *QP) Address() []byte { return q.address }

// Owns implements fabric.QP: a peer may have several ports, and nothing tells whose an address is.
func (q *QP) Owns([]byte) error { return nil }

// stop has the adapter flush the queue pair (I4).
func (q *QP) stop() {
	q.hwMu.Lock()
	defer q.hwMu.Unlock()
	if q.hw != 0 {
		_ = q.hw.to(stateError)
	}
}

// breakDown ends a queue pair that was ready: it stops it, tells the peer why,
// and lets the owner know. It may be called from any goroutine.
func (q *QP) breakDown(reason error, why byte) bool {
	if !q.Fall(reason) {
		return false
	}
	q.stop()
	q.sendBye(why)
	q.noteBoth()
	return true
}

func (q *QP) noteBoth() {
	if q.State() == fabric.StateClosed { // nothing settles it any more
		return
	}
	q.send.Note(q.settle)
	if q.recv != q.send {
		q.recv.Note(q.settle)
	}
}

// Disconnect implements fabric.QP.
func (q *QP) Disconnect() error {
	q.breakDown(fmt.Errorf("fabric: queue pair %d was disconnected by this side: %w", q.num, fabric.ErrClosed), byeOver)
	return nil
}

// peerGone tells the queue pair that the other end is over.
func (q *QP) peerGone(reason error) {
	if q.Fall(reason) {
		q.stop()
		q.noteBoth()
	}
}

// checkUp looks for a queue pair that the adapter has broken in silence. One
// without requests in flight was broken by the peer; otherwise the owner has
// to find out.
func (q *QP) checkUp() {
	if q.State() != fabric.StateReady {
		return
	}
	known := q.stats.known.Load()
	q.hwMu.Lock()
	dead := q.hw != 0 && q.hw.inError()
	q.hwMu.Unlock()
	switch {
	case !dead:
	case q.stats.posted.Load() == known:
		q.brokenByPeer()
	case !q.suspect.Swap(true):
		q.noteBoth()
	}
}

// brokenByPeer is what a target knows of a request that it must not execute.
func (q *QP) brokenByPeer() {
	reason := fmt.Errorf("fabric: queue pair %d was broken by a request of the peer: %w", q.num, errGuess)
	q.breakDown(reason, byeFault)
}

// errGuess marks a reason that a better one may replace.
var errGuess = fmt.Errorf("the adapter does not say why: %w", fabric.ErrProtocol)

// findOut breaks a queue pair that the adapter has broken: for a failure that
// was not polled yet, or else because of the peer.
func (q *QP) findOut(cqs ...*CQ) {
	for _, c := range cqs {
		c.pull()
		for i := range c.stash {
			w := &c.stash[i]
			if w.status == wcOK || w.status == wcFlushed || c.find(uint32(w.id>>tagShift)) != q {
				continue
			}
			v := fabric.Completion{QPN: q.num, Op: fabric.OpRecv}
			why := byte(byeFault)
			if w.id&recvBit == 0 {
				slot := &q.sends[w.id&slotMask&q.sendMask]
				v.ID, v.Op, why = slot.id, slot.op, byeOver
				v.Status = q.sendStatus(w.status, slot.op)
			} else {
				v.Status = q.recvStatus(w.status)
			}
			q.foretold = true
			q.breakDown(v.Err(), why)
			return
		}
	}
	q.brokenByPeer()
}

// settle is the owner's part of breaking (I4).
func (q *QP) settle() {
	if q.settled || q.State() == fabric.StateClosed {
		return
	}
	if q.State() == fabric.StateReady {
		if q.suspect.Load() {
			q.findOut(q.send, q.recv)
		}
		return
	}
	q.settled = true
	q.stop()
	if q.owed != 0 {
		q.owed = 0
		q.flushFrom(q.recvRetired) // those that came back as well
	}
}

// failed handles a completion that is not a success: the first breaks the
// queue pair, later ones are flushes whatever the adapter calls them. other is
// where the queue pair's other completions go.
func (q *QP) failed(c *fabric.Completion, other *CQ) {
	ready := q.State() == fabric.StateReady
	if c.Status == fabric.StatusFlushed {
		if ready {
			q.flushedFirst(c.Op, other)
		}
		return
	}
	verdict := q.foretold || q.rnrOver || c.Status == fabric.StatusRemoteAccess ||
		c.Status == fabric.StatusRemoteInvalid || c.Status == fabric.StatusLocalLength
	if q.broken || !ready && !verdict {
		c.Status = fabric.StatusFlushed
		return
	}
	q.broken = true
	q.stats.errors.Add(1)
	why := byte(byeOver)
	if c.Op == fabric.OpRecv {
		why = byeFault
	}
	if !q.breakDown(c.Err(), why) {
		q.Explain(c.Err(), fabric.ErrDisconnected, errGuess) // which were because of the failure
	}
	q.settle()
}

// flushedFirst handles a flush without an earlier failure. The failure behind
// it may be in the other completion queue; on the same queue it would have
// come before.
func (q *QP) flushedFirst(op fabric.Op, other *CQ) {
	own := q.send
	if op == fabric.OpRecv {
		own = q.recv
	}
	if other != own {
		q.findOut(other)
	} else {
		q.brokenByPeer()
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
	if err := q.release(); err != nil {
		q.SetState(fabric.StateError)
		return err
	}
	q.send.empty(q, uint32(q.sendID>>tagShift))
	if q.recv != q.send {
		q.recv.empty(q, uint32(q.recvID>>tagShift))
	}
	q.forget()
	q.hangUp()
	return nil
}
