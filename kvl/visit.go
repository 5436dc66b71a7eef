package kvl

import (
	"context"
	"encoding/binary"
)

// visitAhead is how many items are looked at ahead.
const visitAhead = 32

// eachOf visits the items in b. Notes of keys are all over the memory, so those that are
// going to be needed by some items are loaded together: that of the key, and, with links,
// those that single links lead to. (A list is long enough to do that by itself.)
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

// lookAhead cuts items off the beginning of b and loads notes.
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
		sum += s.keys.note(n)[noteLength] // 0 too: there is memory, if no note
	}
	s.touched = sum // so that the loads are not left out
	return b
}
