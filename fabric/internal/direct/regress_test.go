package direct

import (
	"math"
	"testing"

	"github.com/remora-kv/remora/fabric"
)

// mustPost and mustRecv fail the test when something is refused.
func mustPost(t *testing.T, q *QP, wrs ...fabric.WR) {
	t.Helper()
	if _, err := q.Post(wrs); err != nil {
		t.Fatal(err)
	}
}

func mustRecv(t *testing.T, q *QP, wrs ...fabric.RecvWR) {
	t.Helper()
	if _, err := q.PostRecv(wrs); err != nil {
		t.Fatal(err)
	}
}

// TestPartsBehindOversize puts parts behind a message that breaks the queue
// pair: they must not reach the next receive, which was never measured for them.
func TestPartsBehindOversize(t *testing.T) {
	_, b, seg := newPair(t, fabric.QPConfig{RecvDepth: 16})
	buf := b.alloc(t, 64, 0)
	mustRecv(t, b.qp, fabric.RecvWR{Local: buf.Seg(0, 8)}, fabric.RecvWR{Local: buf.Seg(8, 8)})
	const ring = ringHeaderSize + 4*16
	at := ring
	for _, e := range []entry{
		{kind: kindSend, total: 1 << 20},
		{kind: kindMore, frag: 16, total: 1 << 20},
		{kind: kindMore, frag: 16, total: 1 << 20},
	} {
		e.encode(seg[at:])
		at += entrySize + int(padded(int(e.frag)))
	}
	b.qp.in.h.tail.Store(uint64(at - ring))
	got := b.poll()
	if len(got) != 2 || got[0].Status != fabric.StatusLocalLength || got[1].Status != fabric.StatusFlushed {
		t.Errorf("the receives ended as %+v", got)
	}
}

// TestNothingBehindOverlong is the same with a peer on UC that keeps the protocol, which goes
// on sending after the message that did not fit (G11).
func TestNothingBehindOverlong(t *testing.T) {
	a, b, _ := newPair(t, fabric.QPConfig{Transport: fabric.UC, RecvDepth: 16})
	src, dst := a.alloc(t, 64, 0), b.alloc(t, 64, 0)
	mustRecv(t, b.qp, fabric.RecvWR{Local: dst.Seg(0, 8)}, fabric.RecvWR{Local: dst.Seg(8, 8)})
	mustPost(t, a.qp, fabric.WR{Op: fabric.OpSend, Local: src.Seg(0, 16)}, fabric.WR{Op: fabric.OpSend, Local: src.Seg(0, 8)})
	got := b.poll()
	if len(got) != 2 || got[0].Status != fabric.StatusLocalLength || got[1].Status != fabric.StatusFlushed {
		t.Errorf("the receives ended as %+v", got)
	}
}

// quickControl has the peer's owner act while the peer is notified of the end.
type quickControl struct {
	*testControl
	during func()
}

func (l *quickControl) Disconnect() {
	l.testControl.Disconnect()
	l.during()
}

// TestSendBeforeDisconnect: what completed with success is received, though a
// later request of the same chain breaks the queue pair (G13).
func TestSendBeforeDisconnect(t *testing.T) {
	a, b, _ := newPair(t, fabric.QPConfig{RecvDepth: 16})
	mustRecv(t, b.qp, make([]fabric.RecvWR, 2)...)
	var got []fabric.Completion
	a.qp.control = &quickControl{testControl: a.control, during: func() { got = b.poll() }}
	buf := a.alloc(t, 8, 0)
	mustPost(t, a.qp,
		fabric.WR{ID: 1, Op: fabric.OpSend, Flags: fabric.FlagSignaled},
		fabric.WR{ID: 2, Op: fabric.OpWrite, Local: buf.Seg(0, 8), Remote: fabric.Remote{Key: 77}})
	sent := a.poll()
	if len(sent) != 2 || sent[0].Status != fabric.StatusOK || len(got) != 2 || got[0].Status != fabric.StatusOK {
		t.Errorf("sent %+v, received %+v", sent, got)
	}
}

// muteControl keeps the peer from hearing the end.
type muteControl struct{ *testControl }

func (muteControl) Disconnect() {}

// TestSendAfterPeerSettled: a message that nobody will take does not complete
// with success, though this side has not heard of the end yet (G8).
func TestSendAfterPeerSettled(t *testing.T) {
	a, b, _ := newPair(t, fabric.QPConfig{RecvDepth: 16})
	mustRecv(t, b.qp, fabric.RecvWR{})
	b.qp.control = muteControl{b.control}
	_ = b.qp.Disconnect()
	b.poll()
	mustPost(t, a.qp, fabric.WR{Op: fabric.OpSend, Flags: fabric.FlagSignaled})
	if got := a.poll(); len(got) != 1 || got[0].Status != fabric.StatusFlushed || a.qp.State() != fabric.StateError {
		t.Errorf("the SEND ended as %+v, the queue pair is in %v", got, a.qp.State())
	}
}

// newMany connects n queue pairs to one end, each with receives posted.
func newMany(t *testing.T, n int) (senders []*end, b *end) {
	t.Helper()
	b = newEnd(t, fabric.QPConfig{SendDepth: 1, RecvDepth: 1})
	for range n {
		a := newEnd(t, fabric.QPConfig{RecvDepth: 4})
		q, err := NewQP(b.core, fabric.QPConfig{SendDepth: 1, RecvDepth: 4, Domain: b.dom, SendCQ: b.cq, RecvCQ: b.cq})
		if err != nil {
			t.Fatal(err)
		}
		seg := HeapBytes(SegmentBytes(4, 4), pageSize)
		a.qp.Attach(seg, Dialer, 4, b.cq.Pipe, b.cq.Pipe)
		q.Attach(seg, Acceptor, 4, a.cq.Pipe, a.cq.Pipe)
		a.control = &testControl{peer: q, self: a.qp}
		a.qp.Start(a.control)
		q.Start(&testControl{peer: a.qp, self: q})
		mustRecv(t, q, make([]fabric.RecvWR, 4)...)
		senders = append(senders, a)
		t.Cleanup(func() { _ = q.Close() })
	}
	return senders, b
}

// TestNoSleepOverColdSource: a message that came before the rings were armed,
// in a ring that the last poll did not look at, keeps the thread awake (G17).
func TestNoSleepOverColdSource(t *testing.T) {
	senders, b := newMany(t, 64)
	w := newWaiter(t, b)
	b.poll()
	last := b.cq.listening[b.cq.cursor-1] // looked at just now, so again last
	for _, a := range senders {
		if a.qp.out.h == last.h {
			mustPost(t, a.qp, fabric.WR{Op: fabric.OpSend})
		}
	}
	var out [4]fabric.Completion
	poll := func() bool { return b.cq.Poll(out[:]) > 0 }
	for range 3 {
		if w.Sleep(poll, math.MaxInt64) {
			break
		}
	}
	if w.Sleeps() != 0 || w.LateWakes() != 0 {
		t.Errorf("%d sleeps, %d late wake-ups over a message that was there", w.Sleeps(), w.LateWakes())
	}
}

// TestNoSleepOverOtherQueue: the last poll looks at one completion queue and,
// by what it finds in the second, fills the first.
func TestNoSleepOverOtherQueue(t *testing.T) {
	b := newEnd(t, fabric.QPConfig{})
	w := newWaiter(t, b)
	calls := 0
	w.Sleep(func() bool {
		if calls++; calls == 1 {
			b.cq.push(b.qp, 0, 1, fabric.OpSend, fabric.StatusFlushed, 0)
		}
		return false
	}, math.MaxInt64)
	if w.Sleeps() != 0 {
		t.Error("slept over a completion")
	}
}

// TestLateWake: a message that wakes just after a sleep has ended by itself is not
// taken for a wake-up that was lost; what wakes nobody is.
func TestLateWake(t *testing.T) {
	a, b, _ := newPair(t, fabric.QPConfig{RecvDepth: 1})
	mustRecv(t, b.qp, fabric.RecvWR{})
	for _, wakes := range []bool{true, false} {
		w := newWaiter(t, b)
		for found := false; !found; { // a signal may end a sleep
			looks := 0
			found = w.Sleep(func() bool {
				if looks++; looks == 1 {
					return false // before the sleep
				}
				if wakes {
					mustPost(t, a.qp, fabric.WR{Op: fabric.OpSend})
					return b.cq.Poll(make([]fabric.Completion, 1)) == 1
				}
				return true
			}, math.MaxInt64)
		}
		if want := map[bool]uint64{true: 0, false: 1}[wakes]; w.LateWakes() != want {
			t.Errorf("with a wake-up %v: %d late wake-ups", wakes, w.LateWakes())
		}
	}
}

func newWaiter(t *testing.T, e *end) *Waiter {
	t.Helper()
	fw, err := e.core.NewWaiter(fabric.WaitConfig{CQs: []fabric.CQ{e.cq}})
	if err != nil {
		t.Fatal(err)
	}
	w, ok := fw.(*Waiter)
	if !ok {
		t.Fatalf("a waiter is a %T", fw)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// TestForeignRegionStaysForeign: an empty segment of a region of another domain
// is no pass for the next.
func TestForeignRegionStaysForeign(t *testing.T) {
	a, b, _ := newPair(t, fabric.QPConfig{})
	foreign := b.alloc(t, 64, 0)
	mustPost(t, a.qp, fabric.WR{Op: fabric.OpSend, Local: foreign.Seg(0, 0)})
	if _, err := a.qp.Post([]fabric.WR{{Op: fabric.OpSend, Local: foreign.Seg(0, 8)}}); err == nil {
		t.Error("a segment of another domain was taken")
	}
}

// TestEndBeforeStart: a queue pair that ends while its connection is being made
// settles once it is there, and its peer is notified.
func TestEndBeforeStart(t *testing.T) {
	a, b := newEnd(t, fabric.QPConfig{}), newEnd(t, fabric.QPConfig{})
	_ = a.qp.Disconnect()
	a.poll()
	seg := HeapBytes(SegmentBytes(a.qp.RecvDepth(), b.qp.RecvDepth()), pageSize)
	a.qp.Attach(seg, Dialer, b.qp.RecvDepth(), b.cq.Pipe, b.cq.Pipe)
	b.qp.Attach(seg, Acceptor, a.qp.RecvDepth(), a.cq.Pipe, a.cq.Pipe)
	b.qp.Start(&testControl{peer: a.qp, self: b.qp})
	a.qp.Start(&testControl{peer: b.qp, self: a.qp})
	a.poll()
	if b.qp.State() != fabric.StateError {
		t.Error("the peer has not heard of the end")
	}
}
