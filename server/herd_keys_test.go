package server_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/cachetest"
	"github.com/remora-kv/remora/test/scale"
)

// Keys of every length and values up to the longest, by herd and sendrecv as the address
// says it: what does not fit them takes rfp, and nobody has to know.
func TestShortPathsServeEverySize(t *testing.T) {
	for _, path := range []remora.Path{remora.PathHerd, remora.PathSendRecv} {
		t.Run(string(path), func(t *testing.T) { testEverySize(t, path) })
	}
}

func testEverySize(t *testing.T, path remora.Path) {
	eachFabric(t, func(t *testing.T, r *rig) {
		cfg := r.config()
		cfg.Memory, cfg.MaxValue = 4*testMemory, 1<<20
		s := r.start(cfg)
		ctx := testContext(t)
		c, err := remora.Dial(ctx, r.url+"?path="+string(path), remora.WithDevice(r.device()), unhurried)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		caches := map[string]operations{"client": c, "session": session(t, c, remora.WithWindow(8))}
		for name, o := range caches {
			for _, size := range []int{0, 1, 900, 950, 999, 1000, 1001, 1024, 2000, 5000, 64 << 10, 1<<20 - 1, 1 << 20} {
				for _, length := range []int{1, 15, 16, 17, 33, 250, command.MaxKey} {
					key := strings.Repeat(string('a'+byte(size%23)), length)
					value := bytes.Repeat([]byte{byte(size), byte(length), 7}, size/3+1)[:size]
					if _, err := o.Put(ctx, key, remora.Entry{Value: value}, remora.Always()); err != nil {
						t.Fatalf("%s: set of %d bytes for a key of %d: %v", name, size, length, err)
					}
					if got, err := o.GetItem(ctx, key); err != nil || !bytes.Equal(got.Value, value) {
						t.Fatalf("%s: get of %d bytes for a key of %d: %d bytes, %v", name, size, length, len(got.Value), err)
					}
				}
			}
		}
		herd, sendrecv := s.HerdStats(), s.SendRecvStats()
		calls, failures := herd.Calls, herd.Failures
		if path == remora.PathSendRecv {
			calls, failures = sendrecv.Calls, sendrecv.Failures
		}
		if calls == 0 || failures == 0 || herd.Cut+herd.Lost+sendrecv.Cut+sendrecv.Lost != 0 { // a result that does not fit is a failure
			t.Errorf("%+v; %+v", herd, sendrecv)
		}
	})
}

// collidingKeys are different keys of 32 bytes with one hash. The hash multiplies pairs of
// words, each with something of the seed in it: where one factor is 0, the other does not
// matter.
func collidingKeys(t *testing.T, seed store.Seed, n int) []string {
	t.Helper()
	const secret = 0xbe4ba423396cfeb8 // the first word of the secret of XXH3
	keys := make([]string, n)
	for i := range keys {
		b := binary.LittleEndian.AppendUint64(nil, secret+uint64(seed))
		b = binary.LittleEndian.AppendUint64(b, uint64(i)*0x9e3779b97f4a7c15)
		keys[i] = string(append(b, "the same for all"...))
		if seed.HashString(keys[i]) != seed.HashString(keys[0]) {
			t.Fatal("the keys have different hashes")
		}
	}
	return keys
}

// Keys whose hashes are equal, which is all that herd tells the pipeline of a key, never get
// each other's values.
func TestHerdKeysOfOneHash(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		for _, engine := range realEngines {
			t.Run(engine, func(t *testing.T) {
				r := newRig(t, r.fabric)
				cfg := r.config()
				cfg.Engine = engine
				s := r.start(cfg)
				testKeysOfOneHash(t, r, s)
			})
		}
	})
}

func testKeysOfOneHash(t *testing.T, r *rig, s *server.Server) {
	ctx := testContext(t)
	keys := collidingKeys(t, s.Seed(), 6) // a bucket of lru8 has room for them
	c := r.dial(remora.WithPath(remora.PathHerd))
	ss := session(t, c, remora.WithWindow(16))
	for round := range scale.Times(20) {
		b := &batch{t: t, s: ss}
		for i, key := range keys {
			size := []int{1, 40, 500, 1500}[(round+i)%4]
			b.put(key, bytes.Repeat(fmt.Appendf(nil, "%d in %d;", i, round), size/8+1))
			b.get(keys[(i+4)%len(keys)])
			b.get(key)
		}
		b.finish()
		for i, key := range keys {
			if got, err := c.Get(ctx, key); err != nil || !bytes.Equal(got, b.held[key]) {
				t.Fatalf("round %d, key %d: %.30q, %v", round, i, got, err)
			}
			if i%2 == round%2 {
				continue
			}
			if err := c.Delete(ctx, key); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Get(ctx, key); !errors.Is(err, remora.ErrNotFound) {
				t.Fatalf("round %d: key %d was deleted: %v", round, i, err)
			}
		}
		for i, key := range keys { // none was there before the next round
			if i%2 == round%2 {
				if err := c.Delete(ctx, key); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// A session that wants a larger window than the server allows gets that.
func TestWindowOfTheServer(t *testing.T) {
	for path, window := range map[remora.Path]int{
		remora.PathHerd: server.HerdWindow, remora.PathSendRecv: server.SendRecvWindow,
	} {
		t.Run(string(path), func(t *testing.T) { testWindowOfTheServer(t, path, window) })
	}
}

func testWindowOfTheServer(t *testing.T, path remora.Path, window int) {
	eachFabric(t, func(t *testing.T, r *rig) {
		cfg := r.config()
		cfg.Cores = 1
		r.start(cfg)
		ss := session(t, r.dial(remora.WithPath(path)), remora.WithWindow(1000))
		for range scale.Times(10) {
			n := 0
			for ss.StartGet(uint64(n), "nothing") == nil {
				n++
			}
			if n != window {
				t.Fatalf("%d operations were started", n)
			}
			for ss.Pending() != 0 {
				if res, err := ss.Next(testContext(t)); err != nil || !errors.Is(res.Err, remora.ErrNotFound) {
					t.Fatal(err, res.Err)
				}
			}
			if err := ss.StartGet(0, "nothing"); err != nil {
				t.Fatal(err)
			}
			cachetest.Await(t, "the result", func() bool { _, ok := ss.Poll(); return ok })
		}
	})
}
