package rfp_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

// slowly serves procSpin for as long as the test says. It leaves the CPU to
// others meanwhile.
func slowly(r *rig) *atomic.Int64 {
	var d atomic.Int64
	r.Mux.Handle(procSpin, func(_ *rpc.Call, out []byte) ([]byte, error) {
		if d := time.Duration(d.Load()); d != 0 {
			<-time.After(d)
		}
		return append(out, "served"...), nil
	})
	return &d
}

func TestHybridChangesOverAndBack(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		takes := slowly(r)
		r.serve(rfp.ServerConfig{})
		c := r.dial(rfp.ConnConfig{})
		// On a busy machine any call may be slow, so modes are awaited.
		await := func(want rfp.Mode, d time.Duration) {
			t.Helper()
			takes.Store(int64(d))
			for n := 0; c.Mode(uint8(procSpin)) != want; n++ {
				if n == 200 {
					t.Fatalf("%d calls of %v, and the mode is not %v: %+v", n, d, want, c.Stats())
				}
				if got, err := call(t, c, procSpin, nil); err != nil || string(got) != "served" {
					t.Fatalf("%q, %v", got, err)
				}
			}
		}
		const slow = 20 * time.Millisecond
		for range 3 {
			await(rfp.Fetch, 0)
			await(rfp.Reply, slow)
			for range 3 {
				if _, err := call(t, c, procSpin, nil); err != nil {
					t.Fatal(err)
				}
			}
			if m := c.Mode(uint8(procEcho)); m != rfp.Fetch {
				t.Errorf("another procedure changed to %v", m)
			}
		}
		// Not every answer in reply mode: a client in doubt may look just before the
		// push comes, and where READs are slow too it changes back.
		if c.Stats().Replies == 0 {
			t.Errorf("no answer was pushed: %+v", c.Stats())
		}
	})
}

// Hybrid that begins with Reply changes to fetching when the calls are quick.
func TestHybridThatBeginsWithReplyFetches(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(rfp.ServerConfig{})
		c := r.dial(rfp.ConnConfig{Params: rfp.Params{Mode: rfp.Reply}})
		if m := c.Mode(uint8(procEcho)); m != rfp.Reply {
			t.Fatalf("it begins with %v", m)
		}
		for n := 0; c.Mode(uint8(procEcho)) != rfp.Fetch; n++ {
			if n == 200 {
				t.Fatalf("%d quick calls, and the mode is still reply: %+v", n, c.Stats())
			}
			if got, err := call(t, c, procEcho, []byte("quick")); err != nil || string(got) != "quick" {
				t.Fatalf("%q, %v", got, err)
			}
		}
	})
}

func TestPinnedModesDoNotChange(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		takes := slowly(r)
		r.serve(rfp.ServerConfig{Policy: fabric.Busy})
		for _, mode := range []rfp.Mode{rfp.Fetch, rfp.Reply} {
			c := r.dial(rfp.ConnConfig{Params: rfp.Params{Pinned: true, Mode: mode}})
			for i := range 20 {
				takes.Store(int64(i%2) * int64(3*time.Millisecond))
				if _, err := call(t, c, procSpin, nil); err != nil {
					t.Fatal(err)
				}
			}
			st := c.Stats()
			if pushed := st.Replies; st.Switches != 0 || mode == rfp.Fetch && pushed != 0 || mode == rfp.Reply && pushed == 0 {
				t.Errorf("%v: %+v", mode, st)
			}
		}
	})
}

func TestBatchesAreSentWhenFullOrOld(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(rfp.ServerConfig{})
		c := r.dial(rfp.ConnConfig{Batch: 4, FlushAfter: time.Millisecond})
		msg := request(procEcho, []byte("hello"))
		for i := range 10 {
			if err := c.Send(1, msg); err != nil {
				t.Fatal(err)
			}
			if want := uint64(i+1) / 4; c.Stats().Frames != want {
				t.Fatalf("%d frames after %d messages", c.Stats().Frames, i+1)
			}
		}
		for got := range 10 { // the last two come though nobody flushes
			if !c.Wait(patience) {
				t.Fatalf("%d results: %v", got, c.Err())
			}
			if data, err, ok := c.Next(); !ok || err != nil || string(data) != "hello" {
				t.Fatalf("%q, %v, %v", data, err, ok)
			}
		}
		if c.Outstanding() != 0 || c.Stats().Frames != 3 {
			t.Errorf("%d outstanding, %+v", c.Outstanding(), c.Stats())
		}
	})
}

func TestFullWindowSaysSo(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(rfp.ServerConfig{Window: 4})
		c := r.dial(rfp.ConnConfig{Window: 9})
		if c.Window() != 4 {
			t.Fatalf("window %d", c.Window())
		}
		msg := request(procEcho, []byte("hello"))
		for range 4 {
			if err := c.Send(1, msg); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Send(1, msg); err == nil {
			t.Error("a fifth frame was sent")
		}
		if !c.Wait(patience) {
			t.Fatal(c.Err())
		}
		_, _, _ = c.Next()
		if err := c.Send(1, msg); err != nil {
			t.Errorf("a result was taken, and %v", err)
		}
	})
}
