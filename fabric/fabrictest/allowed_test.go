package fabrictest

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// TestAllowed runs cases on devices that do what the contract allows, and
// expects them to pass.
func TestAllowed(t *testing.T) {
	for _, a := range []struct {
		name   string
		device func() *flaw
		cases  []string
	}{
		{"drops-writes", dropsWrites, []string{"G3/write-then-send/uc", "G3/write-then-write-imm/uc", "G2/last-byte-last/uc"}},
		{"drops-messages", dropsMessages, []string{"G3/write-then-send/uc", "G3/write-then-write-imm/uc"}},
		{"slow-receiver", slowReceiver, []string{"G3/write-then-send/uc", "G3/write-then-write-imm/uc"}},
	} {
		for _, name := range a.cases {
			t.Run(a.name+"/"+name, func(t *testing.T) {
				for _, c := range allCases() {
					if c.name == name {
						runCase(t, c, func(tb testing.TB) *World { return flawed(loopWorld(tb), a.device(), true) }, Options{exact: true}, true)
						return
					}
				}
				t.Fatal("there is no such case")
			})
		}
	}
}

// dropsWrites loses WRITEs (G8): the first ones, and some where a shorter one
// lies over a longer one.
func dropsWrites() *flaw {
	n := 0
	return &flaw{post: func(qp fabric.QP, wrs []fabric.WR) (int, error) {
		return oneByOne(qp, wrs, func(w *fabric.WR) {
			if w.Op != fabric.OpWrite {
				return
			}
			if n++; n < 3 || n < 40 && n%5 == 0 {
				w.Local.Len, w.More = 0, nil
			}
		})
	}}
}

// dropsMessages loses a few of the messages that need a receive, by making
// them WRITEs of nothing, which complete like them.
func dropsMessages() *flaw {
	n := 0
	return &flaw{post: func(qp fabric.QP, wrs []fabric.WR) (int, error) {
		return oneByOne(qp, wrs, func(w *fabric.WR) {
			if w.Op != fabric.OpSend && w.Op != fabric.OpWriteImm {
				return
			}
			if n++; n < 12 && n%4 == 1 {
				w.Op, w.Local.Len, w.More, w.Imm = fabric.OpWrite, 0, nil, 0
			}
		})
	}}
}

// slowReceiver has a receiver that is ready for the next message and then
// stops, for so long that the sender takes the last one for lost and sends it
// again: both arrive. Then the sender stops until the receiver has looked.
func slowReceiver() *flaw {
	const (
		stop    = 10      // the receive after which it stops; the first is posted before any message
		stopped = 1 << 20 // the number of messages is so much larger from then on
	)
	var messages, receives atomic.Int64
	var again atomic.Bool
	return &flaw{
		post: func(qp fabric.QP, wrs []fabric.WR) (int, error) {
			if op := wrs[0].Op; op != fabric.OpSend && op != fabric.OpWriteImm {
				return qp.Post(wrs)
			}
			second := messages.Add(1) == stopped+stop
			n, err := qp.Post(wrs)
			if second {
				again.Store(true)
				for receives.Load() == stop {
					runtime.Gosched()
				}
				time.Sleep(10 * time.Millisecond) // the receiver looks //lint:allow sleep the provider is slow on purpose
			}
			return n, err
		},
		postRecv: func(qp fabric.QP, wrs []fabric.RecvWR) (int, error) {
			n, err := qp.PostRecv(wrs)
			// On a busy machine a message was perhaps sent again before: then
			// there is nothing to do.
			if receives.Add(1) == stop && messages.CompareAndSwap(stop-1, stopped+stop-1) {
				for !again.Load() {
					runtime.Gosched()
				}
			}
			return n, err
		},
	}
}
