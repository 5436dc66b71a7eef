package rfp_test

import (
	"fmt"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/affinity"
	"github.com/remora-kv/remora/rpc/rfp"
)

// BenchmarkEcho is a call of 32 bytes, server and client on CPUs of their own.
func BenchmarkEcho(b *testing.B) {
	for _, name := range fabrics {
		for _, mode := range []rfp.Mode{rfp.Fetch, rfp.Reply} {
			for _, shape := range []struct{ window, batch int }{{1, 1}, {8, 1}, {4, 4}, {4, 16}} {
				b.Run(fmt.Sprintf("%s/%v/window=%d/batch=%d", name, mode, shape.window, shape.batch), func(b *testing.B) {
					benchEcho(b, name, mode, shape.window, shape.batch)
				})
			}
		}
	}
}

func benchEcho(b *testing.B, name string, mode rfp.Mode, window, batch int) {
	cpus, err := affinity.Apart(2)
	if err != nil {
		b.Skip(err)
	}
	r := newRig(b, name)
	r.serve(rfp.ServerConfig{CPUs: cpus[1:], Policy: fabric.Busy})
	unpin, err := affinity.Pin(cpus[0])
	if err != nil {
		b.Fatal(err)
	}
	defer unpin()
	c := r.dial(rfp.ConnConfig{
		Window: window, Batch: batch, Policy: fabric.Busy,
		Params: rfp.Params{Pinned: true, Mode: mode, FetchSize: 64 * batch},
	})
	msg := request(procEcho, pattern(32, 1))
	b.ResetTimer()
	for sent, got := 0, 0; got < b.N; {
		for sent < b.N && c.Outstanding() < window*batch {
			if err := c.Send(1, msg); err != nil {
				b.Fatal(err)
			}
			sent++
		}
		if sent == b.N {
			_ = c.Flush()
		}
		if !c.Wait(0) {
			b.Fatal(c.Err())
		}
		for {
			_, _, ok := c.Next()
			if !ok {
				break
			}
			got++
		}
	}
	b.StopTimer()
	k := c.Counters()
	b.ReportMetric(float64(k.Out[fabric.OpWrite]+k.Out[fabric.OpRead]+k.In[fabric.OpWrite])/float64(b.N), "verbs/op")
}
