package herd_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/remora-kv/remora/rpc/herd"
	"github.com/remora-kv/remora/test/rpctest"
)

// Where there is no order (fabric.Limits.InOrder), the stamp of a request can be there before its
// message. It is served when all of it is there, and what never is does no harm (H1).
func TestRequestWithoutALine(t *testing.T) {
	r := &rig{Rig: rpctest.Disorder(t)}
	s := r.serve(herd.ServerConfig{})
	c := r.dial(herd.ConnConfig{Window: 1, RetryAfter: patience})
	raw := herd.Raw{Conn: c}
	for _, length := range []uint64{8, 1001, 1 << 16, 1<<32 | 8, math.MaxUint64} {
		if err := raw.WriteSlot(0, 0, length, 1, raw.Generation()); err != nil {
			t.Fatal(err)
		}
		looks(t, c, s)
	}
	for n := range 8 {
		arg := bytes.Repeat([]byte{byte(n + 1)}, 600)
		rest, err := raw.WriteAround(0, request(procEcho, arg), 512, 576)
		if err != nil {
			t.Fatal(err)
		}
		looks(t, c, s)
		if st := s.Stats(); st.Calls != uint64(n) || st.Cut != 0 {
			t.Fatalf("request %d is served, though a line is missing: %+v", n, st)
		}
		rest()
		looks(t, c, s) // its wake-up says that the line is there
		await(t, "the reply", func() bool { c.Poll(); return c.CoreConn(0).Ready() })
		if got, err, ok := c.CoreConn(0).Next(); !ok || err != nil || !bytes.Equal(got, arg) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
}

// looks has the core look again and again.
func looks(t *testing.T, c *herd.Conn, s *herd.Server) {
	t.Helper()
	for range 10 {
		wakeups := s.Stats().Wakeups
		if err := (herd.Raw{Conn: c}).Wakeup(0, 1<<30, 1); err != nil {
			t.Fatal(err)
		}
		await(t, "the wake-up", func() bool { c.Poll(); return s.Stats().Wakeups > wakeups })
	}
}

// A request is no longer than a packet, of which a WRITE over UC can be lost.
func TestSlotsFitAPacket(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(herd.ServerConfig{SlotSize: 4096})
		c := r.dial(herd.ConnConfig{SlotSize: 4096})
		if mtu := r.Device.Limits().MTU; c.MaxMessage()+24 > mtu {
			t.Errorf("messages of %d bytes, packets of %d", c.MaxMessage(), mtu)
		}
	})
}
