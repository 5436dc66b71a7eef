package storetest

import (
	"encoding/binary"
	"testing"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
)

// Seed keys the hashes of Key.
const Seed store.Seed = 7

// Key returns key number i, of 16 bytes.
func Key(i int) store.Key {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 16), uint64(i))
	return Seed.Key(append(b, "12345678"...))
}

// Colliding returns key number i of those with one common hash.
func Colliding(i int) store.Key {
	k := Key(i)
	k.Hash = 0x1234567800000000
	return k
}

// Value returns a value of n bytes, different for most keys.
func Value(k store.Key, n int) []byte {
	v := make([]byte, n)
	for i := range v {
		v[i] = k.Bytes[7] + byte(i)
	}
	return v
}

// Rig is a partition in a test of one engine. At the end of the test it is checked and
// closed.
type Rig struct {
	testing.TB
	Partition store.Partition
}

// NewRig returns a Rig for a new partition. If err is not nil it fails the test.
func NewRig(tb testing.TB, p store.Partition, err error) Rig {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	r := Rig{tb, p}
	tb.Cleanup(func() {
		r.MustCheck()
		if err := p.Close(); err != nil {
			tb.Error(err)
		}
	})
	return r
}

// MustCheck fails the test if Check returns an error.
func (r Rig) MustCheck() {
	r.Helper()
	if err := r.Partition.Check(); err != nil {
		r.Fatal(err)
	}
}

// MustPut puts a Value of n bytes, or fails the test.
func (r Rig) MustPut(k store.Key, n int) uint64 {
	r.Helper()
	version, err := r.Partition.Put(k, store.Entry{Value: Value(k, n)}, store.Always(), 0)
	if err != nil {
		r.Fatalf("Put of %d bytes: %v", n, err)
	}
	return version
}

// Has reports whether a key exists. It fails the test if the value is wrong.
func (r Rig) Has(k store.Key) bool {
	r.Helper()
	item, err := r.Partition.Get(k, 0)
	if err != nil {
		return false
	}
	if string(item.Value) != string(Value(k, len(item.Value))) {
		r.Fatalf("key %x: wrong value", k.Bytes)
	}
	return true
}

// FillUp puts items from number first on until one is refused, and returns how many were
// accepted.
func (r Rig) FillUp(first, size int) int {
	r.Helper()
	for n := 0; ; n++ {
		k := Key(first + n)
		if _, err := r.Partition.Put(k, store.Entry{Value: Value(k, size)}, store.Always(), 0); err != nil {
			return n
		}
	}
}

// Reader is a client that finds items by reading the exported memory of an engine.
type Reader struct {
	tb     testing.TB
	finder store.Finder
	areas  []store.Block
	buf    []byte
	Spans  int // number of spans of the last search
}

// NewReader returns a Reader that searches by a Finder.
func NewReader(tb testing.TB, f store.Finder, e store.Export) *Reader {
	return &Reader{tb: tb, finder: f, areas: e.Areas}
}

// ReadSpan returns a copy of a span, which is valid until the next one.
func (r *Reader) ReadSpan(s store.Span) []byte {
	r.tb.Helper()
	if s.Area >= len(r.areas) || faultOfSpan(s) != "" || s.Off > int64(r.areas[s.Area].Size()-s.Len) {
		r.tb.Fatalf("a Finder asks for %+v: %s", s, faultOfSpan(s))
	}
	if cap(r.buf) < s.Len {
		r.buf = make([]byte, s.Len)
	}
	b := r.buf[:s.Len]
	fence.CopyIn(b, r.areas[s.Area].Bytes()[s.Off:][:s.Len])
	return b
}

// Search looks for a key. It calls between, if not nil, before each span but the first.
func (r *Reader) Search(k store.Key, between func(n int)) store.Outcome {
	r.tb.Helper()
	span := r.finder.Start(k)
	for r.Spans = 1; ; r.Spans++ {
		next, outcome := r.finder.Look(r.ReadSpan(span))
		if outcome != store.More {
			return outcome
		}
		span = next
		if between != nil {
			between(r.Spans)
		}
	}
}
