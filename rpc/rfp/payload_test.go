package rfp_test

import (
	"bytes"
	"testing"

	"github.com/remora-kv/remora/rpc/rfp"
)

// Frames hold as many bytes as both ends allow.
func TestPayloadIsWhatBothEndsAllow(t *testing.T) {
	const length = 5000
	eachFabric(t, func(t *testing.T, r *rig) {
		for _, of := range []struct{ server, client, frames int }{
			{8192, 8192, 1}, {8192, 16384, 1}, {8192, 0, 3}, {0, 8192, 3}, {1024, 8192, 5},
		} {
			r.serve(rfp.ServerConfig{Payload: of.server, Bulk: -1})
			c := r.dial(rfp.ConnConfig{Payload: of.client})
			arg := longPattern(length, of.frames)
			if got, err := call(t, c, procEcho, arg); err != nil || !bytes.Equal(got, arg) {
				t.Fatalf("%+v: %d bytes, %v", of, len(got), err)
			}
			if n := c.Stats().Frames; n != uint64(of.frames) {
				t.Errorf("%+v: %d frames were sent", of, n)
			}
			_ = r.server.Close()
		}
	})
}
