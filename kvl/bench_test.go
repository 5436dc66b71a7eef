package kvl_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/remora-kv/remora/kvl"
)

// nodeKey appends the key of a node of a graph.
func nodeKey(b []byte, n int) []byte {
	return strconv.AppendInt(append(b[:0], "node/"...), int64(n), 10)
}

func newBuilder(tb testing.TB, cfg kvl.Config) *kvl.Builder {
	tb.Helper()
	b, err := kvl.NewBuilder(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(b.Close)
	return b
}

func seal(tb testing.TB, b *kvl.Builder) *kvl.Image {
	tb.Helper()
	m, err := b.Seal(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := m.Close(); err != nil {
			tb.Error(err)
		}
	})
	return m
}

// buildPairs builds n items of 48 bytes, each with two links to random items.
func buildPairs(tb testing.TB, n int) *kvl.Image {
	b := newBuilder(tb, kvl.Config{Generation: 1})
	num := names(b, "node", "value", "left", "right")
	var key, to []byte
	value := make([]byte, 48)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		key = nodeKey(key, i)
		binary.LittleEndian.PutUint64(value, uint64(i))
		b.Begin(num[0], key)
		b.Bytes(num[1], value)
		to = nodeKey(to, rng.IntN(n))
		b.Link(num[2], to)
		to = nodeKey(to, rng.IntN(n))
		b.Link(num[3], to)
		if err := b.End(); err != nil {
			tb.Fatal(err)
		}
	}
	m, err := b.Seal(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func BenchmarkBuildItems(b *testing.B) {
	const n = 1 << 20
	for b.Loop() {
		m := buildPairs(b, n)
		if err := m.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds()/1e6, "Mitems/s")
}

// The graph of followers: 1 M nodes, 22 M edges in random order.
func BenchmarkBuildEdges(b *testing.B) {
	const nodes, edges = 1_000_000, 22_000_000
	for b.Loop() {
		bld := newBuilder(b, kvl.Config{Generation: 1})
		num := names(bld, "node", "follows")
		var from, to []byte
		for i := range nodes {
			from = nodeKey(from, i)
			bld.Begin(num[0], from)
			if err := bld.End(); err != nil {
				b.Fatal(err)
			}
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for range edges {
			from = nodeKey(from, rng.IntN(nodes))
			to = nodeKey(to, rng.IntN(nodes))
			bld.Edge(from, num[1], to)
		}
		m, err := bld.Seal(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		if err := m.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(edges*float64(b.N)/b.Elapsed().Seconds()/1e6, "Medges/s")
}

// Random lookups of 1 M items.
func BenchmarkLookup(b *testing.B) {
	const n = 1 << 20
	m := buildPairs(b, n)
	defer m.Close()
	rng := rand.New(rand.NewPCG(3, 4))
	keys := make([][]byte, 1<<16)
	for i := range keys {
		keys[i] = nodeKey(nil, rng.IntN(n))
	}
	i := 0
	for b.Loop() {
		if _, ok := m.Lookup(keys[i&(len(keys)-1)]); !ok {
			b.Fatalf("%s does not exist", keys[i&(len(keys)-1)])
		}
		i++
	}
}

func BenchmarkParseItem(b *testing.B) {
	m := buildPairs(b, 1000)
	defer m.Close()
	l, _ := m.Lookup([]byte("node/7"))
	rec, _ := m.Record(l)
	b.ReportMetric(float64(len(rec)), "bytes")
	for b.Loop() {
		if _, err := kvl.ParseItem(rec, l, 1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkItemLink(b *testing.B) {
	m := buildPairs(b, 1000)
	defer m.Close()
	l, _ := m.Lookup([]byte("node/7"))
	it, err := m.Item(l)
	if err != nil {
		b.Fatal(err)
	}
	right, _ := m.Schema().Number("right")
	for b.Loop() {
		if l, ok := it.Link(right); !ok || l.IsZero() {
			b.Fatal("no link")
		}
	}
}
