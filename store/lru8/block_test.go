package lru8

import "testing"

func TestHead(t *testing.T) {
	for _, size := range []uint64{0, minBlock, 96, 1 << 20, maxUnits * unit} {
		for _, prev := range []uint64{0, unit, 64 << 20, maxUnits * unit} {
			for _, k := range []kind{kindFree, kindItem, kindChain, kindEnd} {
				h := newHead(k, size, prev)
				if h.kind() != k || h.size() != size || h.prevSize() != prev {
					t.Errorf("kind %d, %d bytes behind %d: %d, %d, %d", k, size, prev, h.kind(), h.size(), h.prevSize())
				}
			}
		}
	}
}

func TestBlockWords(t *testing.T) {
	var s space
	s.init(make([]byte, 1024))
	off := s.first
	s.setKind(off, kindChain)
	s.setPrevSize(off, 320)
	s.setLink(off, nextLink, 1)
	s.setLink(off, prevLink, 2)
	if h := s.head(off); h.kind() != kindChain || h.size() != 1024-2*unit || h.prevSize() != 320 {
		t.Errorf("head %#x", uint64(h))
	}
	if s.link(off, nextLink) != 1 || s.link(off, prevLink) != 2 || s.next(off) != s.end {
		t.Errorf("links %d, %d; next %d", s.link(off, nextLink), s.link(off, prevLink), s.next(off))
	}
}

func TestRoundUp(t *testing.T) {
	for n, want := range map[uint64]uint64{0: 0, 1: 16, 15: 16, 16: 16, 17: 32, 1<<40 - 1: 1 << 40} {
		if got := roundUp(n); got != want {
			t.Errorf("roundUp(%d) = %d, want %d", n, got, want)
		}
	}
}
