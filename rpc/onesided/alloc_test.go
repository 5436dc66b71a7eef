//go:build !race

// The race detector allocates.

package onesided_test

import (
	"testing"

	"github.com/remora-kv/remora/rpc/onesided"
	"github.com/remora-kv/remora/store"
)

func TestAllocatesNothing(t *testing.T) {
	r := newRig(t, fabrics[0])
	r.serve(1, onesided.ServerConfig{})
	r.toys[0].put(3, 1, value(3, 1))
	c := r.dial(onesided.ConnConfig{TouchEvery: 1})
	k := key(3)
	if n := testing.AllocsPerRun(100, func() {
		_ = c.Start(k)
		for !c.Poll() {
		}
		if _, o, ok := c.Next(); !ok || o != store.Found {
			t.Error(o, ok)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
