package direct

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/remora-kv/remora/fabric"
)

// heapProvider is the least that a device needs.
type heapProvider struct{}

func (heapProvider) AllocRegion(_ string, size int, _ fabric.Access) (*Backing, error) {
	return &Backing{Mem: HeapBytes(size, pageSize), Live: new(atomic.Uint32), Free: func() error { return nil }}, nil
}
func (heapProvider) RegionClosed(uint32)             {}
func (heapProvider) GramAddress(*QP) ([]byte, error) { return []byte("test"), nil }
func (heapProvider) Yield()                          {}
func (heapProvider) GramClosed(*QP)                  {}
func (heapProvider) GramOpen(context.Context, []byte) (*GramPath, error) {
	return nil, fabric.ErrUnsupported
}

// testControl resolves keys at a peer of the same process; later makes it answer
// through Resolved, as shm does.
type testControl struct {
	peer, self *QP
	later      bool
	asks       int
}

func (l *testControl) Resolve(key uint32) (*Window, bool) {
	l.asks++
	var w *Window
	if r := Export(l.peer.core, key, l.peer.domain); r != nil {
		w = &Window{Mem: r.Backing.Mem, Addr: r.Addr, Key: r.Key, Access: r.Access, Live: r.Backing.Live}
	}
	if l.later {
		l.self.Resolved(key, w)
		return nil, true
	}
	return w, false
}

func (l *testControl) Disconnect() {
	l.peer.PeerGone(fmt.Errorf("test: %w", fabric.ErrDisconnected))
}
func (l *testControl) Release() {}

// end is one side of a connection under test.
type end struct {
	core    *Core
	dom     *Domain
	cq      *CQ
	qp      *QP
	control *testControl
}

func newEnd(t testing.TB, cfg fabric.QPConfig) *end {
	t.Helper()
	e := &end{core: NewCore("test", "test", DefaultLimits(), heapProvider{})}
	dom, err := e.core.NewDomain()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := e.core.NewCQ(1024)
	if err != nil {
		t.Fatal(err)
	}
	var ok bool
	if e.dom, ok = dom.(*Domain); !ok {
		t.Fatalf("a domain is a %T", dom)
	}
	if e.cq, ok = cq.(*CQ); !ok {
		t.Fatalf("a completion queue is a %T", cq)
	}
	cfg.Domain, cfg.SendCQ, cfg.RecvCQ = dom, cq, cq
	if e.qp, err = NewQP(e.core, cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = e.qp.Close()
		_ = e.cq.Close()
	})
	return e
}

// newPair connects two ends and returns the memory they share.
func newPair(t testing.TB, cfg fabric.QPConfig) (a, b *end, segment []byte) {
	t.Helper()
	a, b = newEnd(t, cfg), newEnd(t, cfg)
	segment = HeapBytes(SegmentBytes(a.qp.RecvDepth(), b.qp.RecvDepth()), pageSize)
	a.qp.Attach(segment, Dialer, b.qp.RecvDepth(), b.cq.Pipe, b.cq.Pipe)
	b.qp.Attach(segment, Acceptor, a.qp.RecvDepth(), a.cq.Pipe, a.cq.Pipe)
	a.control, b.control = &testControl{peer: b.qp, self: a.qp}, &testControl{peer: a.qp, self: b.qp}
	a.qp.Start(a.control)
	b.qp.Start(b.control)
	return a, b, segment
}

func (e *end) alloc(t testing.TB, size int, access fabric.Access) *fabric.Region {
	t.Helper()
	r, err := e.dom.Alloc("test", size, access)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// poll returns what is there now.
func (e *end) poll() []fabric.Completion {
	var out [64]fabric.Completion
	return append([]fabric.Completion(nil), out[:e.cq.Poll(out[:])]...)
}
