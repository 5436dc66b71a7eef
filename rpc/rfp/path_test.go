package rfp_test

import (
	"bytes"
	"testing"

	"github.com/remora-kv/remora/rpc/rfp"
)

func pattern(n, seed int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8 + seed)
	}
	return b
}

func TestCallsOfEverySize(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(rfp.ServerConfig{})
		for _, mode := range []rfp.Mode{rfp.Fetch, rfp.Reply} {
			r.callEverySize(t, mode)
		}
	})
}

// callEverySize is the client's part.
func (r *rig) callEverySize(t *testing.T, mode rfp.Mode) {
	c := r.dial(rfp.ConnConfig{Params: rfp.Params{Pinned: true, Mode: mode}})
	for i, n := range []int{0, 1, 7, 8, 31, 32, 33, 64, 200, 239, 240, 241, 256, 1000, 2000, 2040, 2042, 2043, 2048, 4096, 9000, 70_000, 500_000} {
		arg := pattern(n, i)
		got, err := call(t, c, procEcho, arg)
		if err != nil || !bytes.Equal(got, arg) {
			t.Fatalf("%v: echo of %d bytes: %d bytes, %v", mode, n, len(got), err)
		}
		got, err = call(t, c, procDouble, arg)
		if err != nil || !bytes.Equal(got, append(arg, arg...)) {
			t.Fatalf("%v: doubling %d bytes: %d bytes, %v", mode, n, len(got), err)
		}
	}
	t.Logf("%v: %+v", mode, c.Stats())
}
