//go:build rdma

package verbs

import (
	"testing"

	"github.com/remora-kv/remora/fabric"
)

// TestPortReturns: queue pairs outlive a port that is down and returns, and those whose port is up
// when its time is over.
func TestPortReturns(t *testing.T) {
	for _, c := range []struct {
		what string
		then func(d *Device, port int)
	}{
		{"the port returns", func(d *Device, port int) { d.happened(d.events, hwEvent{kind: eventPortActive, port: port}, nil) }},
		{"its time is over, and it is up", func(d *Device, _ int) { d.events.portIsLate(d) }},
	} {
		t.Run(c.what, func(t *testing.T) {
			a, b := newHost(t), newHost(t)
			qa, qb := connect(t, a, b, a.listen(0))
			port := b.dev.Choice().Port
			b.dev.events.stop() // this test reports the events
			b.dev.happened(b.dev.events, hwEvent{kind: eventPortDown, port: port + 1}, nil)
			if b.dev.events.down != "" {
				t.Fatal("another port went down, and this one is taken to be")
			}
			b.dev.happened(b.dev.events, hwEvent{kind: eventPortDown, port: port}, nil)
			if qb.State() != fabric.StateReady || b.dev.events.down == "" {
				t.Fatalf("when its port goes down, the queue pair is %v (%v)", qb.State(), qb.Err())
			}
			c.then(b.dev, port)
			if b.dev.events.down != "" || qb.State() != fabric.StateReady {
				t.Fatalf("later the port is %q, the queue pair %v (%v)", b.dev.events.down, qb.State(), qb.Err())
			}
			if _, err := qa.PostRecv([]fabric.RecvWR{{}}); err != nil {
				t.Fatal(err)
			}
			if _, err := qb.Post([]fabric.WR{{Op: fabric.OpSend, Flags: fabric.FlagSignaled}}); err != nil {
				t.Fatal(err)
			}
			within(t, "the SEND", func() {
				var out [1]fabric.Completion
				for b.cq.Poll(out[:]) == 0 {
				}
				if out[0].Err() != nil {
					t.Error(out[0].Err())
				}
			})
		})
	}
}
