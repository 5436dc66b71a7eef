//go:build rdma

package verbs_test

import (
	"fmt"
	"runtime"
	"testing"
	"weak"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/verbs"
)

// TestClosedQueuePairsAreForgotten closes queue pairs whose completion queues
// and devices live on, some with completions that nobody polls: nothing keeps
// their memory, or a server would hold some for every client that ever was.
func TestClosedQueuePairsAreForgotten(t *testing.T) {
	a, b := mustSide(t), mustSide(t)
	l := a.listen(t)
	for _, way := range []struct {
		transport fabric.Transport
		posts     int
	}{{fabric.RC, 0}, {fabric.RC, 3}, {fabric.UC, 3}, {fabric.UD, 3}} {
		t.Run(fmt.Sprintf("%v/%d", way.transport, way.posts), func(t *testing.T) {
			ends := closedEnds(t, l, a, b, way.transport, way.posts)
			start := a.dev.Clock().Now()
			for _, end := range ends {
				for runtime.GC(); end.Value() != nil; runtime.GC() {
					if a.dev.Clock().Now()-start > int64(patience) {
						t.Fatalf("queue pair %d is closed and its memory is kept", end.Value().Num())
					}
					runtime.Gosched() // last messages are read by others
				}
			}
		})
	}
}

// closedEnds connects two sides, posts to one that is not polled any more, and
// closes both.
func closedEnds(t *testing.T, l fabric.Listener, a, b *side, tr fabric.Transport, posts int) []weak.Pointer[verbs.QP] {
	t.Helper()
	defer func() { a.qp, b.qp = nil, nil }()
	connectFor(t, l, a, b, tr)
	for range posts {
		w := fabric.WR{Op: fabric.OpSend, Local: b.mem.Seg(0, 64), Flags: fabric.FlagSignaled}
		if tr == fabric.UD {
			to, err := b.dom.NewAddressHandle(t.Context(), a.qp.Address())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = to.Close() }()
			w.To = to
		}
		if err := a.postRecv(64); err != nil {
			t.Fatal(err)
		}
		if _, err := b.qp.Post([]fabric.WR{w}); err != nil {
			t.Fatal(err)
		}
	}
	var ends []weak.Pointer[verbs.QP]
	for _, s := range []*side{a, b} {
		q, ok := s.qp.(*verbs.QP)
		if !ok {
			t.Fatalf("a queue pair of type %T", s.qp)
		}
		ends = append(ends, weak.Make(q))
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return ends
}

// connectFor gives both sides a queue pair.
func connectFor(t *testing.T, l fabric.Listener, a, b *side, tr fabric.Transport) {
	t.Helper()
	if tr == fabric.UD {
		for _, s := range []*side{a, b} {
			var err error
			if s.qp, err = s.dom.NewUD(s.config(tr)); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	accepted := make(chan error, 1)
	go func() { accepted <- a.accept(l, nil) }()
	if err := b.dial(l.Addr().Name, tr, nil); err != nil {
		t.Fatal(err)
	}
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
}
