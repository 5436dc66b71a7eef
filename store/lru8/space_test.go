package lru8

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestBins(t *testing.T) {
	last := 0
	for size := uint64(minBlock); size < 1<<16; size += unit {
		bin := binOf(size)
		if bin < last || bin > last+1 && last != 0 {
			t.Fatalf("%d bytes are in bin %d, the block before in %d", size, bin, last)
		}
		last = bin
	}
	if top := binOf(maxUnits * unit); top != bins-1 {
		t.Errorf("the longest block is in bin %d of %d", top, bins)
	}
	// Every block of binFor(size) and above is long enough; one below is not
	// for certain.
	for _, size := range []uint64{32, 48, 240, 256, 272, 288, 304, 1 << 10, 1<<10 + 16, 100_000, 64 << 20, 64<<20 + 16} {
		bin := binFor(size)
		if bin != binOf(size) && bin != binOf(size)+1 {
			t.Errorf("%d bytes are in bin %d, and looked for from %d on", size, binOf(size), bin)
		}
		for other := uint64(minBlock); other < size; other += max(unit, roundUp(size/100)) {
			if binOf(other) >= bin {
				t.Fatalf("a block of %d bytes is found for %d", other, size)
			}
		}
	}
}

// spaceOf makes a space that is checked as part of a table.
func spaceOf(t *testing.T, size int) *Table {
	t.Helper()
	table := &Table{index: make([]byte, bucketSize), buckets: 1}
	table.space.init(make([]byte, size))
	return table
}

// checkSpace checks blocks and lists, with blocks in use taken for overflow
// buckets.
func checkSpace(t *testing.T, table *Table) census {
	t.Helper()
	var c census
	s := &table.space
	prevSize, prevFree, hand := uint64(0), false, s.hand == s.end
	for off := s.first; off < s.end; off = s.next(off) {
		h := s.head(off)
		if h.prevSize() != prevSize || h.size() < minBlock || off+h.size() > s.end {
			t.Fatalf("block at %d: %d bytes behind %d, should be behind %d", off, h.size(), h.prevSize(), prevSize)
		}
		if h.kind() == kindFree {
			if prevFree {
				t.Fatalf("two free blocks at %d", off)
			}
			c.frees++
			c.freeBytes += h.size()
		}
		hand = hand || off == s.hand
		prevSize, prevFree = h.size(), h.kind() == kindFree
	}
	if err := table.checkLists(&c); err != nil {
		t.Fatal(err)
	}
	if c.listed != c.frees || c.freeBytes != s.free || !hand {
		t.Fatalf("%d free blocks of %d bytes; %d listed, %d counted; the hand is at a block: %v", c.frees, c.freeBytes, c.listed, s.free, hand)
	}
	return c
}

// TestSpace takes and gives blocks of random lengths; no two overlap.
func TestSpace(t *testing.T) {
	table := spaceOf(t, 1<<16)
	s := &table.space
	random := rand.New(rand.NewPCG(1, 2))
	type taken struct{ off, size uint64 }
	var all []taken
	for i := range 20_000 {
		if size := roundUp(minBlock + uint64(random.IntN(1<<(4+random.IntN(8))))); random.IntN(2) == 0 {
			off := s.take(size)
			if off == 0 {
				continue
			}
			if s.size(off) < size {
				t.Fatalf("took %d bytes, wanted %d", s.size(off), size)
			}
			s.trim(off, size)
			s.moveHand(off, s.next(off))
			for _, other := range all {
				if off < other.off+other.size && other.off < off+size {
					t.Fatalf("block at %d of %d bytes overlaps %d of %d", off, size, other.off, other.size)
				}
			}
			all = append(all, taken{off, size})
		} else if len(all) > 0 {
			j := random.IntN(len(all))
			around := s.around(all[j].off)
			if off := s.give(all[j].off); s.size(off) != around {
				t.Fatalf("a freed block became %d bytes, around said %d", s.size(off), around)
			}
			all = slices.Delete(all, j, j+1)
		}
		if i%100 == 0 {
			checkSpace(t, table)
		}
	}
	for _, b := range all {
		s.give(b.off)
	}
	if c := checkSpace(t, table); c.frees != 1 || c.freeBytes != s.end-s.first {
		t.Errorf("everything is free, in %d blocks of %d bytes", c.frees, c.freeBytes)
	}
}

// TestOneOf has a block of the right length in a bin whose blocks differ.
func TestOneOf(t *testing.T) {
	table := spaceOf(t, 1<<16)
	s := &table.space
	size := uint64(unit * 40) // shares its bin with lengths up to 43 units
	cut := func(size uint64) uint64 {
		off := s.take(size)
		s.trim(off, size)
		return off
	}
	short := cut(size)
	cut(minBlock) // stays in use, so that the others do not become one
	long := cut(size + 2*unit)
	cut(minBlock)
	rest := s.take(s.size(s.heads[binOf(s.free)])) // all that is left
	s.give(long)
	s.give(short)
	if got := s.take(size + unit); got != long {
		t.Errorf("took the block at %d, the one that fits is at %d", got, long)
	}
	if s.take(size+unit) != 0 {
		t.Error("took a block that is too short")
	}
	s.give(rest)
	checkSpace(t, table)
}

// TestGiveKeeps sees that what was freed can be read but for its first 24 bytes
// (L5).
func TestGiveKeeps(t *testing.T) {
	table := spaceOf(t, 1<<14)
	s := &table.space
	var offs []uint64
	for range 50 {
		off := s.take(160)
		s.trim(off, 160)
		for i := off + 24; i < off+160; i++ {
			s.mem[i] = byte(i * 7)
		}
		offs = append(offs, off)
	}
	random := rand.New(rand.NewPCG(3, 4))
	random.Shuffle(len(offs), func(i, j int) { offs[i], offs[j] = offs[j], offs[i] })
	for _, off := range offs {
		s.give(off)
	}
	piece := s.take(160 * 50)
	if piece == 0 {
		t.Fatal("the blocks did not become one")
	}
	for _, off := range offs {
		for i := off + 24; i < off+160; i++ {
			if s.mem[i] != byte(i*7) {
				t.Fatalf("byte %d of a freed block was written", i-off)
			}
		}
	}
}

func TestAbsorb(t *testing.T) {
	table := spaceOf(t, 1<<12)
	s := &table.space
	a := s.take(64)
	s.trim(a, 64)
	b := s.take(96)
	s.trim(b, 96)
	if s.next(a) != b {
		t.Fatalf("blocks at %d and %d are not neighbours", a, b)
	}
	s.hand = b
	s.absorb(a, b)
	if s.size(a) != 160 || s.hand != a {
		t.Errorf("the block has %d bytes, the hand is at %d", s.size(a), s.hand)
	}
	checkSpace(t, table)
}
