package server_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/test/cachetest"
	"github.com/remora-kv/remora/test/scale"
)

// Connections that are over take no memory on the heap: neither at the server nor
// at the device that they were made on.
func TestConnectionsAreForgotten(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.start(r.config())
		dev, ctx := r.device(), testContext(t)
		addr, err := fabric.ParseAddr(r.url)
		if err != nil {
			t.Fatal(err)
		}
		connect := func(n int) {
			for range n {
				c, err := rfp.Dial(ctx, addr, rfp.ConnConfig{Device: dev, Core: rfp.AnyCore})
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
			}
			awaitClients(t, s, 0)
		}
		heap := func() uint64 {
			// Twice, for what has a finalizer or waits in a pool.
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		n := scale.Times(300)
		connect(n)
		before := heap()
		connect(n)
		// Last words may have to be read first.
		var after uint64
		for end := time.Now().Add(cachetest.Watchdog); ; {
			if after = heap(); after <= before+uint64(n)*1024 {
				return
			}
			if time.Now().After(end) {
				break
			}
		}
		t.Errorf("the heap grew from %d to %d bytes with %d connections, %d for each", before, after, n, (after-before)/uint64(n))
	})
}
