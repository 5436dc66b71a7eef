//go:build rdma

package verbs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
)

// NewUD implements fabric.Domain.
func (p *Domain) NewUD(cfg fabric.QPConfig) (fabric.QP, error) {
	if cfg.Transport != fabric.UD {
		return nil, fmt.Errorf("fabric: NewUD with transport %v: %w", cfg.Transport, fabric.ErrInvalid)
	}
	cfg.Domain = p
	q, err := p.dev.newQP(cfg)
	if err != nil {
		return nil, err
	}
	// Keys with the highest bit are not for programs.
	q.qkey = rand.Uint32() >> 1
	if err := q.startGrams(); err != nil {
		q.abandon()
		return nil, fmt.Errorf("fabric: datagram queue pair: %w", err)
	}
	p.dev.mu.Lock()
	port := p.dev.openTallies().port()
	p.dev.mu.Unlock()
	c := &p.dev.adapter.Load().choice
	addr := gramAddress{
		ethernet: c.Ethernet, lid: p.dev.adapter.Load().port.lid, qpn: q.num, qkey: q.qkey, tally: port,
		gid: c.GID.Addr.As16(),
	}
	q.address = addr.encode()
	return q, nil
}

// startGrams makes a new or reset queue pair ready.
func (q *QP) startGrams() error {
	if err := q.toInit(); err != nil {
		return err
	}
	if err := q.hw.toReceive(fabric.UD, &hwPath{}, 0, 0); err != nil {
		return err
	}
	return q.hw.toSend(fabric.UD, 0, 0, reliability{})
}

// handle is a destination for datagrams.
type handle struct {
	domain *Domain
	dest   uint64 // number and key of the queue pair, as work requests have them
	sent   atomic.Uint64
	number uint64         // names the handle in tallies
	owner  netip.AddrPort // where the owner of the queue pair takes tallies

	mu     sync.Mutex
	hw     hwAH // 0 when released
	closed bool
}

// NewAddressHandle implements fabric.Domain.
func (p *Domain) NewAddressHandle(_ context.Context, addr []byte) (fabric.AddressHandle, error) {
	a, err := decodeGramAddress(addr)
	if err != nil {
		return nil, err
	}
	d := p.dev
	if a.ethernet != d.adapter.Load().choice.Ethernet {
		return nil, fmt.Errorf("fabric: verbs: a datagram cannot go from %s to another link layer: %w",
			d.Name(), fabric.ErrInvalid)
	}
	path := d.adapter.Load().path(a.gid, a.lid)
	// The adapter may look for the peer on the network for seconds, in which
	// the device's own lock is not held.
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.hw == 0 {
		return nil, p.errClosed()
	}
	hw, err := p.hw.newAH(&path)
	if err != nil {
		return nil, fmt.Errorf("fabric: verbs: address handle: %w", err)
	}
	h := &handle{domain: p, dest: uint64(a.qpn) | uint64(a.qkey)<<32, hw: hw}
	if a.tally != 0 && a.ethernet {
		h.owner = netip.AddrPortFrom(netip.AddrFrom16(a.gid).Unmap(), a.tally)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.closed || d.closed {
		_ = h.release()
		return nil, p.errClosed()
	}
	p.handles[h] = struct{}{}
	h.number = rand.Uint64()
	d.handles[h.number] = h
	for range tallyGreetings {
		d.openTallies().send(h.tally(), h.owner)
	}
	return h, nil
}

// path returns how the port reaches another.
func (a *adapter) path(gid [16]byte, lid uint16) hwPath {
	p := hwPath{
		gid: gid, lid: lid, sgid: a.choice.GID.Index, port: a.choice.Port, mtu: a.port.mtu,
		sl: a.tuning.SL.Or(0), tclass: a.tuning.TClass.Or(0),
	}
	own := a.choice.GID.Addr.As16()
	// On InfiniBand a global route is needed only between subnets.
	p.global = a.port.ethernet || [8]byte(own[:8]) != [8]byte(gid[:8])
	if a.port.ethernet {
		p.lid = 0
	}
	return p
}

// Close implements fabric.AddressHandle.
func (h *handle) Close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return fmt.Errorf("fabric: address handle: %w", fabric.ErrClosed)
	}
	h.closed = true
	h.mu.Unlock()
	err := h.release()
	d := h.domain.dev
	d.mu.Lock()
	d.tallies.send(h.tally(), h.owner)
	delete(h.domain.handles, h)
	delete(d.handles, h.number)
	d.mu.Unlock()
	return err
}

func (h *handle) release() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hw == 0 {
		return nil
	}
	err := h.hw.close()
	h.hw = 0
	return err
}

// shadowRecv is a receive as it was given to the adapter.
type shadowRecv struct {
	n    int32
	segs [wantSegs]sge
}

func (s *shadowRecv) copy(d *staging, i int) {
	s.n = d.recv[i].segs
	copy(s.segs[:s.n], d.segs[i*d.most:])
}

// survives takes the failed receives of a datagram queue pair that the adapter
// broke over a datagram larger than its receive: such a datagram is dropped (G9),
// and the receives stay in their order. When the adapter has given back all that
// it had, the queue pair is revived: not before, because Soft-RoCE may still be at
// work on a queue pair whose first failure has been polled, and does not bear to be
// reset meanwhile. It reports whether the completion was one of those.
func (q *QP) survives(status uint32) bool {
	if q.owed == 0 {
		overlong := status == wcLocLen || status == wcLocQPOp || status == wcRemInvalid
		if !overlong || q.settled || q.State() != fabric.StateReady {
			return false
		}
		q.owed = q.recvHanded - q.recvRetired
	}
	if q.owed--; q.owed == 0 {
		q.revive()
	}
	return true
}

// revive makes a datagram queue pair work again that has been flushed.
func (q *QP) revive() {
	reset, err := q.restart()
	if reset {
		q.stats.overlong.Add(1)
		q.loseSends()
	}
	if reset && err == nil {
		err = q.repost()
	} else {
		q.flushFrom(q.recvRetired)
	}
	if err != nil {
		q.breakDown(fmt.Errorf("fabric: queue pair %d could not be reset: %w: %w", q.num, err, fabric.ErrCompletion), byeOver)
	}
}

// restart resets the adapter's part of a queue pair that is ready, and starts
// it again. A queue pair that has been reset knows nothing of what was posted.
func (q *QP) restart() (reset bool, err error) {
	q.hwMu.Lock()
	defer q.hwMu.Unlock()
	if q.State() != fabric.StateReady {
		return false, nil // it has fallen meanwhile
	}
	if err := q.hw.to(stateReset); err != nil {
		return false, err
	}
	// Completions that the adapter has made of what was posted are stale under
	// the new tags.
	q.leaveCQs()
	if err := q.joinCQs(); err != nil {
		return true, err
	}
	return true, q.startGrams()
}

// flushFrom flushes the receives from a slot on here: the adapter does not
// have them.
func (q *QP) flushFrom(slot uint64) {
	q.recvHanded = slot
	if !q.isLate {
		q.isLate = true
		q.recv.late = append(q.recv.late, q)
	}
}

// loseSends completes the datagrams that the adapter forgot: they are gone,
// as datagrams may be.
func (q *QP) loseSends() {
	for slot := q.sendKnown; slot != q.sendPosted; slot++ {
		q.stats.dropped.Add(1)
		if q.sends[slot&q.sendMask].flags&fabric.FlagSignaled != 0 {
			q.send.soft = append(q.send.soft, softDone{q: q, slot: slot})
		}
	}
}

// repost gives the adapter the receives again that it had.
func (q *QP) repost() error {
	d := q.recv.staging
	for slot := q.recvRetired; slot != q.recvHanded; {
		n := 0
		for ; n < chainMax && slot != q.recvHanded; n++ {
			s := &q.shadow[slot&q.recvMask]
			d.recv[n].id = q.recvID | slot&slotMask
			d.recv[n].segs = s.n
			copy(d.segs[n*d.most:], s.segs[:s.n])
			slot++
		}
		if posted, errno := q.hw.postRecv(d, n); errno != 0 {
			q.flushFrom(slot - uint64(n-posted))
			return errno
		}
	}
	return nil
}
