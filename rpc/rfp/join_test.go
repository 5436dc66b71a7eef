package rfp_test

import (
	"errors"
	"testing"

	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

// A message joins the frame that is being filled only if that is of its class and has room;
// one that is too long for the server joins none.
func TestWhatJoinsAFrame(t *testing.T) {
	r := newRig(t, provider.Loop)
	r.serve(rfp.ServerConfig{Payload: 512, MaxMessage: 310})
	c := r.dial(rfp.ConnConfig{Batch: 8, Window: 4})
	send := func(class uint8, n int, frames uint64) {
		t.Helper()
		if err := c.Send(class, request(procEcho, pattern(n, 1))); err != nil {
			t.Fatal(err)
		}
		if got := c.Frames(); got != frames {
			t.Errorf("%d frames were sent, want %d", got, frames)
		}
	}
	send(1, 100, 0)
	if err := c.Send(1, request(procEcho, pattern(350, 1))); !errors.Is(err, rpc.ErrTooLarge) {
		t.Errorf("a message that has room and is too long for the server: %v", err)
	}
	send(1, 100, 0)
	send(2, 100, 1) // another class
	send(2, 300, 1)
	send(2, 300, 2) // no room
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	for i, n := range []int{100, 100, 100, 300, 300} {
		if !c.Wait(patience) {
			t.Fatalf("no result %d: %v", i, c.Err())
		}
		if data, err, ok := c.Next(); !ok || err != nil || string(data) != string(pattern(n, 1)) {
			t.Fatalf("result %d: %d bytes, %v, %v", i, len(data), err, ok)
		}
	}
}
