package rfp_test

import (
	"context"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc/rfp"
)

// receiveCounter is a device whose queue pair counts the receives that are posted.
type receiveCounter struct {
	fabric.Device
	posted int
}

func (d *receiveCounter) Dial(ctx context.Context, addr fabric.Addr, cfg fabric.QPConfig, private []byte) (fabric.QP, error) {
	qp, err := d.Device.Dial(ctx, addr, cfg, private)
	return &countedQP{qp, d}, err
}

type countedQP struct {
	fabric.QP
	dev *receiveCounter
}

func (q *countedQP) PostRecv(wrs []fabric.RecvWR) (int, error) {
	n, err := q.QP.PostRecv(wrs)
	q.dev.posted += n
	return n, err
}

// A client that finds all pushes of a long window at the first look posts as many receives
// as they use up: without one, the server's queue pair stops.
func TestPushesNeverLackReceives(t *testing.T) {
	const window, rounds = 64, 12
	r := newRig(t, provider.Loop)
	s := r.serve(rfp.ServerConfig{Window: window})
	dev := &receiveCounter{Device: r.NewDevice()}
	c := r.dial(rfp.ConnConfig{Device: dev, Window: window, Params: rfp.Params{Pinned: true, Mode: rfp.Reply}})
	for round := range rounds {
		for range window {
			if err := c.Send(1, request(procEcho, []byte("hello"))); err != nil {
				t.Fatal(err)
			}
		}
		await(t, "the pushes", func() bool { return s.Stats().Pushes == uint64(window*(round+1)) })
		for range window {
			if got, err, ok := c.Next(); !ok || err != nil || string(got) != "hello" {
				t.Fatalf("%q, %v, %v: %v", got, err, ok, c.Err())
			}
		}
		if left := dev.posted - window*(round+1); left < 2*window {
			t.Fatalf("round %d: %d receives are left for %d pushes", round, left, 2*window)
		}
	}
}
