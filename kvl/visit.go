package kvl

import (
	"context"
	"encoding/binary"
)

// visitAhead is how many items lookAhead loads together.
const visitAhead = 32

// eachOf visits the items in b. Notes of keys are scattered over memory, so the notes that some
// items need are loaded together: those of their keys and, if links is set, of the targets of
// single links. (A list is long enough for its loads to overlap.)
func (s *sealer) eachOf(ctx context.Context, b []byte, links bool, visit func(stagedItem) error) error {
	for len(b) > 0 {
		b = s.lookAhead(b, links)
		for _, it := range s.ahead {
			if err := visit(it); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// lookAhead splits some items off the beginning of b and loads their notes.
func (s *sealer) lookAhead(b []byte, links bool) []byte {
	s.ahead, s.numbers = s.ahead[:0], s.numbers[:0]
	for len(s.ahead) < visitAhead && len(b) > 0 {
		it := stagedItem(b)
		s.numbers = append(s.numbers, it.key())
		at := it.payloads()
		for i := range it.len() {
			e := it.entry(i)
			if links && e.kind() == KindLink {
				s.numbers = append(s.numbers, binary.LittleEndian.Uint32(it[at:]))
			}
			at += pad8(int(e.length()))
		}
		s.ahead, b = append(s.ahead, it[:at]), b[at:]
	}
	sum := byte(0)
	for _, n := range s.numbers {
		sum += s.keys.note(n)[noteLength] // also of number 0, which has no note but memory
	}
	s.touched = sum // keeps the compiler from removing the loads
	return b
}
