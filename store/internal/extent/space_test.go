package extent

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestBins(t *testing.T) {
	last := 0
	for size := uint64(MinBlock); size < 1<<16; size += Unit {
		bin := binOf(size)
		if bin < last || bin > last+1 && last != 0 {
			t.Fatalf("%d bytes are in bin %d, the block before in %d", size, bin, last)
		}
		last = bin
	}
	if top := binOf(maxUnits * Unit); top != bins-1 {
		t.Errorf("the longest block is in bin %d of %d", top, bins)
	}
	// Every block of binFor(size) and above is long enough; blocks of lower bins may not
	// be.
	for _, size := range []uint64{32, 48, 240, 256, 272, 288, 304, 1 << 10, 1<<10 + 16, 100_000, 64 << 20, 64<<20 + 16} {
		bin := binFor(size)
		if bin != binOf(size) && bin != binOf(size)+1 {
			t.Errorf("%d bytes are in bin %d, but searched from bin %d on", size, binOf(size), bin)
		}
		for other := uint64(MinBlock); other < size; other += max(Unit, RoundUp(size/100)) {
			if binOf(other) >= bin {
				t.Fatalf("a block of %d bytes is found in a search for %d", other, size)
			}
		}
	}
}

// spaceOf makes a space of size bytes.
func spaceOf(t *testing.T, size int) *Space {
	t.Helper()
	s := &Space{}
	s.Init(make([]byte, size))
	return s
}

// checkSpace fails if Check does, and returns how many blocks are in use.
func checkSpace(t *testing.T, s *Space) int {
	t.Helper()
	used := 0
	if err := s.Check(func(uint64, Kind) error { used++; return nil }); err != nil {
		t.Fatal(err)
	}
	return used
}

// TestSpace takes and gives blocks of random lengths; no two overlap.
func TestSpace(t *testing.T) {
	s := spaceOf(t, 1<<16)
	random := rand.New(rand.NewPCG(1, 2))
	type taken struct{ off, size uint64 }
	var all []taken
	for i := range 20_000 {
		if size := RoundUp(MinBlock + uint64(random.IntN(1<<(4+random.IntN(8))))); random.IntN(2) == 0 {
			off := s.Take(size)
			if off == 0 {
				continue
			}
			if s.Size(off) < size {
				t.Fatalf("took %d bytes, wanted %d", s.Size(off), size)
			}
			s.Trim(off, size)
			s.moveHand(off, s.Next(off))
			for _, other := range all {
				if off < other.off+other.size && other.off < off+size {
					t.Fatalf("block at %d of %d bytes overlaps %d of %d", off, size, other.off, other.size)
				}
			}
			all = append(all, taken{off, size})
		} else if len(all) > 0 {
			j := random.IntN(len(all))
			around := s.Around(all[j].off)
			if off := s.Give(all[j].off); s.Size(off) != around {
				t.Fatalf("a freed block became %d bytes, but Around returned %d", s.Size(off), around)
			}
			all = slices.Delete(all, j, j+1)
		}
		if i%100 == 0 {
			checkSpace(t, s)
		}
	}
	for _, b := range all {
		s.Give(b.off)
	}
	if used := checkSpace(t, s); used != 0 || s.Size(s.first) != s.Free() || s.Free() != s.end-s.first {
		t.Errorf("after all blocks were freed, the first has %d bytes; %d in use, %d free", s.Size(s.first), used, s.Free())
	}
}

// TestOneOf takes a block of sufficient length from a bin whose blocks differ in length.
func TestOneOf(t *testing.T) {
	s := spaceOf(t, 1<<16)
	size := uint64(Unit * 40) // shares its bin with lengths up to 43 units
	cut := func(size uint64) uint64 {
		off := s.Take(size)
		s.Trim(off, size)
		return off
	}
	short := cut(size)
	cut(MinBlock) // stays in use, so that the others are not joined
	long := cut(size + 2*Unit)
	cut(MinBlock)
	rest := s.Take(s.Size(s.heads[binOf(s.free)])) // all that is left
	s.Give(long)
	s.Give(short)
	if got := s.Take(size + Unit); got != long {
		t.Errorf("took the block at %d, the one that fits is at %d", got, long)
	}
	if s.Take(size+Unit) != 0 {
		t.Error("took a block that is too short")
	}
	s.Give(rest)
	checkSpace(t, s)
}

// TestGiveKeeps checks that a freed block keeps its bytes, except for the first 24
// (X2).
func TestGiveKeeps(t *testing.T) {
	s := spaceOf(t, 1<<14)
	var offs []uint64
	for range 50 {
		off := s.Take(160)
		s.Trim(off, 160)
		for i := off + 24; i < off+160; i++ {
			s.mem[i] = byte(i * 7)
		}
		offs = append(offs, off)
	}
	random := rand.New(rand.NewPCG(3, 4))
	random.Shuffle(len(offs), func(i, j int) { offs[i], offs[j] = offs[j], offs[i] })
	for _, off := range offs {
		s.Give(off)
	}
	piece := s.Take(160 * 50)
	if piece == 0 {
		t.Fatal("the free blocks were not joined")
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
	s := spaceOf(t, 1<<12)
	a := s.Take(64)
	s.Trim(a, 64)
	b := s.Take(96)
	s.Trim(b, 96)
	if s.Next(a) != b {
		t.Fatalf("blocks at %d and %d are not neighbours", a, b)
	}
	s.hand = b
	s.Absorb(a, b)
	if s.Size(a) != 160 || s.hand != a {
		t.Errorf("the block has %d bytes, the hand is at %d", s.Size(a), s.hand)
	}
	checkSpace(t, s)
}
