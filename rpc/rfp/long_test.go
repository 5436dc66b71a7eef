package rfp_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

// longPattern is a message that shows which bytes of it are where.
func longPattern(n, salt int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i>>16*31 + i>>8*7 + i + salt)
	}
	return b
}

// Messages longer than a frame, than a piece and than the area for pieces come
// whole, in both directions, with and without an area, alone and several on their
// way.
func TestLongMessages(t *testing.T) {
	const area = 64 << 10
	sizes := []int{0, 1, 2040, 2050, 4096, area/4 - 1, area / 4, area/4 + 1, area - 7, area, area + 1, 3*area + 5, 500_000}
	eachFabric(t, func(t *testing.T, r *rig) {
		r.mux.Handle(procSpin, func(c *rpc.Call, out []byte) ([]byte, error) {
			c.After = c.Request[len(c.Request)/3:]
			return c.Request[:len(c.Request)/3], nil
		})
		r.serve(rfp.ServerConfig{Bulk: area})
		for name, cfg := range map[string]rfp.ConnConfig{
			"area":    {Bulk: area},
			"reply":   {Bulk: area, Params: rfp.Params{Mode: rfp.Reply, Pinned: true}},
			"small":   {Bulk: 8 << 10, Window: 2},
			"alone":   {Bulk: area, Window: 1},
			"no area": {Bulk: -1},
		} {
			t.Run(name, func(t *testing.T) {
				c := r.dial(cfg)
				for i, n := range sizes {
					want := longPattern(n, i)
					for _, proc := range []uint16{procEcho, procSpin} {
						if got, err := call(t, c, proc, want); err != nil || !bytes.Equal(got, want) {
							t.Fatalf("%d bytes by procedure %d: %d came, %v", n, proc, len(got), err)
						}
					}
				}
				checkLongWindow(t, c, sizes)
			})
		}
	})
}

// checkLongWindow has several long messages on their way, taken late.
func checkLongWindow(t *testing.T, c *rfp.Conn, sizes []int) {
	t.Helper()
	for round := range 3 {
		var want [][]byte
		for i, n := range sizes {
			msg := longPattern(n, i*round)
			if c.Send(uint8(procEcho), request(procEcho, msg)) != nil {
				break // the window is full
			}
			want = append(want, msg)
		}
		for i, msg := range want {
			if !c.Wait(0) {
				t.Fatal(c.Err())
			}
			got, err, ok := c.Next()
			if !ok || err != nil || !bytes.Equal(got, msg) {
				t.Fatalf("message %d of %d, %d bytes: %d came, %v", i, len(want), len(msg), len(got), err)
			}
		}
	}
}

// Two clients, of which one does not take its long result: the other goes on, and
// the first gets it whole when it looks.
func TestLongResultNotTaken(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.serve(rfp.ServerConfig{Bulk: 64 << 10})
		lazy, busy := r.dial(rfp.ConnConfig{}), r.dial(rfp.ConnConfig{})
		long := longPattern(400_000, 1)
		for round := range 3 {
			if err := lazy.Send(uint8(procDouble), request(procDouble, long)); err != nil {
				t.Fatal(err)
			}
			for i := range 50 {
				want := fmt.Sprint("busy ", i)
				if got, err := call(t, busy, procEcho, []byte(want)); err != nil || string(got) != want {
					t.Fatalf("%q, %v", got, err)
				}
			}
			if !lazy.Wait(0) {
				t.Fatal(lazy.Err())
			}
			got, err, ok := lazy.Next()
			if !ok || err != nil || !bytes.Equal(got[:len(long)], long) || !bytes.Equal(got[len(long):], long) {
				t.Fatalf("round %d: %d bytes came, %v", round, len(got), err)
			}
		}
		if st := s.Stats(); st.Cut+st.Lost != 0 {
			t.Errorf("%+v", st)
		}
	})
}
