package herd_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/herd"
)

// story is what happens on one core, in order.
type story struct{ lines []string }

func (s *story) expect(_, stage int, hash uint64) {
	s.lines = append(s.lines, fmt.Sprintf("%d/%d", hash, stage))
}

func (s *story) serve(c *rpc.Call, msg, out []byte) ([]byte, error) {
	s.lines = append(s.lines, fmt.Sprintf("%d!", msg[0]))
	return append(out, msg...), nil
}

// tell sends requests 1 to n together, where the core does not look yet, and returns
// what it does with them.
func tell(t *testing.T, r *rig, n int, cfg herd.ServerConfig) []string {
	s := &story{}
	hold, held := make(chan struct{}), make(chan struct{})
	cfg.Expect, cfg.FlushPolls = s.expect, 100
	cfg.Serve = func(c *rpc.Call, msg, out []byte) ([]byte, error) {
		if msg[0] == 0 {
			close(held)
			<-hold
			s.lines = nil
			return out, nil
		}
		return s.serve(c, msg, out)
	}
	server := r.serve(cfg)
	c := r.dial(herd.ConnConfig{Window: n + 1, RetryAfter: patience, GiveUp: 2 * patience})
	l := c.CoreConn(0)
	if err := l.Send(0, []byte{0}); err != nil {
		t.Fatal(err)
	}
	for done := false; !done; { // an asleep core is woken by Poll
		select {
		case <-held:
			done = true
		default:
			c.Poll()
		}
	}
	for i := range n {
		if err := l.Send(uint64(i+1), []byte{byte(i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	// They are there when a wake-up is that was sent after them (G3). One may be lost, or
	// be followed by one that Poll sends before it is seen.
	const unlike = 1 << 30
	await(t, "the requests to arrive", func() bool {
		c.Poll()
		if err := (herd.Raw{Conn: c}).Wakeup(0, unlike, 1); err != nil {
			t.Fatal(err)
		}
		return server.HasWakeup(0, unlike)
	})
	close(hold)
	for i := range n + 1 {
		for !l.Ready() {
			if !c.Wait(patience) || c.Err() != nil {
				t.Fatalf("no result %d: %v", i, c.Err())
			}
		}
		if got, err, _ := l.Next(); err != nil || i > 0 && (len(got) != 1 || int(got[0]) != i) {
			t.Fatalf("result %d: %v, %v", i, got, err)
		}
	}
	if noops := server.Stats().Noops; (noops != 0) == cfg.NoPrefetch {
		t.Errorf("%d no-ops", noops)
	}
	_ = server.Close()
	return s.lines
}

// Requests go through two stages before they are served, and no-ops end the waiting of
// the last ones (H10).
func TestPipeline(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		got := tell(t, r, 4, herd.ServerConfig{})
		want := []string{
			"1/0", "2/0", "1/1", "3/0", "2/1", "1!", "4/0", "3/1", "2!", "4/1", "3!", "4!",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v instead of %v", got, want)
		}
	})
}

func TestPipelineSwitchedOff(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		got := tell(t, r, 3, herd.ServerConfig{NoPrefetch: true})
		if want := []string{"1!", "2!", "3!"}; !slices.Equal(got, want) {
			t.Errorf("%v instead of %v", got, want)
		}
	})
}
