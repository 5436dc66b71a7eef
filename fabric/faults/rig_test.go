package faults_test

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/faults"
	"github.com/remora-kv/remora/fabric/loop"
)

// clocked is a device whose clock the test moves.
type clocked struct {
	fabric.Device
	now atomic.Int64
}

func (c *clocked) Clock() fabric.Clock { return c }
func (c *clocked) Now() int64          { return c.now.Load() }

const (
	depth   = 64  // of send queues
	inbox   = 256 // of receive queues
	slot    = 64  // bytes of a message in the rig, without the header
	payload = 8
	buffers = 4 * depth // for sending
)

// side is one end of the rig.
type side struct {
	t    *testing.T
	dev  *faults.Device
	time *clocked
	dom  fabric.Domain
	cq   fabric.CQ
	qp   fabric.QP
	reg  *fabric.Region
	peer *side
	to   fabric.AddressHandle
	tr   fabric.Transport

	next int                 // number of the next message
	sent []fabric.Completion // of the send queue
	got  []uint64            // messages in the order of arrival
	fell []fabric.Completion // receives that failed
	imms []uint32
}

// rig is a sender under a plan and a receiver under none.
type rig struct {
	t    *testing.T
	net  *loop.Network
	s, r *side
}

func newSide(t *testing.T, net *loop.Network, name, plan string) *side {
	t.Helper()
	return newSideOn(t, net, name, plan, func(c *clocked) fabric.Device { return c })
}

// newSideOn does it with a device that was changed.
func newSideOn(t *testing.T, net *loop.Network, name, plan string, change func(*clocked) fabric.Device) *side {
	t.Helper()
	p, err := faults.ParsePlan(plan)
	must(t, err)
	inner, err := net.NewDevice(name)
	must(t, err)
	c := &clocked{Device: inner}
	s := &side{t: t, time: c, dev: faults.Wrap(change(c), p)}
	s.dom, err = s.dev.NewDomain()
	must(t, err)
	s.cq, err = s.dev.NewCQ(2 * inbox)
	must(t, err)
	s.reg, err = s.dom.Alloc("test", 1<<20, fabric.RemoteRead|fabric.RemoteWrite|fabric.RemoteAtomic)
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.dev.Struck())
		}
	})
	return s
}

func (s *side) config() fabric.QPConfig {
	return fabric.QPConfig{
		Transport: s.tr, Domain: s.dom, SendCQ: s.cq, RecvCQ: s.cq,
		SendDepth: depth, RecvDepth: inbox, RNRTimeout: fabric.RNRForever,
	}
}

func newRig(t *testing.T, tr fabric.Transport, plan string) *rig {
	t.Helper()
	return newRigOn(t, tr, plan, func(c *clocked) fabric.Device { return c })
}

// newRigOn does it with a device of the sender that was changed.
func newRigOn(t *testing.T, tr fabric.Transport, plan string, change func(*clocked) fabric.Device) *rig {
	t.Helper()
	net := loop.NewNetwork()
	g := &rig{t: t, net: net, s: newSideOn(t, net, "s", plan, change), r: newSide(t, net, "r", "")}
	g.s.tr, g.r.tr = tr, tr
	g.s.peer, g.r.peer = g.r, g.s
	g.connect()
	t.Cleanup(g.close)
	return g
}

// connect makes the queue pairs and posts the receives.
func (g *rig) connect() {
	g.t.Helper()
	var err error
	if g.s.tr == fabric.UD {
		g.s.qp, err = g.s.dom.NewUD(g.s.config())
		must(g.t, err)
		g.r.qp, err = g.r.dom.NewUD(g.r.config())
		must(g.t, err)
		g.s.to, err = g.s.dom.NewAddressHandle(g.t.Context(), g.r.qp.Address())
		must(g.t, err)
	} else {
		g.s.qp, g.r.qp, err = dial(g.s, g.r)
		must(g.t, err)
	}
	for i := range inbox {
		g.r.postRecv(uint64(i))
	}
}

// dial connects s to r.
func dial(s, r *side) (qs, qr fabric.QP, err error) {
	return dialWith(s, r, func(*fabric.QPConfig) {})
}

// dialWith does it with a configuration that was changed.
func dialWith(s, r *side, change func(*fabric.QPConfig)) (qs, qr fabric.QP, err error) {
	addr := fabric.Addr{Fabric: "loop", Name: "rig"}
	l, err := r.dev.Listen(addr, fabric.ListenConfig{})
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	accepted := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	go func() {
		req, err := l.Accept(ctx)
		if err == nil {
			qr, err = req.Accept(ctx, r.config(), nil)
		}
		accepted <- err
	}()
	cfg := s.config()
	change(&cfg)
	qs, err = s.dev.Dial(ctx, addr, cfg, nil)
	if err != nil {
		cancel()
	}
	return qs, qr, errors.Join(err, <-accepted)
}

// close takes everything down in order; nothing may be left.
func (g *rig) close() {
	for _, s := range []*side{g.s, g.r} {
		if err := s.qp.Close(); err != nil && !errors.Is(err, fabric.ErrClosed) {
			g.t.Error(err)
		}
		if s.to != nil {
			_ = s.to.Close()
		}
	}
	for _, s := range []*side{g.s, g.r} {
		must(g.t, s.reg.Close())
		must(g.t, s.cq.Close())
		must(g.t, s.dom.Close())
		must(g.t, s.dev.Close())
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// postRecv posts receive i, again.
func (s *side) postRecv(i uint64) {
	s.t.Helper()
	n, err := s.qp.PostRecv([]fabric.RecvWR{{ID: i, Local: s.reg.Seg(recvAt(i), fabric.GRHSize+slot)}})
	if err != nil || n != 1 {
		s.t.Fatalf("PostRecv: %d, %v", n, err)
	}
}

// Receives lie in the second quarter of the region; the first is for sending,
// the rest is written by the peer.
func recvAt(i uint64) int { return 256<<10 + int(i)*(fabric.GRHSize+slot) }

const writeAt = 512 << 10

// message returns a request that carries number n.
func (s *side) message(op fabric.Op, n int) fabric.WR {
	off := n % buffers * slot
	binary.LittleEndian.PutUint64(s.reg.Bytes()[off:], uint64(n))
	w := fabric.WR{ID: uint64(n), Op: op, Local: s.reg.Seg(off, payload), Flags: fabric.FlagSignaled, To: s.to, Imm: uint32(n)}
	if op.OneSided() {
		w.Remote = s.peer.reg.Remote().At(writeAt + n*8)
	}
	return w
}

// post posts the next message.
func (s *side) post(op fabric.Op, flags fabric.Flags) {
	s.t.Helper()
	w := s.message(op, s.next)
	w.Flags |= flags
	s.next++
	if n, err := s.qp.Post([]fabric.WR{w}); err != nil || n != 1 {
		s.t.Fatalf("Post: %d, %v", n, err)
	}
}

// poll takes completions and posts used receives again.
func (s *side) poll() {
	s.t.Helper()
	var out [8]fabric.Completion
	for n := s.cq.Poll(out[:]); n > 0; n = s.cq.Poll(out[:]) {
		for _, c := range out[:n] {
			switch {
			case c.Op != fabric.OpRecv:
				s.sent = append(s.sent, c)
			case c.Status != fabric.StatusOK:
				s.fell = append(s.fell, c)
			default:
				s.receive(c)
			}
		}
	}
}

func (s *side) receive(c fabric.Completion) {
	s.t.Helper()
	if c.HasImm {
		s.imms = append(s.imms, c.Imm)
	} else {
		at := recvAt(c.ID)
		if s.tr == fabric.UD {
			at += fabric.GRHSize
			c.Bytes -= fabric.GRHSize
		}
		if c.Bytes != payload {
			s.t.Fatalf("message of %d bytes", c.Bytes)
		}
		s.got = append(s.got, binary.LittleEndian.Uint64(s.reg.Bytes()[at:]))
	}
	if s.qp.State() == fabric.StateReady {
		s.postRecv(c.ID)
	}
}

// turn polls both ends often enough for all that can happen to happen.
func (g *rig) turn() {
	g.t.Helper()
	for range 20 {
		g.s.poll()
		g.r.poll()
	}
}

// await polls until cond holds; it is for what other goroutines bring about.
func (g *rig) await(what string, cond func() bool) {
	g.t.Helper()
	for range 1_000_000 {
		if cond() {
			return
		}
		g.s.poll()
		g.r.poll()
		runtime.Gosched()
	}
	g.t.Fatalf("timed out waiting for %s", what)
}

// run posts n messages one by one.
func (g *rig) run(n int, op fabric.Op) {
	g.t.Helper()
	for range n {
		g.s.post(op, 0)
		g.s.poll()
		g.r.poll()
	}
	g.turn()
}

// numbers returns from..to-1.
func numbers(from, to int) []uint64 {
	var out []uint64
	for i := from; i < to; i++ {
		out = append(out, uint64(i))
	}
	return out
}

// completedInOrder checks that messages 0 to n-1 completed, in order (F2).
func (s *side) completedInOrder(n int) {
	s.t.Helper()
	if len(s.sent) != n {
		s.t.Fatalf("%d completions, want %d", len(s.sent), n)
	}
	for i, c := range s.sent {
		if c.ID != uint64(i) || c.Status != fabric.StatusOK || c.Bytes != payload || c.QPN != s.qp.Num() {
			s.t.Fatalf("completion %d is %+v", i, c)
		}
	}
}

// struck returns how many operations of the sender a fault has struck.
func (g *rig) struck(f faults.Fault) (n int) {
	for _, e := range g.s.dev.Struck() {
		if e.Fault == f {
			n++
		}
	}
	return n
}
