package direct

import (
	"slices"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// done is a completion with what its polling frees: the places up to retire in
// the send or receive queue of qp. It is packed into words because it is read
// soon after it was written, and a processor forwards a store only to a load
// that it covers.
type done struct {
	qp       *QP
	retire   uint64
	id       uint64
	bytesImm uint64 // bytes, imm << 32
	src      uint64 // the sender of a datagram
	kind     uint64 // op, status << 8, has imm << 16
}

func (d *done) unpack(c *fabric.Completion) {
	c.ID = d.id
	c.Bytes, c.Imm = uint32(d.bytesImm), uint32(d.bytesImm>>32)
	c.QPN, c.SrcQPN = d.qp.num, uint32(d.src)
	c.Op, c.Status, c.HasImm = fabric.Op(d.kind), fabric.Status(d.kind>>8), d.kind>>16 != 0
}

// CQ is a completion queue of this process.
type CQ struct {
	core *Core

	// ring[head&mask:tail&mask] are the completions not yet polled.
	ring       []done
	mask       uint64
	head, tail uint64

	// listening are sources of receives that may have something (I2); the
	// first hotSources are looked at on every poll, the others in turn.
	listening []*source
	cursor    int
	// backlogged are queue pairs with requests that could not execute yet.
	backlogged []*QP

	// grown counts sources and backlogs that came; see Waiter.sleep.
	grown uint64

	places
	base.Notes
	base.Places // behind what every poll reads
}

// NewCQ implements fabric.Device.
func (d *Core) NewCQ(depth int) (fabric.CQ, error) {
	c := &CQ{core: d}
	if err := c.Init(depth, &d.limits); err != nil {
		return nil, err
	}
	if err := d.Open(); err != nil {
		return nil, err
	}
	var err error
	if c.Pipe, err = base.NewWakePipe(); err != nil {
		return nil, err
	}
	n := base.CeilPow2(depth)
	c.ring, c.mask = make([]done, n), uint64(n-1)
	return c, nil
}

// Close implements fabric.CQ.
func (c *CQ) Close() error {
	if err := c.Places.Close(); err != nil {
		return err
	}
	for _, f := range c.CloseNotes() {
		f()
	}
	return nil
}

// push appends a completion; there is room (I5).
func (c *CQ) push(q *QP, retire, id uint64, op fabric.Op, st fabric.Status, n int) *done {
	d := &c.ring[c.tail&c.mask]
	c.tail++
	d.qp, d.retire, d.id = q, retire, id
	d.bytesImm, d.src, d.kind = uint64(uint32(n)), 0, uint64(op)|uint64(st)<<8
	return d
}

// note has the owner call f on its next poll, and wakes it.
func (c *CQ) note(f func()) {
	if !c.Note(f) {
		f() // its queue pair is closed, so all it can do is to give back
	}
}

// discard removes the completions of a queue pair that is being closed.
func (c *CQ) discard(q *QP) {
	c.tail = base.Discard(c.ring, c.head, c.tail, func(d *done) bool { return d.qp == q })
}

// hotSources are looked at on every poll.
const hotSources = 8

// coldSources is how many of the others are looked at on each poll.
const coldSources = 16

func (c *CQ) listen(s *source) {
	if !s.listed {
		s.listed = true
		c.grown++
		c.listening = append(c.listening, s)
	}
}

func (c *CQ) unlisten(s *source) {
	if s.listed {
		s.listed = false
		i := slices.Index(c.listening, s)
		c.listening = slices.Delete(c.listening, i, i+1)
	}
}
