package tcp

import (
	"bytes"
	"slices"
	"sync"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/arena"
	"github.com/remora-kv/remora/test/pages"
)

// TestCloseWaitsForQueuePairs checks that closing a region waits for every queue pair after its
// key is gone, and before its memory is given back: one may be using it (I6).
func TestCloseWaitsForQueuePairs(t *testing.T) {
	d := newDevice(t, Config{Name: "a"})
	dom, err := d.NewDomain()
	if err != nil {
		t.Fatal(err)
	}
	q, mem, cut := pages.Split(t, func(q *queues) *sync.Mutex { return &q.mu })
	var index uint16
	if _, err := d.qps.add(func(i uint16) *queues { index = i; return q }); err != nil {
		t.Fatal(err)
	}
	defer d.qps.drop(index)
	r, err := dom.Alloc("test", 64, everything)
	if err != nil {
		t.Fatal(err)
	}
	pages.StopsAtAccess(t, mem, cut, func() { _ = r.Close() })
	owner, _ := dom.(*domain)
	if d.reach(owner, r.Remote().Key, r.Remote().Addr, 1, fabric.RemoteRead) != nil {
		t.Error("the key opens the region while Close waits")
	}
	if !slices.ContainsFunc(d.arena.Stats(), func(u arena.Usage) bool { return u.Purpose == "test" }) {
		t.Error("the memory is given back before the queue pairs have let it go")
	}
}

// TestRevokedInTheMiddle checks that a WRITE whose region is closed after a part of it came is
// refused, or dropped where there are no refusals (G7).
func TestRevokedInTheMiddle(t *testing.T) {
	for _, tr := range []fabric.Transport{fabric.RC, fabric.UC} {
		a, _ := newPair(t, tr)
		q, _ := a.qp.(*conn)
		r, err := a.dom.Alloc("test", 64, everything)
		if err != nil {
			t.Fatal(err)
		}
		text := bytes.Repeat([]byte("x"), 64)
		place := func(b []byte) (n int, m message) {
			q.mu.Lock()
			defer q.mu.Unlock()
			return q.placeMessage(b, true), q.msg
		}
		q.mu.Lock()
		q.msg = message{kind: kindWrite, total: 64, key: r.Remote().Key, addr: r.Remote().Addr}
		q.mu.Unlock()
		if n, _ := place(text[:32]); n != 32 || !bytes.Equal(r.Bytes()[:32], text[:32]) {
			t.Fatalf("%v: %d bytes are placed", tr, n)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		_, m := place(text[32:])
		if refused := a.qp.State() != fabric.StateReady; refused != (tr == fabric.RC) || m.drop == refused {
			t.Errorf("%v: refused: %t, dropped: %t", tr, refused, m.drop)
		}
		q.mu.Lock()
		q.msg = message{} // nothing more comes
		q.mu.Unlock()
	}
}
