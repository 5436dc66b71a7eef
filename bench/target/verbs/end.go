package verbs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/fabric"
)

// lane is one end of one queue pair, with its memory.
type lane struct {
	index  int // among the lanes of its end
	qp     fabric.QP
	mail   fabric.QP      // carries the replies, when they have a transport of their own
	shared *fabric.Region // what the peer reads or writes; nil when it does not
	local  *fabric.Region // what is sent from and received into
	remote fabric.Remote  // the peer's shared region
	to     fabric.AddressHandle
}

// post is the queue pair that replies travel over.
func (l *lane) post() fabric.QP {
	if l.mail != nil {
		return l.mail
	}
	return l.qp
}

// aim is the destination of messages over qp; none where it is connected.
func (l *lane) aim(qp fabric.QP) fabric.AddressHandle {
	if qp.Transport() == fabric.UD {
		return l.to
	}
	return nil
}

// end is what one thread owns (T1): a completion queue, a waiter over it, and
// the lanes that report there.
type end struct {
	dev    fabric.Device
	domain fabric.Domain
	cq     fabric.CQ
	waiter fabric.Waiter
	lanes  []*lane
	crowd  fabric.QP // of all lanes, when they share one for datagrams
	shape  shape
	slots  slots
	comps  []fabric.Completion
	// doze is called when the waiter is about to sleep; programs that poll
	// memory set it.
	doze func()
}

// pollBatch is how many completions are taken at once.
const pollBatch = 64

// newEnd makes an end with n lanes, not yet connected.
func newEnd(dev fabric.Device, c *Case, r role, n int) (_ *end, err error) {
	e := &end{dev: dev, shape: shapeOf(c, r), slots: newSlots(c.Size), comps: make([]fabric.Completion, pollBatch)}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.close())
		}
	}()
	if e.domain, err = dev.NewDomain(); err != nil {
		return nil, err
	}
	queuePairs := n
	if c.mails() {
		queuePairs *= 2
	}
	if e.cq, err = dev.NewCQ(queuePairs * (e.shape.sendDepth + max(e.shape.recvs, 1))); err != nil {
		return nil, err
	}
	e.waiter, err = dev.NewWaiter(fabric.WaitConfig{
		Policy: c.Poll, CQs: []fabric.CQ{e.cq},
		BeforeSleep: func() {
			if e.doze != nil {
				e.doze()
			}
		},
		AfterSleep: func() {},
	})
	if err != nil {
		return nil, err
	}
	for i := range n {
		if err := e.addLane(i); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (e *end) addLane(index int) (err error) {
	l := &lane{index: index}
	e.lanes = append(e.lanes, l)
	if e.shape.access != 0 {
		if l.shared, err = e.domain.Alloc("verbs shared", e.slots.bytes(e.shape.shared), e.shape.access); err != nil {
			return err
		}
		fillPattern(e, l.shared)
	}
	l.local, err = e.domain.Alloc("verbs local", e.localBytes(), 0)
	if err != nil {
		return err
	}
	fillPattern(e, l.local)
	return nil
}

// localBytes is the size of the local region: what is sent, then what is
// received, each behind room for a datagram's header.
func (e *end) localBytes() int {
	return e.slots.bytes(e.shape.ring) + e.shape.recvs*e.recvStride()
}

func (e *end) recvStride() int { return roundUp(e.slots.size, line) + line }

// recvSeg is where receive i goes. The message is right-aligned behind the
// header of a datagram.
func (e *end) recvSeg(l *lane, i int) fabric.Seg {
	room := e.slots.size
	if l.post().Transport() == fabric.UD {
		room += fabric.GRHSize
	}
	finish := e.slots.bytes(e.shape.ring) + (i+1)*e.recvStride()
	return l.local.Seg(finish-room, room)
}

// messageSeg is the message in receive i, without a header.
func (e *end) messageSeg(l *lane, i int) fabric.Seg {
	finish := e.slots.bytes(e.shape.ring) + (i+1)*e.recvStride()
	return l.local.Seg(finish-e.slots.size, e.slots.size)
}

// qpConfig describes the queue pair of every lane of this end.
func (e *end) qpConfig(c *Case) fabric.QPConfig {
	return fabric.QPConfig{
		Transport: c.Transport, Domain: e.domain, SendCQ: e.cq, RecvCQ: e.cq,
		SendDepth: e.shape.sendDepth, RecvDepth: max(e.shape.recvs, 1), RNRTimeout: fabric.RNRForever,
	}
}

// datagramConfig describes a queue pair for datagrams that serves n lanes.
func (e *end) datagramConfig(c *Case, n int) fabric.QPConfig {
	q := e.qpConfig(c)
	q.Transport = fabric.UD
	q.SendDepth *= n
	q.RecvDepth *= n
	return q
}

// makeDatagram makes the queue pair for datagrams of lane l.
func (e *end) makeDatagram(c *Case, l *lane) (qp fabric.QP, err error) {
	if qp, err = e.datagram(c); err != nil {
		return nil, err
	}
	if c.mails() {
		l.mail = qp
	} else {
		l.qp = qp
	}
	return qp, nil
}

// datagram is a new queue pair for datagrams, or the one that all lanes share.
func (e *end) datagram(c *Case) (fabric.QP, error) {
	if e.crowd != nil {
		return e.crowd, nil
	}
	if !c.crowded() {
		return e.domain.NewUD(e.datagramConfig(c, 1))
	}
	qp, err := e.domain.NewUD(e.datagramConfig(c, len(e.lanes)))
	if err == nil {
		e.crowd = qp
	}
	return qp, err
}

// close releases everything, lanes first (T4).
func (e *end) close() error {
	var errs []error
	add := func(err error) { errs = append(errs, err) }
	for _, l := range e.lanes {
		for _, qp := range []fabric.QP{l.qp, l.mail} {
			if qp != e.crowd {
				add(bench.Close(qp))
			}
		}
		add(bench.Close(l.to))
		add(bench.Close(l.shared))
		add(bench.Close(l.local))
	}
	return errors.Join(append(errs, bench.Close(e.crowd), bench.Close(e.waiter), bench.Close(e.cq), bench.Close(e.domain))...)
}

// The private data of a connection, both ways: magic u32, number of the lane
// u32, address u64 and key u32 of the shared region, little-endian.
const (
	privateMagic = 0x46504D52 // "RMPF"
	privateSize  = 20
)

func (l *lane) private(id int) []byte {
	b := make([]byte, privateSize)
	binary.LittleEndian.PutUint32(b, privateMagic)
	binary.LittleEndian.PutUint32(b[4:], uint32(id))
	if l.shared != nil {
		binary.LittleEndian.PutUint64(b[8:], l.shared.Remote().Addr)
		binary.LittleEndian.PutUint32(b[16:], l.shared.Remote().Key)
	}
	return b
}

func parsePrivate(b []byte) (id int, r fabric.Remote, err error) {
	if len(b) < privateSize || binary.LittleEndian.Uint32(b) != privateMagic {
		return 0, r, fmt.Errorf("the peer is not remora bench verbs of this version: private data of %d bytes", len(b))
	}
	r = fabric.Remote{Addr: binary.LittleEndian.Uint64(b[8:]), Key: binary.LittleEndian.Uint32(b[16:])}
	return int(binary.LittleEndian.Uint32(b[4:])), r, nil
}

// dial connects lane l, which is number id of all, to the server.
func (e *end) dial(ctx context.Context, c *Case, l *lane, id int, addr fabric.Addr) error {
	qp, err := e.dev.Dial(ctx, addr, e.qpConfig(c), l.private(id))
	if err != nil {
		return fmt.Errorf("connecting to %v: %w", addr, err)
	}
	l.qp = qp
	_, l.remote, err = parsePrivate(qp.PeerPrivate())
	return err
}

// accept connects lane l to the client that asked.
func (e *end) accept(ctx context.Context, c *Case, l *lane, id int, from fabric.ConnRequest, remote fabric.Remote) error {
	qp, err := from.Accept(ctx, e.qpConfig(c), l.private(id))
	if err != nil {
		return fmt.Errorf("accepting a connection: %w", err)
	}
	l.qp, l.remote = qp, remote
	return nil
}
