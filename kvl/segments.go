package kvl

import "github.com/remora-kv/remora/internal/arena"

const (
	// Segments grow from firstSegment, for small images, to segmentSize.
	firstSegment = 64 << 10
	segmentSize  = 4 << 20

	// hugePage is the size of a huge page, which saves TLB misses.
	hugePage = 2 << 20
)

// segments is memory that grows by segments, which can be freed one by one.
type segments struct {
	arena   *arena.Arena
	purpose string
	list    []segment
	current []byte // unused rest of the last segment
}

// segment is a block of memory that is used from its beginning.
type segment struct {
	block *arena.Block
	used  int
}

// alloc returns n zeroed bytes; n is a multiple of 8. If n exceeds the size of a segment, the bytes
// get a segment of their own.
func (m *segments) alloc(n int) ([]byte, error) {
	if n > len(m.current) {
		if err := m.grow(n); err != nil {
			return nil, err
		}
	}
	p := m.current[:n:n]
	m.current = m.current[n:]
	m.list[len(m.list)-1].used += n
	return p, nil
}

func (m *segments) grow(n int) error {
	size := min(segmentSize, firstSegment<<min(len(m.list), 10))
	block, err := m.arena.Alloc(m.purpose, max(n, size))
	if err != nil {
		return err
	}
	block.HugePages()
	m.list = append(m.list, segment{block: block})
	m.current = block.Bytes()
	return nil
}

// drain calls visit with the used bytes of each segment, then frees it, until visit fails.
func (m *segments) drain(visit func(b []byte) error) error {
	m.current = nil
	for len(m.list) > 0 {
		s := m.list[0]
		if err := visit(s.block.Bytes()[:s.used]); err != nil {
			return err
		}
		m.list = m.list[1:]
		if err := s.block.Free(); err != nil {
			return err
		}
	}
	return nil
}

// scan calls visit with the used bytes of each segment, until visit fails.
func (m *segments) scan(visit func(b []byte) error) error {
	for _, s := range m.list {
		if err := visit(s.block.Bytes()[:s.used]); err != nil {
			return err
		}
	}
	return nil
}

// free frees all segments. It ignores errors.
func (m *segments) free() {
	for _, s := range m.list {
		_ = s.block.Free()
	}
	m.list, m.current = nil, nil
}
