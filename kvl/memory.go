package kvl

import "github.com/remora-kv/remora/internal/arena"

const (
	// Segments grow from firstSegment, for builders of little, to segmentSize.
	firstSegment = 64 << 10
	segmentSize  = 4 << 20

	// hugePage is the size of pages that spare misses of the TLB.
	hugePage = 2 << 20
)

// memory grows by segments, and can be given back from its beginning while it is read.
type memory struct {
	arena    *arena.Arena
	purpose  string
	segments []segment
	current  []byte // what is left of the last segment
}

// segment is a piece of memory, which is used from its beginning.
type segment struct {
	block *arena.Block
	used  int
}

// alloc returns n bytes that are zero, n a multiple of 8. What is longer than a segment has
// one of its own.
func (m *memory) alloc(n int) ([]byte, error) {
	if n > len(m.current) {
		if err := m.grow(n); err != nil {
			return nil, err
		}
	}
	p := m.current[:n:n]
	m.current = m.current[n:]
	m.segments[len(m.segments)-1].used += n
	return p, nil
}

func (m *memory) grow(n int) error {
	size := min(segmentSize, firstSegment<<min(len(m.segments), 10))
	block, err := m.arena.Alloc(m.purpose, max(n, size))
	if err != nil {
		return err
	}
	block.HugePages()
	m.segments = append(m.segments, segment{block: block})
	m.current = block.Bytes()
	return nil
}

// drain calls visit with the used bytes of each segment and gives that back then, until
// visit fails.
func (m *memory) drain(visit func(b []byte) error) error {
	m.current = nil
	for len(m.segments) > 0 {
		s := m.segments[0]
		if err := visit(s.block.Bytes()[:s.used]); err != nil {
			return err
		}
		m.segments = m.segments[1:]
		if err := s.block.Free(); err != nil {
			return err
		}
	}
	return nil
}

// scan calls visit with the used bytes of each segment, until it fails.
func (m *memory) scan(visit func(b []byte) error) error {
	for _, s := range m.segments {
		if err := visit(s.block.Bytes()[:s.used]); err != nil {
			return err
		}
	}
	return nil
}

// free gives all back. A block that cannot be unmapped is lost; there is nothing to be done
// about it.
func (m *memory) free() {
	for _, s := range m.segments {
		_ = s.block.Free()
	}
	m.segments, m.current = nil, nil
}
