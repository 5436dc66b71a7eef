package sendrecv_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/sendrecv"
)

// A queue pair that breaks fails exactly the calls without a result (S3): all that have
// one were counted, none was counted twice, and what is sent afterwards is said not to be.
func TestBrokenQueuePairs(t *testing.T) {
	for name, p := range map[string]struct {
		plan   string
		server bool
	}{
		"request refused":  {"rc.send.break=lost@op=57", false},
		"request lost":     {"rc.send.lose@op=57", false},
		"reply refused":    {"rc.send.break=lost@op=57", true},
		"reply lost":       {"rc.send.lose@op=57", true},
		"receiver unready": {"rc.send.break=rnr@op=57", false},
		"now and then":     {"seed=3; rc.send.break=lost,2%", true},
	} {
		t.Run(name, func(t *testing.T) {
			eachFabric(t, func(t *testing.T, r *rig) {
				r.HandleCount()
				if p.server {
					r.Plan = p.plan
				}
				s := r.serve(sendrecv.ServerConfig{})
				if r.Plan = ""; !p.server {
					r.Plan = p.plan
				}
				for which, window := range []int{1, 3, 16} {
					c := r.dialSometime(sendrecv.ConnConfig{Window: window})
					sent, taken, err := countUp(c, uint32(which), 1000, 100*which)
					if err == nil {
						t.Fatal("nothing broke")
					}
					if c.Outstanding() != sent-taken {
						t.Errorf("window %d: %d were sent, %d have results, %d have none", window, sent, taken, c.Outstanding())
					}
					if err := c.Send(request(procCount, nil)); !errors.Is(err, rpc.ErrNotSent) || !errors.Is(err, c.Err()) {
						t.Errorf("after the end: %v", err)
					}
					served := r.counted(uint32(which))
					if served < taken || served > sent {
						t.Errorf("window %d: of %d that were sent %d have results, %d were served", window, sent, taken, served)
					}
				}
				await(t, "the places of the broken", func() bool { return s.Stats().Clients <= 3 })
			})
		})
	}
}

// dialSometime connects to a server that breaks what it makes.
func (r *rig) dialSometime(cfg sendrecv.ConnConfig) (c *sendrecv.Conn) {
	r.Helper()
	await(r.TB, "a connection", func() (ok bool) {
		var err error
		c, err = r.tryDial(cfg)
		return err == nil
	})
	r.Cleanup(func() { _ = c.Close() })
	return c
}

// counted asks how often a counter was counted up before, by connections that may break.
func (r *rig) counted(which uint32) (n int) {
	r.Helper()
	await(r.TB, "the counter", func() bool {
		c := r.dialSometime(sendrecv.ConnConfig{})
		defer func() { _ = c.Close() }()
		got, err := call(c, procRead, binary.LittleEndian.AppendUint32(nil, which))
		if err == nil {
			n = int(binary.LittleEndian.Uint32(got))
		}
		return err == nil
	})
	return n
}
