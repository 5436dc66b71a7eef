package tcp

import (
	"fmt"
	"sync"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// sendSlot is a work request in the send queue.
type sendSlot struct {
	id     uint64
	local  fabric.Seg
	more   []fabric.Seg // reused
	data   []byte       // reused; the data of an inline request that had to wait
	remote fabric.Remote
	// Of atomics.
	compare, operand uint64
	bytes            uint32
	imm              uint32
	// first and last are the sequence numbers of its frames; last is valid
	// when all of them are written.
	first, last uint32
	op          fabric.Op
	flags       fabric.Flags
	held        bool // data is valid and local is no longer used
}

// queues is what all queue pairs have: the send queue and the receive queue,
// as numbers of requests ever posted, begun, done and freed. The places from
// freed to posted are occupied (G10, G12).
type queues struct {
	dev       *Device
	num       uint32
	transport fabric.Transport
	domain    *domain
	sendCQ    *cq
	recvCQ    *cq
	rnr       time.Duration
	limits    fabric.Limits // of its requests
	member    member
	stats     stats
	base.Life

	sendDepth, recvDepth uint32
	// sendFreed and recvFreed are of the owner.
	sendFreed, recvFreed uint32

	mu                             sync.Mutex // guards the rest
	sends                          []sendSlot
	sendPosted, sendNext, sendDone uint32
	recvs                          []base.Recv
	recvPosted, recvDone           uint32
}

func (q *queues) send(i uint32) *sendSlot  { return &q.sends[i&uint32(len(q.sends)-1)] }
func (q *queues) recv(i uint32) *base.Recv { return &q.recvs[i&uint32(len(q.recvs)-1)] }

// setup checks cfg and gives q its places and its number.
func (q *queues) setup(d *Device, cfg *fabric.QPConfig, m member) error {
	send, recv, dom, err := base.QPParts(cfg, &d.limits, d.name, func(send, recv *cq, dom *domain) bool {
		return send.dev == d && recv.dev == d && dom.dev == d
	})
	if err != nil {
		return err
	}
	q.dev, q.transport, q.domain, q.member = d, cfg.Transport, dom, m
	q.sendCQ, q.recvCQ, q.rnr = send, recv, cfg.RNRTimeout
	q.limits = cfg.Limits(d.limits)
	q.Begin()
	q.sendDepth, q.recvDepth = uint32(cfg.SendDepth), uint32(cfg.RecvDepth)
	q.sends = make([]sendSlot, base.CeilPow2(cfg.SendDepth))
	q.recvs = make([]base.Recv, base.CeilPow2(cfg.RecvDepth))
	if err := send.Reserve(cfg.SendDepth, &recv.Places, cfg.RecvDepth); err != nil {
		return err
	}
	if err := d.admit(q); err != nil {
		send.Release(cfg.SendDepth, &recv.Places, cfg.RecvDepth)
		return err
	}
	send.follow(recv.port)
	return nil
}

// admit gives a queue pair its number: the index in the table, and above it
// how many were made before.
func (d *Device) admit(q *queues) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || q.domain.contents.Closed {
		return d.errClosed()
	}
	d.created++
	_, err := d.qps.add(func(i uint16) *queues {
		q.num = d.created<<tableBits | uint32(i)
		return q
	})
	if err != nil {
		return fmt.Errorf("fabric: device %s: queue pairs: %w: %w", d.name, err, fabric.ErrInvalid)
	}
	q.domain.contents.QPs++
	return nil
}

// forget undoes setup.
func (q *queues) forget() {
	q.sendCQ.discard(q)
	q.recvCQ.discard(q)
	q.sendCQ.Release(int(q.sendDepth), &q.recvCQ.Places, int(q.recvDepth))
	d := q.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	c := q.stats.snapshot()
	d.gone.Add(&c)
	d.qps.drop(uint16(q.num))
	q.domain.contents.QPs--
}

// Num implements fabric.QP.
func (q *queues) Num() uint32 { return q.num }

// Transport implements fabric.QP.
func (q *queues) Transport() fabric.Transport { return q.transport }

// completeSend ends the oldest request that is not done. With success only a
// signaled one is reported (G10).
func (q *queues) completeSend(st fabric.Status) {
	s := q.send(q.sendDone)
	q.sendDone++
	switch {
	case st == fabric.StatusOK:
		q.stats.sent(s.op, s.bytes)
		if s.flags&fabric.FlagSignaled == 0 {
			return
		}
	case st != fabric.StatusFlushed:
		q.stats.errors.Add(1)
	}
	e := entry{q: q, upto: q.sendDone, c: fabric.Completion{
		ID: s.id, Bytes: s.bytes, QPN: q.num, Op: s.op, Status: st,
	}}
	q.sendCQ.push(&e, st != fabric.StatusOK)
}

// completeRecv ends the oldest posted receive as c says; ID, QPN and Op are
// filled in.
func (q *queues) completeRecv(c *fabric.Completion, solicited bool) {
	r := q.recv(q.recvDone)
	q.recvDone++
	if c.Status != fabric.StatusOK && c.Status != fabric.StatusFlushed {
		q.stats.errors.Add(1)
	}
	e := entry{q: q, upto: q.recvDone, c: *c}
	e.c.ID, e.c.QPN, e.c.Op = r.ID, q.num, fabric.OpRecv
	q.recvCQ.push(&e, solicited || c.Status != fabric.StatusOK)
}

// flush ends every request and receive that is outstanding (G11). send and recv
// are the statuses of the oldest ones; 0 means flushed, as the others are.
func (q *queues) flush(send, recv fabric.Status) {
	for q.sendDone != q.sendPosted {
		q.completeSend(orFlushed(send))
		send = fabric.StatusFlushed
	}
	q.sendNext = q.sendPosted
	for q.recvDone != q.recvPosted {
		c := fabric.Completion{Status: orFlushed(recv)}
		q.completeRecv(&c, false)
		recv = fabric.StatusFlushed
	}
}

func orFlushed(st fabric.Status) fabric.Status {
	if st == fabric.StatusOK {
		return fabric.StatusFlushed
	}
	return st
}

// wake tells sleeping owners that the state has changed (G17), after everything
// was flushed.
func (q *queues) wake() {
	q.sendCQ.wake()
	q.recvCQ.wake()
}

func (q *queues) errDisconnected() error {
	return fmt.Errorf("fabric: queue pair %d was disconnected by this side: %w", q.num, fabric.ErrClosed)
}
