//go:build !race

package tcp

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/arena"
	"github.com/remora-kv/remora/test/pages"
)

// TestPushLooksLast checks that a completion can be seen before it is decided whether anybody
// has to be woken for it: a waiter that falls asleep meanwhile sees one or is woken (G17).
func TestPushLooksLast(t *testing.T) {
	c, mem, cut := pages.Split(t, func(c *cq) *atomic.Uint32 { return &c.count })
	ring := make([]entry, 4)
	c.ring = ring
	pages.StopsAtAccess(t, mem, cut-1, func() { c.push(new(entry), true) }) // where the sleeper is
	if c.count.Load() != 1 {
		t.Error("the sleeper is looked at before the completion is there")
	}
	runtime.KeepAlive(ring)
}

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
