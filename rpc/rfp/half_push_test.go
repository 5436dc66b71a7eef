package rfp_test

import (
	"bytes"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/rpc/wire"
)

// A client takes a pushed result when its tail has arrived, not when its first word has; and where
// there is no order, when all that is between has.
func TestPushedResultWithoutItsTail(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.rawServer()
		r.Addr = s.addr
		c := r.dial(rfp.ConnConfig{Device: r.NewDevice(), Params: rfp.Params{Pinned: true, Mode: rfp.Reply}})
		defer c.Close()
		qp := <-s.accepted
		defer qp.Close()
		hello, err := wire.ParseHello(qp.PeerPrivate())
		if err != nil {
			t.Fatal(err)
		}
		source, err := s.dom.Alloc("pushed", rawStride, 0)
		if err != nil {
			t.Fatal(err)
		}
		result := pattern(300, 1)
		payload := entries(result)
		frame := s.tailed(1, payload, true)
		copy(source.Bytes(), frame)
		push := func(from, to int) {
			remote := fabric.Remote{Addr: hello.Replies.Addr, Key: hello.Replies.Key}
			if _, err := qp.Post([]fabric.WR{{
				Op: fabric.OpWrite, Flags: fabric.FlagSignaled, Local: source.Seg(from, to-from), Remote: remote.At(from),
			}}); err != nil {
				t.Fatal(err)
			}
			var done [1]fabric.Completion
			await(t, "the WRITE", func() bool { return s.cq.Poll(done[:]) == 1 })
			if done[0].Status != fabric.StatusOK {
				t.Fatalf("WRITE of bytes %d to %d: %v", from, to, done[0].Status)
			}
		}

		if err := c.Send(1, request(procEcho, []byte("x"))); err != nil {
			t.Fatal(err)
		}
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		missing := len(frame) // the end of what is missing, which is the last only where there is order
		if push(0, 64); s.proves() {
			missing = len(frame) - 100
			push(missing, len(frame))
		}
		for range 1000 {
			if c.Poll() {
				got, err, _ := c.Next()
				t.Fatalf("a result of %d bytes, %v, though bytes 64 to %d of the frame have not arrived", len(got), err, missing)
			}
		}
		push(64, missing)
		if !c.Wait(patience) {
			t.Fatal("no result")
		}
		if got, err, ok := c.Next(); err != nil || !ok || !bytes.Equal(got, result) {
			t.Errorf("%v, %v, %d bytes", ok, err, len(got))
		}
	})
}
