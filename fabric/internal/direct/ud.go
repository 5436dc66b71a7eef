package direct

import (
	"context"
	"fmt"
	"slices"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// NewUD implements fabric.Domain.
func (p *Domain) NewUD(cfg fabric.QPConfig) (fabric.QP, error) {
	if cfg.Transport != fabric.UD {
		return nil, fmt.Errorf("fabric: NewUD with transport %v: %w", cfg.Transport, fabric.ErrInvalid)
	}
	cfg.Domain = p
	q, err := NewQP(p.core, cfg)
	if err != nil {
		return nil, err
	}
	q.Start(nil)
	return q, nil
}

// NewAddressHandle implements fabric.Domain.
func (p *Domain) NewAddressHandle(ctx context.Context, addr []byte) (fabric.AddressHandle, error) {
	path, err := p.core.provider.GramOpen(ctx, addr)
	if err != nil {
		return nil, err
	}
	return newHandle(path), nil
}

// GramPath is the sender's end of a segment that it shares with a datagram
// queue pair.
type GramPath struct {
	Mem     []byte
	Wake    base.Waker // wakes the receiver
	Release func()
}

// handle is a destination for datagrams.
type handle struct {
	out    producer
	path   *GramPath
	closed bool
}

func newHandle(path *GramPath) *handle {
	h := &handle{path: path}
	h.out.ring = ringAt(path.Mem, 1)
	h.out.wake = path.Wake
	return h
}

// Close implements fabric.AddressHandle.
func (h *handle) Close() error {
	if h.closed {
		return fmt.Errorf("fabric: address handle: %w", fabric.ErrClosed)
	}
	h.closed = true
	h.path.Release()
	return nil
}

// sendGram puts a datagram into the ring of its destination, or drops it.
func (q *QP) sendGram(w *fabric.WR, inline []byte) outcome {
	h, ok := w.To.(*handle)
	n := w.Bytes()
	q.executed(fabric.OpSend, 1, n)
	if !ok || h.closed {
		q.stats.dropped.Add(1)
		return done_
	}
	need := entrySize + padded(n)
	if free, ok := h.out.space(need); !ok || free < need {
		q.stats.dropped.Add(1)
		return done_
	}
	e := entry{kind: kindGram, frag: uint32(n), total: uint32(n), imm: q.num}
	if w.Flags&fabric.FlagSolicited != 0 {
		e.flags = flagSolicited
	}
	first, second := h.out.append(&e)
	gather(first, w, inline, 0)
	gather(second, w, inline, len(first))
	_ = h.out.publish()
	q.send.meet(h.out.h)
	return done_
}

// GramRing is the receiver's end of a segment that a sender of datagrams
// shares.
type GramRing struct {
	src     source
	release func()
}

// noWaker is for producers that never sleep.
type noWaker struct{}

func (noWaker) Wake() {}

// AddGramRing lets datagrams come in through a segment of GramSegmentBytes.
// release is called when the ring is not used any more. It may be called from
// any goroutine.
func (q *QP) AddGramRing(mem []byte, release func()) *GramRing {
	g := &GramRing{release: release}
	g.src.qp = q
	g.src.ring = ringAt(mem, 1)
	g.src.wake = noWaker{}
	q.recv.note(func() {
		if q.released || q.State() != fabric.StateReady {
			release()
			return
		}
		q.gramRings = append(q.gramRings, g)
		q.recv.listen(&g.src)
	})
	return g
}

// RemoveGramRing ends a ring after taking what is in it. It may be called from
// any goroutine.
func (q *QP) RemoveGramRing(g *GramRing) {
	q.recv.note(func() {
		if slices.Contains(q.gramRings, g) {
			g.src.drain()
			q.dropRing(&g.src)
		}
	})
}

func (q *QP) dropRing(s *source) {
	for i, g := range q.gramRings {
		if &g.src == s {
			q.recv.unlisten(s)
			q.gramRings = slices.Delete(q.gramRings, i, i+1)
			g.release()
			return
		}
	}
}

func (q *QP) closeGrams() {
	for len(q.gramRings) != 0 {
		q.dropRing(&q.gramRings[0].src)
	}
}

// takeGram delivers a datagram to the next receive, or drops it. A sender that
// breaks the rules loses its ring; the queue pair and the other senders go on.
func (s *source) takeGram(e *entry, first, second []byte) bool {
	q := s.qp
	if e.kind != kindGram || e.frag != e.total || int(e.total) > q.core.limits.MTU {
		s.violated("a datagram in a sender's ring is malformed")
		return false
	}
	size := fabric.GRHSize + int(e.total)
	if q.recvTaken == q.recvPosted || q.slot(q.recvTaken).Size < size {
		q.stats.dropped.Add(1)
		return true
	}
	slot := q.slot(q.recvTaken)
	var grh [fabric.GRHSize]byte
	slot.Scatter(0, grh[:])
	slot.Scatter(fabric.GRHSize, first)
	slot.Scatter(fabric.GRHSize+len(first), second)
	q.received(int(e.total))
	q.complete(fabric.StatusOK, size).src = uint64(e.imm)
	return true
}

// Owns implements fabric.QP: datagrams stay on this host, and nothing tells whose an address is.
func (q *QP) Owns([]byte) error { return nil }

// Address implements fabric.QP.
func (q *QP) Address() []byte {
	if q.transport != fabric.UD {
		return nil
	}
	q.reach.Lock()
	defer q.reach.Unlock()
	if !q.named {
		q.named = true
		address, err := q.core.provider.GramAddress(q)
		if err != nil {
			q.PeerGone(err)
		}
		q.address = address
	}
	return q.address
}

// unreach takes the address back; no other is made from now on.
func (q *QP) unreach() {
	q.reach.Lock()
	defer q.reach.Unlock()
	if q.named {
		q.core.provider.GramClosed(q)
	}
	q.named = true
}
