package extent

import (
	"slices"
	"testing"

	"github.com/remora-kv/remora/store"
)

// owner is a fake table that records calls. Its fields say which items stay, were used, or have expired.
type owner struct {
	h                   *Heap
	stay, used, expired []uint64
	unlinked            []uint64
	moved               [][2]uint64
}

// ownerOf makes a heap that is full of blocks of 64 bytes.
func ownerOf(t *testing.T, mode store.Mode, n int) (*owner, []uint64) {
	t.Helper()
	y := &owner{h: &Heap{Config: store.Config{Mode: mode}}}
	y.h.Init(make([]byte, 2*Unit+n*64))
	y.h.table = Table{
		Item: func(block uint64) (size uint64, expires int64) {
			if slices.Contains(y.expired, block) {
				expires = 1
			}
			if slices.Contains(y.stay, block) {
				return 1 << 20, expires // there is no other block for it
			}
			return 64, expires
		},
		Spare:  func(block uint64) bool { return slices.Contains(y.used, block) },
		Unlink: func(block uint64) { y.unlinked = append(y.unlinked, block) },
		Moved:  func(from, to uint64) { y.moved = append(y.moved, [2]uint64{from, to}) },
	}
	var blocks []uint64
	for range n {
		off := y.h.Take(64)
		y.h.Trim(off, 64)
		blocks = append(blocks, off)
	}
	if y.h.Free() != 0 {
		t.Fatalf("%d bytes are free", y.h.Free())
	}
	return y, blocks
}

func (y *owner) makeRoom(need uint64) uint64 { return y.h.MakeRoom(need, 1, nil, nil) }

// wantCounts checks how many items have expired, were evicted and were rescued.
func (y *owner) wantCounts(t *testing.T, expired, evicted, rescued uint64) {
	t.Helper()
	if st := y.h.Stats; st.Expired != expired || st.Evicted != evicted || st.Rescued != rescued {
		t.Errorf("%d expired, %d evicted, %d rescued; want %d, %d, %d", st.Expired, st.Evicted, st.Rescued, expired, evicted, rescued)
	}
}

// TestEvict passes used items and clears the blocks that follow, past the end of the memory.
func TestEvict(t *testing.T) {
	y, b := ownerOf(t, store.Cache, 10)
	y.used, y.expired, y.h.Mortal = b[:2], b[3:4], 1
	y.h.SetKind(b[3], Taken+1)
	if got := y.makeRoom(128); got != b[2] || y.h.Size(got) != 128 || y.h.Kind(got) != Taken {
		t.Errorf("took the block at %d of %d bytes, want %d", got, y.h.Size(got), b[2])
	}
	if !slices.Equal(y.unlinked, b[2:4]) {
		t.Errorf("unlinked %v, want %v", y.unlinked, b[2:4])
	}
	y.wantCounts(t, 1, 1, 2)
	y.h.hand, y.used, y.unlinked = b[9], nil, nil
	if got := y.makeRoom(128); got != b[0] || !slices.Equal(y.unlinked, b[:2]) {
		t.Errorf("at the end: took %d and unlinked %v, want %v", got, y.unlinked, b[:2])
	}
	y.wantCounts(t, 1, 3, 2)
	checkSpace(t, &y.h.Space)
}

// TestEvictMoves checks that a cache moves used items, if there is a block for them and it may.
func TestEvictMoves(t *testing.T) {
	y, b := ownerOf(t, store.Cache, 10)
	y.h.Give(b[8])
	y.used = b[1:3]
	if got := y.makeRoom(192); got != b[0] || !slices.Equal(y.unlinked, []uint64{b[0], b[2]}) {
		t.Errorf("took the block at %d and unlinked %v, want %d and the first and third of %v", got, y.unlinked, b[0], b)
	}
	if want := [][2]uint64{{b[1], b[8]}}; !slices.Equal(y.moved, want) {
		t.Errorf("moved %v, want %v", y.moved, want)
	}
	y.wantCounts(t, 0, 2, 1)
	y.h.Give(b[6])
	y.h.hand, y.used, y.unlinked = b[3], b[4:5], nil
	if got := y.h.MakeRoom(128, 1, nil, y.h.Mem()[b[9]+Links:]); got != b[3] || !slices.Equal(y.unlinked, b[3:5]) || len(y.moved) != 1 {
		t.Errorf("for a view: took the block at %d, unlinked %v and moved %v, want %v unlinked", got, y.unlinked, y.moved[1:], b[3:5])
	}
	y.wantCounts(t, 0, 4, 1)
	checkSpace(t, &y.h.Space)
}

// TestReclaim joins expired items with free blocks, then moves items out of the way, and
// gives up at an item that has to stay.
func TestReclaim(t *testing.T) {
	y, b := ownerOf(t, store.Store, 10)
	view := y.h.Mem()[b[9]+Links:]
	y.h.Give(b[4])
	y.expired = b[5:6]
	if got := y.h.MakeRoom(128, 1, view, nil); got != 0 {
		t.Errorf("took the block at %d, though nothing can expire or move", got)
	}
	y.h.Mortal = 1
	if got := y.h.MakeRoom(128, 1, view, nil); got != b[4] || y.h.Size(got) != 128 || !slices.Equal(y.unlinked, b[5:6]) {
		t.Errorf("took the block at %d, want %d; unlinked %v", got, b[4], y.unlinked)
	}
	y.wantCounts(t, 1, 0, 0)
	y.h.Trim(b[4], 64)
	y.h.Give(b[8])
	y.expired, y.unlinked, y.h.Mortal = nil, nil, 0
	y.stay = []uint64{b[1]}
	y.h.hand = b[0]
	if got := y.makeRoom(128); got != b[2] || len(y.moved) != 3 || y.moved[1][0] != b[2] || y.moved[2][0] != b[3] {
		t.Errorf("took the block at %d, moved %v; want the block at %d, behind the one that has to stay", got, y.moved, b[2])
	}
	y.h.Give(b[2])
	y.stay = b
	if got := y.makeRoom(64 * 3); got != 0 || len(y.unlinked) != 0 {
		t.Errorf("took the block at %d, although all items have to stay; unlinked %v", got, y.unlinked)
	}
	y.wantCounts(t, 1, 0, 0)
	checkSpace(t, &y.h.Space)
}
