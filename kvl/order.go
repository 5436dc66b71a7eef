package kvl

import (
	"context"
	"encoding/binary"
	"fmt"
)

// orderEdges sorts the links that Edge added by their source items, in the order of items, then by
// name; links of one name keep their order. It is a counting sort, for which the notes of keys
// have the counts. A sorted link is
//
// | number of its target u32 | name u32 |
func (s *sealer) orderEdges(ctx context.Context) error {
	if s.nEdges == 0 {
		return nil
	}
	var err error
	if s.orderBlock, err = s.cfg.Memory.arena.Alloc("kvl builder order", s.orderSize()); err != nil {
		return err
	}
	s.orderBlock.HugePages()
	s.order = s.orderBlock.Bytes()
	err = s.staged.scan(func(b []byte) error { return s.eachOf(ctx, b, false, s.reserveEdges) })
	for name := range s.edges {
		if err != nil {
			return err
		}
		err = s.edges[name].drain(func(b []byte) error {
			s.orderName(uint16(name), b)
			return ctx.Err()
		})
	}
	return err
}

// reserveEdges replaces the number of links in a note by the position of the first of them in
// the sorted links.
func (s *sealer) reserveEdges(it stagedItem) error {
	note := s.keys.note(it.key())
	n := binary.LittleEndian.Uint32(note[noteEdges:])
	binary.LittleEndian.PutUint32(note[noteEdges:], s.reserved)
	s.reserved += n
	return nil
}

// orderSize returns the memory for the sorted links.
func (s *sealer) orderSize() int {
	size := int(s.nEdges) * edgeSize
	if size >= hugePage {
		size = (size + hugePage - 1) &^ (hugePage - 1)
	}
	return size
}

// orderName moves the links of a name to their sorted positions.
func (s *sealer) orderName(name uint16, b []byte) {
	for ; len(b) > 0; b = b[edgeSize:] {
		from, to := edge(b)
		note := s.keys.note(from)
		if binary.LittleEndian.Uint32(note[noteLength:]) == 0 {
			if s.edges[name].back {
				continue
			}
			s.dangle(Dangled{FromKey: string(noteKeyOf(note)), Attr: s.schema.Name(name), To: string(s.keys.key(to))})
			continue
		}
		at := binary.LittleEndian.Uint32(note[noteEdges:])
		binary.LittleEndian.PutUint32(note[noteEdges:], at+1)
		binary.LittleEndian.PutUint64(s.order[uint64(at)*edgeSize:], uint64(to)|uint64(name)<<32)
	}
}

// edgesTo returns the sorted links of an item. It must be called for all items in order.
func (s *sealer) edgesTo(note []byte) []byte {
	if s.order == nil {
		return nil
	}
	end := uint64(binary.LittleEndian.Uint32(note[noteEdges:])) * edgeSize
	b := s.order[s.orderAt:end]
	s.orderAt = end
	return b
}

func (s *sealer) freeOrder() {
	if s.orderBlock != nil {
		_ = s.orderBlock.Free()
	}
	s.orderBlock, s.order = nil, nil
}

// dangle counts a dangling link.
func (s *sealer) dangle(d Dangled) {
	s.stats.Dangling++
	if len(s.stats.Dangled) < MaxDangled {
		s.stats.Dangled = append(s.stats.Dangled, d)
	}
}

// checkDangling returns an error if there are dangling links and Config.Dangling is Fail.
func (s *sealer) checkDangling() error {
	if s.stats.Dangling == 0 || s.cfg.Dangling != Fail {
		return nil
	}
	return fmt.Errorf("%w: %d of them, the first: %s", ErrDangling, s.stats.Dangling, s.stats.Dangled[0])
}
