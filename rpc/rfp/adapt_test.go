package rfp_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/rpc/rfp/tune"
)

// flood makes n calls with as many on their way as fit, and checks the results.
func flood(t *testing.T, c *rfp.Conn, n int, arg []byte) {
	t.Helper()
	msg := request(procEcho, arg)
	for sent, got := 0, 0; got < n; {
		for sent < n && c.Send(1, msg) == nil {
			sent++
		}
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		if !c.Wait(patience) {
			t.Fatalf("%d of %d results: %v", got, n, c.Err())
		}
		for {
			data, err, ok := c.Next()
			if !ok {
				break
			}
			if err != nil || !bytes.Equal(data, arg) {
				t.Fatalf("result %d: %q, %v", got, data, err)
			}
			got++
		}
	}
}

func TestAutoBatchFollowsTheLimit(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(rfp.ServerConfig{})
		up := r.dial(rfp.ConnConfig{Batch: 1, AutoBatch: &rfp.AutoBatch{Limit: time.Hour, Max: 4}})
		flood(t, up, 8_000, []byte("0123456789"))
		if up.Batch() != 4 {
			t.Errorf("no message took an hour, and the batch size is %d of at most 4", up.Batch())
		}
		down := r.dial(rfp.ConnConfig{Batch: 4, AutoBatch: &rfp.AutoBatch{Limit: time.Nanosecond, Max: 4}})
		flood(t, down, 8_000, []byte("0123456789"))
		if down.Batch() != 1 {
			t.Errorf("every message took longer than a nanosecond, and the batch size is %d", down.Batch())
		}
	})
}

func TestAutoTuneFetchesWholeResults(t *testing.T) {
	// With READs that take an hour one is enough for any process time, however
	// busy this machine is: what is left to choose is F.
	readings := []tune.Reading{}
	for _, size := range []int{64, 128, 256, 512, 1024, 2048} {
		rate := 1e9 / float64(100+size/16)
		readings = append(readings, tune.Reading{Size: size, Reads: rate, ReadTime: time.Hour, Replies: rate / 5})
	}
	profile, err := tune.NewProfile("loop", readings)
	if err != nil {
		t.Fatal(err)
	}
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(rfp.ServerConfig{})
		c := r.dial(rfp.ConnConfig{
			Params:   rfp.Params{Pinned: true, FetchSize: 64},
			AutoTune: &rfp.AutoTune{Profile: profile, TunerConfig: tune.TunerConfig{Period: time.Nanosecond, Results: 100}},
		})
		arg := bytes.Repeat([]byte("x"), 300)
		for n := 0; c.Choice().F < 312; n++ {
			if flood(t, c, 1000, arg); n == 20 {
				t.Fatalf("results take 312 bytes, and F is %d", c.Choice().F)
			}
		}
		before := c.Stats()
		flood(t, c, 1000, arg)
		if n := c.Stats().Rests - before.Rests; n != 0 {
			t.Errorf("%d second READs", n)
		}
	})
}
