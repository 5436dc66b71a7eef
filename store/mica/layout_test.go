package mica

import (
	"math/bits"
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/scale"
)

func TestMetaHoldsAll(t *testing.T) {
	for _, c := range []struct {
		keyLen, valueLen int
		flags            uint32
		expires          int64
		version          uint64
		extra            int
	}{
		{0, 0, 0, 0, 1, 0},
		{store.MaxKey, store.MaxValueLimit, 0, 0, store.MaxVersion, 0},
		{1, 2, 3, 0, 1 << 32, 4},
		{16, 32, 0, -1, 1<<32 - 1, 8},
		{store.MaxKey, store.MaxValueLimit, 1 << 31, 1 << 62, store.MaxVersion, 12},
	} {
		m := makeMeta(c.keyLen, c.valueLen, c.flags, c.expires, c.version)
		if m.keyLen() != c.keyLen || m.valueLen() != c.valueLen || m.extra() != c.extra || uint64(m&0xffff) != c.version>>32 {
			t.Errorf("%+v becomes key %d, value %d, extra %d, version %#x", c, m.keyLen(), m.valueLen(), m.extra(), m&0xffff)
		}
		if m&(metaState|metaSlack) != 0 {
			t.Errorf("%+v has a state: %#x", c, uint64(m))
		}
		if want := 16 + c.extra + c.keyLen + c.valueLen; m.length() != want {
			t.Errorf("%+v is of %d bytes, want %d", c, m.length(), want)
		}
	}
}

// Positions of all offsets in a block fit, whatever its size.
func TestGeometry(t *testing.T) {
	for size, want := range map[int]uint{
		store.MinMemory: 3, 1 << 30: 3, 12 << 30: 3, 1<<35 - pageSize: 3,
		1 << 35: 4, 1<<36 - pageSize: 4, 1 << 36: 5, MaxMemory - pageSize: 5,
	} {
		if got := geometry(size); got != want || (size-lineSize)>>got >= reserved {
			t.Errorf("a block of %d bytes has granules of 1<<%d, want %d", size, got, want)
		}
	}
}

func TestMatches(t *testing.T) {
	random := seeded(t, 1)
	for range 20_000 {
		var l line
		for i := range l {
			l[i] = byte(random.IntN(1 << random.IntN(9)))
		}
		tag := byte(random.IntN(256))
		if random.IntN(2) == 0 {
			tag = l[random.IntN(lineSlots)]
		}
		got := map[int]bool{}
		for set := l.matches(tag); set != 0; set &= set - 1 {
			got[slotOf(set)] = true
		}
		for i := range lineSlots {
			if got[i] != (l[i] == tag) {
				t.Fatalf("tag %d in %v: slot %d is %v", tag, l[:lineSlots], i, got[i])
			}
		}
		if n := bits.OnesCount64(l.matches(tag)); n != len(got) {
			t.Fatalf("%d slots, %d different", n, len(got))
		}
	}
}

// A tag is never 0, which marks an empty slot, and does not depend on the bits that
// choose a bucket or a partition.
func TestTagOf(t *testing.T) {
	if tagOf(0) == 0 || tagOf(1<<40) != 1 || tagOf(0xff<<40) != 0xff {
		t.Errorf("tags %d, %d, %d", tagOf(0), tagOf(1<<40), tagOf(0xff<<40))
	}
	if tagOf(0xffff00ffffffffff) != tagOf(0) {
		t.Error("a tag has bits that are not from the middle of the hash")
	}
}

func TestSizes(t *testing.T) {
	if backAt+4 != lineSize || positionsAt+4*lineSlots != lineSize || nextAt != lineSlots {
		t.Errorf("the parts of a line do not fill it: next at %d, positions at %d, back at %d", nextAt, positionsAt, backAt)
	}
	if maxEntries != 89 {
		t.Errorf("a bucket has up to %d entries", maxEntries)
	}
	if store.MaxValueLimit >= 1<<valueBits || metaSlack != 1<<63 {
		t.Error("the longest value does not fit into a meta word")
	}
}

// A table with larger granules, as with more than 32 GiB, works the same.
func TestCoarseGranules(t *testing.T) {
	eachMode(t, func(t *testing.T, with func(*store.Config)) {
		r := newRig(t, with, memory(200_000), largest(60_000))
		r.shift, r.granule = 5, 32
		random := seeded(t, 11)
		sizes := map[int]int{}
		for i := range scale.Times(8000) {
			n, size := random.IntN(500), random.IntN(1<<random.IntN(12))
			switch random.IntN(5) {
			case 0:
				_ = r.Delete(r.key(numbered(n, 16)), store.Always(), 1)
			case 1:
				_ = r.Touch(r.key(numbered(n, 16)), 1000, 1)
			case 2:
				_ = r.has(n, 16, sizes[n])
			default:
				if r.try(numbered(n, 16), pattern(uint64(n), size)) == nil {
					sizes[n] = size
				}
			}
			if i%100 == 0 {
				r.check()
			}
		}
		if r.stats.ItemBytes%32 != 0 {
			t.Errorf("%d bytes of items", r.stats.ItemBytes)
		}
	})
}
