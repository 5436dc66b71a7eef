package extent

import "testing"

func TestHead(t *testing.T) {
	for _, size := range []uint64{0, MinBlock, 96, 1 << 20, maxUnits * Unit} {
		for _, prev := range []uint64{0, Unit, 64 << 20, maxUnits * Unit} {
			for _, k := range []Kind{Free, Taken, LastKind, End} {
				h := newHead(k, size, prev)
				if h.kind() != k || h.size() != size || h.prevSize() != prev {
					t.Errorf("kind %d, %d bytes behind %d: %d, %d, %d", k, size, prev, h.kind(), h.size(), h.prevSize())
				}
			}
		}
	}
}

func TestBlockWords(t *testing.T) {
	s := spaceOf(t, 1024)
	off := s.First()
	s.SetKind(off, LastKind)
	s.setPrevSize(off, 320)
	s.setLink(off, nextLink, 1)
	s.setLink(off, prevLink, 2)
	if h := s.head(off); h.kind() != LastKind || h.size() != 1024-2*Unit || h.prevSize() != 320 {
		t.Errorf("head %#x", uint64(h))
	}
	if s.link(off, nextLink) != 1 || s.link(off, prevLink) != 2 || s.Next(off) != s.End() {
		t.Errorf("links %d, %d; next %d", s.link(off, nextLink), s.link(off, prevLink), s.Next(off))
	}
}

func TestRoundUp(t *testing.T) {
	for n, want := range map[uint64]uint64{0: 0, 1: 16, 15: 16, 16: 16, 17: 32, 1<<40 - 1: 1 << 40} {
		if got := RoundUp(n); got != want {
			t.Errorf("RoundUp(%d) = %d, want %d", n, got, want)
		}
	}
}
