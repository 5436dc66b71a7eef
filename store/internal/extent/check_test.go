package extent

import (
	"strings"
	"testing"
)

// TestCheck breaks a space in one place at a time, and expects Check to name it.
func TestCheck(t *testing.T) {
	newSpace := func() (s *Space, blocks []uint64) {
		s = spaceOf(t, 1<<12)
		for range 6 {
			off := s.Take(96)
			s.Trim(off, 96)
			blocks = append(blocks, off)
		}
		s.Give(blocks[1])
		s.Give(blocks[3])
		return s, blocks
	}
	for _, c := range []struct {
		what  string
		spoil func(s *Space, blocks []uint64)
	}{
		{"behind a block", func(s *Space, b []uint64) { s.setPrevSize(b[2], 16) }},
		{"in 3", func(s *Space, b []uint64) { s.setHead(b[2], newHead(Taken, 1<<20, 96)) }},
		{"free blocks before", func(s *Space, b []uint64) { s.SetKind(b[2], Free) }},
		{"invalid kind", func(s *Space, b []uint64) { s.SetKind(b[2], None) }},
		{"invalid kind", func(s *Space, b []uint64) { s.SetKind(b[2], End) }},
		{"points to 8", func(s *Space, _ []uint64) { s.heads[6] = 8 }},
		{"head", func(s *Space, b []uint64) { s.heads[6] = b[0] }},
		{"head", func(s *Space, b []uint64) { s.setLink(b[1], prevLink, b[3]^16) }},
		{"bit that marks", func(s *Space, _ []uint64) { s.full[0] ^= 1 << 33 }},
		{"more free blocks", func(s *Space, b []uint64) { // a free block inside another block
			inside := s.end - 512
			s.setHead(inside, newHead(Free, 96, 0))
			s.setLink(b[1], nextLink, inside)
			s.setLink(inside, prevLink, b[1])
		}},
		{"of them listed", func(s *Space, _ []uint64) { s.pull(s.heads[6]) }},
		{"the hand", func(s *Space, b []uint64) { s.hand = b[2] + 16 }},
		{"end at", func(s *Space, _ []uint64) { s.setHead(s.end, 0) }},
		{"the counter says", func(s *Space, _ []uint64) { s.free++ }},
	} {
		s, blocks := newSpace()
		if used := checkSpace(t, s); used != 4 {
			t.Fatalf("%d blocks in use", used)
		}
		c.spoil(s, blocks)
		err := s.Check(func(uint64, Kind) error { return nil })
		if err == nil || !strings.Contains(err.Error(), c.what) {
			t.Errorf("%s: Check returned %v", c.what, err)
		}
	}
}
