package cuckoo

import (
	"encoding/binary"
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

func TestEntry(t *testing.T) {
	for _, version := range []uint64{1, store.MaxVersion} {
		for _, off := range []uint64{extent.Unit, maxMemory - extent.Unit} {
			for _, size := range []uint64{64, maxItem} {
				for _, tag := range []uint64{0, 1<<tagBits - 1} {
					e := entryOf(version, off, size, tag)
					e.w0 |= maxSpill << versionBits
					e.w1 |= (1<<stampBits - 1) << offsetBits
					if e.version() != version || e.offset() != off || e.size() != size || e.tag() != tag ||
						e.spill() != maxSpill || e.stamp() != 1<<stampBits-1 || e.item() != entryOf(version, off, size, tag) {
						t.Errorf("version %d, offset %d, size %d, tag %d: %+v", version, off, size, tag, e)
					}
				}
			}
		}
	}
}

// TestZeros checks that zeroed memory is a valid empty bucket.
func TestZeros(t *testing.T) {
	if e, ok := parseBucket(make([]byte, bucketSize)); !ok || !e.empty() || e.spill() != 0 {
		t.Errorf("%+v, %v", e, ok)
	}
	if _, ok := parseBucket(make([]byte, bucketSize-1)); ok {
		t.Error("a short image of a bucket is accepted")
	}
}

// TestWrite checks that write changes only what it should, and increments the stamp, also where that wraps around.
func TestWrite(t *testing.T) {
	r := open(t, store.Store, store.MinMemory)
	for _, stamp := range []uint64{0, 41, 1<<stampBits - 2, 1<<stampBits - 1} {
		binary.NativeEndian.PutUint64(r.index[9*bucketSize+8:], stamp<<offsetBits)
		for i, change := range []int{1, 1, 0, -1, -1} {
			r.countSpill(9, change)
			e := r.entryAt(9)
			if want := (stamp + uint64(i) + 1) % (1 << stampBits); e.stamp() != want || e.sum() != r.word(9, 3) || e.item() != (entry{}) {
				t.Errorf("stamp %d, should be %d: %+v", e.stamp(), want, e)
			}
			if want := []uint64{1, 2, 2, 1, 0}[i]; e.spill() != want {
				t.Errorf("%d spilled, should be %d", e.spill(), want)
			}
		}
	}
}

// TestSpillOverflow checks that a count that has overflowed does not change: otherwise home could
// say that a spilled key is missing.
func TestSpillOverflow(t *testing.T) {
	if spilled(0, 1) != 1 || spilled(1, -1) != 0 || spilled(5, 0) != 5 {
		t.Error("the count of spilled keys does not change by one")
	}
	if spilled(maxSpill-1, 1) != maxSpill || spilled(maxSpill, -1) != maxSpill || spilled(maxSpill, 1) != maxSpill {
		t.Error("an overflowed count of spilled keys changes")
	}
}
