package mica

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/remora-kv/remora/internal/arena"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/scale"
)

// told is a link, and the change of a key that it was made for.
type told struct {
	store.Link
	n    uint64
	size int
}

// hammeredKeys is the number of keys that change; the table cannot hold all of them at their longest.
const hammeredKeys = 12

// sharing makes a table in memory that other processes could map: the race detector does not watch it,
// and readers rely on checksums.
func sharing(cfg *store.Config) {
	under := arena.New()
	cfg.Arena = store.NewArena(func(purpose string, size int, writable bool) ([]byte, any, func() error, error) {
		seal := arena.ReadOnlyForOthers
		if writable {
			seal = arena.ReadWriteForOthers
		}
		b, err := under.AllocShared(purpose, size, seal)
		if err != nil {
			return nil, nil, nil, err
		}
		return b.Bytes(), nil, b.Free, nil
	})
}

// hammerFill writes the value of change n of key i; every word of it identifies the change.
func hammerFill(b []byte, i int, n uint64) {
	for at := 0; at < len(b); at += 8 {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], n<<32|uint64(i)<<24|uint64(at/8))
		copy(b[at:], word[:])
	}
}

// hammerFault returns the fault in the value of change n of key i, or "".
func hammerFault(b []byte, i int, n uint64) string {
	for at := 0; at+8 <= len(b); at += 8 {
		if v := binary.LittleEndian.Uint64(b[at:]); v != n<<32|uint64(i)<<24|uint64(at/8) {
			return fmt.Sprintf("%#x at %d of %d, of change %d of key %d", v, at, len(b), n, i)
		}
	}
	return ""
}

// While values of all lengths are written, also past the caches, a reader that follows a link
// finds the change that it was made for, whole, or nothing (M4, M10).
func TestLinksUnderFire(t *testing.T) {
	r := newRig(t, memory(4<<20), largest(1<<20), sharing)
	random := seeded(t, 11)
	var links [hammeredKeys]atomic.Pointer[told]
	var stop atomic.Bool
	var readers sync.WaitGroup
	var followers [2]follower
	for i := range followers {
		followers[i] = follower{T: t, table: r.Table, links: &links, random: seeded(t, 12+uint64(i))}
		readers.Go(func() { followers[i].run(&stop) })
	}
	value := make([]byte, pastCaches+300<<10)
	for n := uint64(1); n <= uint64(scale.Times(3000)) && !t.Failed(); n++ {
		i := random.IntN(hammeredKeys)
		size := []int{random.IntN(300), longValue + random.IntN(longValue), pastCaches + random.IntN(300<<10)}[random.IntN(3)]
		hammerFill(value[:size], i, n)
		k := hammerKey(r.Table, i)
		if _, err := r.Put(k, store.Entry{Value: value[:size], Flags: uint32(n)}, store.Always(), 1); err != nil {
			t.Fatal(err)
		}
		if l, ok := r.LinkOf(k); ok {
			l.Sum = store.LinkSum(value[:size], uint32(n))
			links[i].Store(&told{Link: l, n: n, size: size})
		}
	}
	stop.Store(true)
	readers.Wait()
	for i := range followers {
		c := &followers[i]
		t.Logf("%d links followed: %d found, %d of them past the caches", c.followed, c.found, c.past)
		if c.past == 0 && !t.Failed() {
			t.Error("no value that went past the caches was found")
		}
	}
}

func hammerKey(t *Table, i int) store.Key {
	key := fmt.Appendf(nil, "key %d", i)
	return store.Key{Hash: t.hash(key), Bytes: key}
}

// follower follows links as a client does.
type follower struct {
	*testing.T
	table                 *Table
	links                 *[hammeredKeys]atomic.Pointer[told]
	random                *rand.Rand
	buf                   []byte
	followed, found, past int
}

func (c *follower) run(stop *atomic.Bool) {
	for !c.Failed() && (!stop.Load() || c.past == 0 && c.followed < 100_000) {
		i := c.random.IntN(hammeredKeys)
		if l := c.links[i].Load(); l != nil {
			c.follow(i, l)
		}
	}
}

// follow copies the span of a link as a fabric does, sometimes with a pause in the middle.
func (c *follower) follow(i int, l *told) {
	f := &Finder{}
	span := f.Follow(hammerKey(c.table, i), l.Link)
	from := c.table.Export().Areas[span.Area].Bytes()[span.Off:][:span.Len]
	if cap(c.buf) < span.Len {
		c.buf = make([]byte, span.Len)
	}
	b := c.buf[:span.Len]
	cut := 0
	if c.random.IntN(4) == 0 {
		cut = c.random.IntN(span.Len) &^ 7
		fence.CopyIn(b, from[:cut])
		runtime.Gosched()
	}
	fence.CopyIn(b[cut:], from[cut:])
	c.followed++
	if _, o := f.Look(b); o != store.Found {
		return
	}
	item := f.Item()
	c.found++
	if len(item.Value) >= pastCaches {
		c.past++
	}
	if fault := hammerFault(item.Value, i, l.n); fault != "" || len(item.Value) != l.size || item.Flags != uint32(l.n) {
		c.Errorf("a link to change %d of key %d, of %d bytes, led to %d bytes with flags %d: %s", l.n, i, l.size, len(item.Value), item.Flags, fault)
	}
}
