package fabrictest

import (
	"context"
	"fmt"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// owner is one goroutine's part of a device (T1): completion queues and the
// queue pairs on them. Cases that run in one goroutine own all owners.
type owner struct {
	t    *trial
	dev  fabric.Device
	dom  fabric.Domain
	cqs  []fabric.CQ
	ends map[uint32]*end
	buf  [32]fabric.Completion
}

// owner makes an owner with one completion queue of the given depth, or with
// one for sends and one for receives.
func (t *trial) owner(dev fabric.Device, dom fabric.Domain, depth int, split bool) *owner {
	t.Helper()
	o := &owner{t: t, dev: dev, dom: dom, ends: map[uint32]*end{}}
	o.cqs = append(o.cqs, t.cq(dev, depth))
	if split {
		o.cqs = append(o.cqs, t.cq(dev, depth))
	}
	return o
}

func (o *owner) sendCQ() fabric.CQ { return o.cqs[0] }
func (o *owner) recvCQ() fabric.CQ { return o.cqs[len(o.cqs)-1] }

// poll moves completions from the queues to the ends they belong to and
// returns how many.
func (o *owner) poll() int {
	total := 0
	for _, cq := range o.cqs {
		n := cq.Poll(o.buf[:])
		total += n
		for i := range o.buf[:n] {
			c := o.buf[i]
			e := o.ends[c.QPN]
			if e == nil {
				o.t.Fatalf("completion %+v of a queue pair that is not on this completion queue", c)
			}
			if c.Op == fabric.OpRecv {
				e.received = append(e.received, c)
			} else {
				e.sent = append(e.sent, c)
			}
		}
	}
	return total
}

// end is a queue pair with its completions that were polled and not yet looked
// at, and a region.
type end struct {
	*owner
	qp             fabric.QP
	cfg            fabric.QPConfig
	sent, received []fabric.Completion
	mem            *mem
	lastID         uint64
	// to is the other end of a pair of datagram queue pairs.
	to fabric.AddressHandle
}

// head is what lies in front of a received message.
func (e *end) head() int {
	if e.cfg.Transport == fabric.UD {
		return fabric.GRHSize
	}
	return 0
}

// add makes the owner see completions of a queue pair.
func (o *owner) add(qp fabric.QP, cfg fabric.QPConfig, m *mem) *end {
	e := &end{owner: o, qp: qp, cfg: cfg, mem: m}
	o.ends[qp.Num()] = e
	o.t.keep(&o.t.qps, "QP", o.dev == o.t.world.B, qp.Close)
	if qp.Transport() != cfg.Transport {
		o.t.Fatalf("the queue pair is %v, not %v", qp.Transport(), cfg.Transport)
	}
	return e
}

// id returns the next request ID: unique in the case.
func (e *end) id() uint64 {
	e.lastID++
	return uint64(e.qp.Num())<<32 | e.lastID
}

// The makers of work requests. All are signaled.

func (e *end) sendFrom(off, n int) fabric.WR {
	return fabric.WR{ID: e.id(), Op: fabric.OpSend, Local: e.mem.Seg(off, n), Flags: fabric.FlagSignaled, To: e.to}
}

// recvAt takes a message of n bytes; on datagrams the header comes in addition.
func (e *end) recvAt(off, n int) fabric.RecvWR {
	return fabric.RecvWR{ID: e.id(), Local: e.mem.Seg(off, e.head()+n)}
}

func (e *end) writeTo(to fabric.Remote, off, n int) fabric.WR {
	return fabric.WR{ID: e.id(), Op: fabric.OpWrite, Local: e.mem.Seg(off, n), Remote: to, Flags: fabric.FlagSignaled}
}

func (e *end) writeImmTo(to fabric.Remote, off, n int, imm uint32) fabric.WR {
	w := e.writeTo(to, off, n)
	w.Op, w.Imm = fabric.OpWriteImm, imm
	return w
}

func (e *end) readFrom(from fabric.Remote, off, n int) fabric.WR {
	w := e.writeTo(from, off, n)
	w.Op = fabric.OpRead
	return w
}

func (e *end) fetchAdd(at fabric.Remote, off int, operand uint64) fabric.WR {
	w := e.writeTo(at, off, 8)
	w.Op, w.Operand = fabric.OpFetchAdd, operand
	return w
}

func (e *end) cmpSwap(at fabric.Remote, off int, compare, operand uint64) fabric.WR {
	w := e.fetchAdd(at, off, operand)
	w.Op, w.Compare = fabric.OpCmpSwap, compare
	return w
}

// unsignaled takes the signal flag away.
func unsignaled(w fabric.WR) fabric.WR {
	w.Flags &^= fabric.FlagSignaled
	return w
}

// inline sets the inline flag.
func inline(w fabric.WR) fabric.WR {
	w.Flags |= fabric.FlagInline
	return w
}

// post posts a chain, all of which must be taken.
func (e *end) post(wrs ...fabric.WR) {
	e.t.Helper()
	n, err := e.qp.Post(wrs)
	e.t.must("Post", err)
	if n != len(wrs) {
		e.t.Fatalf("Post took %d of %d requests without an error", n, len(wrs))
	}
}

// postRecv posts receives, all of which must be taken.
func (e *end) postRecv(wrs ...fabric.RecvWR) {
	e.t.Helper()
	n, err := e.qp.PostRecv(wrs)
	e.t.must("PostRecv", err)
	if n != len(wrs) {
		e.t.Fatalf("PostRecv took %d of %d receives without an error", n, len(wrs))
	}
}

// pair are the two ends of a connection: b dialed, a accepted.
type pair struct {
	t    *trial
	a, b *end
	last pattern
}

// next returns a pattern that was not used before on this pair.
func (p *pair) next() pattern {
	p.last++
	return p.last
}

// pairConfig describes a pair. Zero values are made sensible.
type pairConfig struct {
	tr        fabric.Transport
	sendDepth int           // 64
	recvDepth int           // 64
	rnr       time.Duration // of both ends
	noWait    bool          // rnr is 0 and not RNRForever
	split     bool          // separate completion queues
	size      int           // of each end's region: 64 KiB
	access    fabric.Access // of both regions: everything
	segs      int           // QPConfig.MaxSegs
	inline    int           // QPConfig.MaxInline
}

func (c pairConfig) withDefaults() pairConfig {
	if c.sendDepth == 0 {
		c.sendDepth = 64
	}
	if c.recvDepth == 0 {
		c.recvDepth = 64
	}
	if c.rnr == 0 && !c.noWait {
		c.rnr = fabric.RNRForever
	}
	if c.size == 0 {
		c.size = 64 << 10
	}
	if c.access == 0 {
		c.access = everything
	}
	return c
}

// config returns the queue pair's configuration on an owner.
func (c pairConfig) config(o *owner) fabric.QPConfig {
	return fabric.QPConfig{
		Transport: c.tr, Domain: o.dom, SendCQ: o.sendCQ(), RecvCQ: o.recvCQ(),
		SendDepth: c.sendDepth, RecvDepth: c.recvDepth, RNRTimeout: c.rnr, MaxSegs: c.segs, MaxInline: c.inline,
	}
}

// pair connects B to A on owners of their own.
func (t *trial) pair(c pairConfig) *pair {
	t.Helper()
	c = c.withDefaults()
	depth := c.sendDepth + c.recvDepth
	return t.connect(
		t.owner(t.world.A, t.domain(t.world.A), depth, c.split),
		t.owner(t.world.B, t.domain(t.world.B), depth, c.split), c)
}

// connect connects b to a.
func (t *trial) connect(a, b *owner, c pairConfig) *pair {
	t.Helper()
	c = c.withDefaults()
	ma := t.mem(a.dom, c.size, c.access)
	mb := t.mem(b.dom, c.size, c.access)
	ma.shared, mb.shared = c.tr != fabric.RC, c.tr != fabric.RC
	if c.tr == fabric.UD {
		p := &pair{t: t, a: t.datagram(a, c, ma), b: t.datagram(b, c, mb)}
		p.a.to, p.b.to = t.handle(a, p.b.qp.Address()), t.handle(b, p.a.qp.Address())
		return p
	}
	qa, qb := t.handshake(a, b, c)
	return &pair{t: t, a: a.add(qa, c.config(a), ma), b: b.add(qb, c.config(b), mb)}
}

// datagram makes a datagram queue pair. The domain in its configuration is not looked
// at, so there is none.
func (t *trial) datagram(o *owner, c pairConfig, m *mem) *end {
	t.Helper()
	cfg := c.config(o)
	cfg.Domain = nil
	qp, err := o.dom.NewUD(cfg)
	t.must("NewUD", err)
	return o.add(qp, c.config(o), m)
}

// handle makes a destination for datagrams.
func (t *trial) handle(o *owner, addr []byte) fabric.AddressHandle {
	t.Helper()
	h, err := o.dom.NewAddressHandle(t.ctx(), addr)
	t.must("NewAddressHandle", err)
	t.keep(&t.handles, "AddressHandle", o.dev == t.world.B, h.Close)
	return h
}

// handshake makes the two queue pairs.
func (t *trial) handshake(a, b *owner, c pairConfig) (qa, qb fabric.QP) {
	t.Helper()
	t.connecting.Lock()
	defer t.connecting.Unlock()
	l := t.listener()
	ctx, cancel := context.WithTimeout(context.Background(), t.patience())
	defer cancel()
	type answer struct {
		qp  fabric.QP
		err error
	}
	accepted := make(chan answer, 1)
	go func() {
		req, err := l.Accept(ctx)
		if err != nil {
			accepted <- answer{err: fmt.Errorf("Listener.Accept: %w", err)}
			return
		}
		qp, err := req.Accept(ctx, c.config(a), nil)
		accepted <- answer{qp, err}
	}()
	qb, err := b.dev.Dial(ctx, l.Addr(), c.config(b), nil)
	if err != nil {
		cancel()
	}
	ans := <-accepted
	t.must("Dial", err)
	t.must("Accept", ans.err)
	return ans.qp, qb
}

// await drives both ends until cond holds.
func (p *pair) await(what string, cond func() bool) {
	p.t.Helper()
	p.t.await(what, cond, p.a.owner, p.b.owner)
}

// sends drives both ends until e has n completions of its send queue, and
// takes them. All must be good.
func (p *pair) sends(e *end, n int) []fabric.Completion {
	p.t.Helper()
	p.await(fmt.Sprintf("%d completions of the send queue", n), func() bool { return len(e.sent) >= n })
	return e.takeSent(n)
}

// recvs is sends for receives.
func (p *pair) recvs(e *end, n int) []fabric.Completion {
	p.t.Helper()
	p.await(fmt.Sprintf("%d receives", n), func() bool { return len(e.received) >= n })
	return e.takeReceived(n)
}

func (e *end) takeSent(n int) []fabric.Completion {
	e.t.Helper()
	cs := e.sent[:n:n]
	e.sent = e.sent[n:]
	e.mustOK(cs)
	return cs
}

func (e *end) takeReceived(n int) []fabric.Completion {
	e.t.Helper()
	cs := e.received[:n:n]
	e.received = e.received[n:]
	e.mustOK(cs)
	return cs
}

func (e *end) mustOK(cs []fabric.Completion) {
	e.t.Helper()
	for i := range cs {
		if cs[i].Status != fabric.StatusOK {
			e.t.Fatalf("%v failed: %v", cs[i].Op, cs[i].Err())
		}
		if cs[i].QPN != e.qp.Num() {
			e.t.Fatalf("completion %+v is not of queue pair %d", cs[i], e.qp.Num())
		}
	}
}

// do posts one chain at e, ends it with a signal, and waits for it.
func (p *pair) do(e *end, wrs ...fabric.WR) []fabric.Completion {
	p.t.Helper()
	n := 0
	for i := range wrs {
		if wrs[i].Flags&fabric.FlagSignaled != 0 {
			n++
		}
	}
	e.post(wrs...)
	return p.sends(e, n)
}

// quiet checks that nothing more completes.
func (p *pair) quiet() {
	p.t.Helper()
	p.t.linger(p.a.owner, p.b.owner)
	for _, e := range []*end{p.a, p.b} {
		if len(e.sent)+len(e.received) != 0 {
			p.t.Fatalf("unexpected completions: sends %+v, receives %+v", e.sent, e.received)
		}
	}
}

// other returns the end that is not e.
func (p *pair) other(e *end) *end {
	if e == p.a {
		return p.b
	}
	return p.a
}
