package rfp_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/rpc/wire"
)

// A message that was put together from several entries, or left over when its frame
// had to wait, is not the one that was announced in its place.
func TestAnnouncedOfParts(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		var mu sync.Mutex
		var served []string
		r.serve(rfp.ServerConfig{
			Expect: func(int, [][]byte) {},
			Serve: func(c *rpc.Call, msg, out []byte) ([]byte, error) {
				mu.Lock()
				defer mu.Unlock()
				served = append(served, fmt.Sprint(c.Announced, string(msg)))
				if string(msg) == "long" {
					return make([]byte, 50_000), nil
				}
				return out, nil
			},
		})
		got := func() string { mu.Lock(); defer mu.Unlock(); return fmt.Sprint(served) }
		c := r.raw(nil)
		c.send(slices.Concat(entry([]byte("a"), 0), entry([]byte("b"), wire.More), entry([]byte("c"), 0),
			entry([]byte("d"), 0), entry(nil, wire.More), entry([]byte("e"), 0)), wire.Word1{Entries: 4})
		c.awaitAnswer(1)
		if got() != "[1a 0bc 4d 6e]" {
			t.Errorf("served %v", got())
		}
		mu.Lock()
		served = nil
		mu.Unlock()
		// What is left of a frame that had to wait was announced long ago.
		c.send(entries([]byte("a"), []byte("long"), []byte("b"), []byte("c")), wire.Word1{Entries: 4, Taken: 1})
		count := func() int { mu.Lock(); defer mu.Unlock(); return len(served) }
		for n := uint64(2); count() < 4; n++ {
			c.awaitAnswer(n)
			c.write(rawTaken, binary.LittleEndian.AppendUint64(nil, n))
			if n == 26 {
				await(t, "the rest", func() bool { return count() == 4 })
			}
		}
		if got() != "[1a 2long 0b 0c]" {
			t.Errorf("served %v", got())
		}
	})
}
