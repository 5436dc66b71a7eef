package mica

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/remora-kv/remora/store"
)

// rig is a table of a test. It is checked and closed at the end of the test.
type rig struct {
	testing.TB
	*Table
	now int64
}

// with are changes of a configuration.
func memory(n int64) func(*store.Config) { return func(c *store.Config) { c.Memory = n } }

func keeping(c *store.Config) { c.Mode = store.Store }

func fifo(c *store.Config) { c.Eviction = store.FIFO }

func largest(n int) func(*store.Config) { return func(c *store.Config) { c.MaxValue = n } }

func newRig(tb testing.TB, with ...func(*store.Config)) *rig {
	tb.Helper()
	cfg := store.Config{Arena: store.NewArena(nil), Memory: 1 << 20, Seed: 0x5eed}
	for _, change := range with {
		change(&cfg)
	}
	tb.Cleanup(func() {
		if left := cfg.Arena.Usage(); len(left) > 0 {
			tb.Errorf("memory is left: %+v", left)
		}
	})
	return newRigOf(tb, cfg)
}

// newRigOf makes a rig in an arena that others may share.
func newRigOf(tb testing.TB, cfg store.Config) *rig {
	tb.Helper()
	t, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	r := &rig{TB: tb, Table: t, now: 1}
	tb.Cleanup(func() {
		r.check()
		if err := t.Close(); err != nil {
			tb.Error(err)
		}
	})
	return r
}

func (r *rig) check() {
	r.Helper()
	if err := r.Check(); err != nil {
		r.Fatal(err)
	}
	if st := r.Stats(); st.IndexBytes+st.ItemBytes > int64(len(r.mem)) || int64(len(r.mem))+tableBytes > st.Memory {
		r.Fatalf("%d bytes of index and %d of items in %d, the memory is %d", st.IndexBytes, st.ItemBytes, len(r.mem), st.Memory)
	}
}

// key returns a key with the hash that the table computes.
func (r *rig) key(name []byte) store.Key { return store.Key{Hash: r.hash(name), Bytes: name} }

// numbered returns key number i with a size of at least 8 bytes.
func numbered(i, size int) []byte {
	key := make([]byte, size)
	binary.BigEndian.PutUint64(key, uint64(i))
	return key
}

// pattern returns a value that differs from others of its size.
func pattern(seed uint64, size int) []byte {
	value := make([]byte, size)
	state := rand.NewPCG(seed, 0)
	for i := range value {
		if i%8 == 0 {
			seed = state.Uint64()
		}
		value[i] = byte(seed >> (i % 8 * 8))
	}
	return value
}

func (r *rig) try(key, value []byte) error {
	_, err := r.Put(r.key(key), store.Entry{Value: value}, store.Always(), r.now)
	return err
}

func (r *rig) put(key, value []byte) {
	r.Helper()
	if err := r.try(key, value); err != nil {
		r.Fatalf("Put of %d and %d bytes: %v", len(key), len(value), err)
	}
}

// fill puts items numbered from first on until one is refused, and returns how
// many were accepted.
func (r *rig) fill(first, keySize, valueSize int) int {
	r.Helper()
	for i := 0; ; i++ {
		err := r.try(numbered(first+i, keySize), pattern(uint64(first+i), valueSize))
		if errors.Is(err, store.ErrFull) {
			return i
		}
		if err != nil {
			r.Fatal(err)
		}
	}
}

// has reports whether an item exists, and fails if its value is not the pattern of its
// number.
func (r *rig) has(i, keySize, valueSize int) bool {
	r.Helper()
	item, err := r.Get(r.key(numbered(i, keySize)), r.now)
	if err != nil {
		return false
	}
	if !bytes.Equal(item.Value, pattern(uint64(i), valueSize)) {
		r.Fatalf("item %d has another value", i)
	}
	return true
}

func (r *rig) remove(i, keySize int) {
	r.Helper()
	if err := r.Delete(r.key(numbered(i, keySize)), store.Always(), r.now); err != nil {
		r.Fatalf("Delete of item %d: %v", i, err)
	}
}

// overhead returns what an item costs beside its key and value.
func (r *rig) overhead() float64 {
	st := r.Stats()
	return float64(st.IndexBytes+st.ItemBytes-st.KeyBytes-st.ValueBytes) / float64(st.Items)
}

// seeded returns a generator whose seed is logged if the test fails.
func seeded(tb testing.TB, n uint64) *rand.Rand {
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("seed %d", n)
		}
	})
	return rand.New(rand.NewPCG(n, 0))
}

// eachMode runs a test in the three modes of a table.
func eachMode(t *testing.T, f func(t *testing.T, with func(*store.Config))) {
	for name, with := range map[string]func(*store.Config){
		"cache": func(*store.Config) {}, "fifo": fifo, "store": keeping,
	} {
		t.Run(name, func(t *testing.T) { f(t, with) })
	}
}

func (r *ring) String() string {
	return fmt.Sprintf("tail %d, head %d, end %d, wrapped %v, dead %d", r.tail, r.head, r.end, r.wrapped, r.dead)
}
