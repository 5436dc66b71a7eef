package remora_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/affinity"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/server"
)

// benchKeys is how many keys there are, of 16 bytes with values of 32.
const benchKeys = 1 << 10

// bench is a server on a CPU of its own, with items, and this goroutine on another.
func bench(b *testing.B) (r *rig, keys []string) {
	b.Helper()
	cpus, err := affinity.Apart(2)
	if err != nil {
		b.Skip(err)
	}
	r = newRig(b, provider.Shm)
	r.start(server.Config{CPUs: cpus[1:], BusyPoll: true})
	unpin, err := affinity.Pin(cpus[0])
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(unpin)
	c := r.dial()
	for i := range benchKeys {
		keys = append(keys, fmt.Sprintf("key-%012d", i))
		if _, err := c.Set(context.Background(), keys[i], make([]byte, 32), 0); err != nil {
			b.Fatal(err)
		}
	}
	return r, keys
}

// shapes are windows and batches.
var shapes = []struct{ window, batch int }{{1, 1}, {8, 1}, {4, 4}, {4, 16}, {8, 32}}

func options(window, batch int) []remora.Option {
	return []remora.Option{
		remora.WithWindow(window), remora.WithBatch(batch), remora.WithBusyPoll(true), remora.WithFetch(64*batch, 0),
	}
}

// BenchmarkStarted is a session with operations in flight, against the bare
// connection with the same messages: the difference is what the session costs.
func BenchmarkStarted(b *testing.B) {
	for _, s := range shapes {
		name := fmt.Sprintf("window=%d/batch=%d", s.window, s.batch)
		b.Run("bare/"+name, func(b *testing.B) { benchBare(b, s.window, s.batch) })
		b.Run("session/"+name, func(b *testing.B) { benchStarted(b, s.window, s.batch) })
	}
}

func benchBare(b *testing.B, window, batch int) {
	r, keys := bench(b)
	c, err := rfp.Dial(context.Background(), r.addr, rfp.ConnConfig{
		Device: r.device(), Window: window, Batch: batch, Policy: fabric.Busy, Params: rfp.Params{FetchSize: 64 * batch},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	b.ResetTimer()
	for sent, got := 0, 0; got < b.N; {
		for sent < b.N && c.Outstanding() < window*batch {
			key := keys[sent%benchKeys]
			m, err := c.Reserve(uint8(command.Get), 2+len(key))
			if err != nil {
				b.Fatal(err)
			}
			binary.LittleEndian.PutUint16(m, uint16(command.Get))
			copy(m[2:], key)
			if err := c.Commit(); err != nil {
				b.Fatal(err)
			}
			sent++
		}
		if sent == b.N {
			_ = c.Flush()
		}
		if !c.Wait(0) {
			b.Fatal(c.Err())
		}
		for {
			_, _, ok := c.Next()
			if !ok {
				break
			}
			got++
		}
	}
}

func benchStarted(b *testing.B, window, batch int) {
	r, keys := bench(b)
	s, ctx := session(b, r.dial(), options(window, batch)...), context.Background()
	b.ResetTimer()
	for sent, got := 0, 0; got < b.N; {
		for sent < b.N && s.Pending() < window*batch {
			if err := s.StartGet(uint64(sent), keys[sent%benchKeys]); err != nil {
				b.Fatal(err)
			}
			sent++
		}
		res, err := s.Next(ctx)
		for ok := true; ok; res, ok = s.Poll() {
			if err != nil || res.Err != nil || res.Tag != uint64(got) {
				b.Fatal(res, err)
			}
			got++
		}
	}
}

// BenchmarkGet is one Get after the other.
func BenchmarkGet(b *testing.B) {
	for _, kind := range []string{"client", "session"} {
		b.Run(kind, func(b *testing.B) {
			r, keys := bench(b)
			c := r.dial(options(8, 32)...)
			o := ops(c)
			if kind == "session" {
				o = session(b, c, remora.WithBatch(1))
			}
			ctx, buf := context.Background(), make([]byte, 0, 100)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if _, err := o.GetInto(ctx, keys[i%benchKeys], buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSet is one Set after the other.
func BenchmarkSet(b *testing.B) {
	for _, kind := range []string{"client", "session"} {
		b.Run(kind, func(b *testing.B) {
			r, keys := bench(b)
			c := r.dial(options(8, 32)...)
			o := ops(c)
			if kind == "session" {
				o = session(b, c, remora.WithBatch(1))
			}
			ctx, value := context.Background(), make([]byte, 32)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if _, err := o.Set(ctx, keys[i%benchKeys], value, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkManyGoroutines is Get by goroutines that share a client.
func BenchmarkManyGoroutines(b *testing.B) {
	for _, n := range []int{1, 16, 256} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := newRig(b, provider.Shm)
			r.start(server.Config{})
			c, ctx := r.dial(), context.Background()
			if _, err := c.Set(ctx, "key", make([]byte, 32), 0); err != nil {
				b.Fatal(err)
			}
			b.SetParallelism(n)
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				buf := make([]byte, 0, 100)
				for pb.Next() {
					if _, err := c.GetInto(ctx, "key", buf); err != nil {
						b.Error(err)
						return
					}
				}
			})
			k := c.Counters()
			b.ReportMetric(float64(k.Calls)/float64(k.Batches), "calls/frame")
		})
	}
}

// BenchmarkGetMulti gets 100 keys at once.
func BenchmarkGetMulti(b *testing.B) {
	r, keys := bench(b)
	c, ctx := r.dial(), context.Background()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if items, err := c.GetMulti(ctx, keys[:100]); err != nil || len(items) != 100 {
			b.Fatal(err)
		}
	}
	k := c.Counters()
	b.ReportMetric(float64(k.Calls)/float64(k.Batches), "calls/frame")
}
