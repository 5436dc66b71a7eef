package mica

import (
	"math/rand/v2"
	"testing"

	"github.com/remora-kv/remora/store"
)

// BenchmarkHotKey puts a few keys with values of varying sizes between gets of many, which are put after
// misses. It reports the share of gets that hit, and how many bytes of the log a put of a hot key takes.
func BenchmarkHotKey(b *testing.B) {
	for _, c := range []struct {
		name        string
		least, most int // bytes of values
	}{{"sizes=96-104", 96, 104}, {"sizes=100-1000", 100, 1000}} {
		b.Run(c.name, func(b *testing.B) {
			t := newBenchTable(b, 4<<20, store.Cache, store.SecondChance)
			random := rand.New(rand.NewPCG(1, 2))
			popular := rand.NewZipf(random, 1.01, 1, 60_000)
			hot := make([]byte, c.most)
			t.value = make([]byte, 100)
			taken, puts, gets, hits := 0, 0, 0, 0
			for b.Loop() {
				for range 1000 {
					k := t.keyOf(1<<32 + random.Uint64N(8))
					before := t.ring
					if _, err := t.Put(k, store.Entry{Value: hot[:c.least+random.IntN(c.most-c.least+1)]}, store.Always(), 0); err != nil {
						b.Fatal(err)
					}
					taken += before.advance(&t.ring)
					i := popular.Uint64()
					if _, err := t.Get(t.keyOf(i), 0); err == nil {
						hits++
					} else {
						t.put(b, i)
					}
					puts, gets = puts+1, gets+1
				}
			}
			b.ReportMetric(100*float64(hits)/float64(gets), "hit-%")
			b.ReportMetric(float64(taken)/float64(puts), "log-B/put")
		})
	}
}

// advance returns how far the head has moved from r to now.
func (r *ring) advance(now *ring) int {
	if now.head >= r.head {
		return now.head - r.head
	}
	return now.head - logStart + max(now.end-r.head, 0)
}
