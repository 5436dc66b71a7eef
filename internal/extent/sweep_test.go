package extent

import (
	"slices"
	"testing"
)

// table is an owner of blocks: which of its items stay, which were used, which
// have expired.
type table struct {
	s                   *Space
	stay, used, expired []uint64
	cleared             []uint64
}

// tableOf makes a space that is full of blocks of 64 bytes.
func tableOf(t *testing.T, n int) (*table, []uint64) {
	t.Helper()
	y := &table{s: &Space{}}
	y.s.Init(make([]byte, 2*Unit+n*64), Items{
		Expire: func(block uint64, _ int64) bool { return slices.Contains(y.expired, block) },
		Clear: func(block uint64, _ int64, _ bool) bool {
			if slices.Contains(y.stay, block) {
				return false
			}
			y.cleared = append(y.cleared, block)
			return true
		},
		Spare: func(block uint64) bool { return slices.Contains(y.used, block) },
	})
	var blocks []uint64
	for range n {
		off := y.s.Take(64)
		y.s.Trim(off, 64)
		blocks = append(blocks, off)
	}
	if y.s.Free() != 0 {
		t.Fatalf("%d bytes are free", y.s.Free())
	}
	return y, blocks
}

// TestEvict passes what was used and clears what follows, over the end of the memory.
func TestEvict(t *testing.T) {
	y, b := tableOf(t, 10)
	y.used = b[:2]
	y.s.SetKind(b[3], Taken+1)
	if got := y.s.Evict(128, 0, true); got != b[2] || y.s.Size(got) != 128 || y.s.Kind(got) != Taken {
		t.Errorf("took the block at %d of %d bytes, want %d", got, y.s.Size(got), b[2])
	}
	if !slices.Equal(y.cleared, b[2:4]) {
		t.Errorf("cleared %v, want %v", y.cleared, b[2:4])
	}
	y.s.hand, y.used, y.cleared = b[9], nil, nil
	if got := y.s.Evict(128, 0, true); got != b[0] || !slices.Equal(y.cleared, b[:2]) {
		t.Errorf("at the end: took %d and cleared %v, want %v", got, y.cleared, b[:2])
	}
	checkSpace(t, y.s)
}

// TestReclaim joins what has expired with free blocks, then clears what may move, and
// gives up where something has to stay.
func TestReclaim(t *testing.T) {
	y, b := tableOf(t, 10)
	y.s.Give(b[4])
	y.expired = b[5:6]
	if got := y.s.Reclaim(128, 0, false, false); got != 0 {
		t.Errorf("took the block at %d, though nothing can expire or move", got)
	}
	if got := y.s.Reclaim(128, 0, true, false); got != b[4] || y.s.Size(got) != 128 || len(y.cleared) != 0 {
		t.Errorf("took the block at %d, want %d; cleared %v", got, b[4], y.cleared)
	}
	y.s.Give(b[4])
	y.expired = nil
	y.stay = []uint64{b[1], b[7]}
	y.s.hand = b[0]
	if got := y.s.Reclaim(128, 0, true, true); got != b[4] {
		t.Errorf("took the block at %d, want %d", got, b[4])
	}
	y.s.Give(b[4])
	y.stay = b
	if got := y.s.Reclaim(64*3, 0, true, true); got != 0 {
		t.Errorf("took the block at %d, though all has to stay", got)
	}
	checkSpace(t, y.s)
}
