package verbs

import (
	"encoding/binary"

	"github.com/remora-kv/remora/internal/arena"
	"github.com/remora-kv/remora/internal/fence"
)

// lookups is the memory that the server of an echo searches before it answers:
// one word in every cache line of a table that no cache holds. The key in a
// request says which line comes first, and the word in a line which is next, as
// an index entry says where an item lies: no CPU can fetch the second before it
// has the first. The answer is the sum of the words, which the client knows
// without a table (answerOf). So an access that does not happen is a wrong
// answer.
type lookups struct {
	block *arena.Block
	mem   []byte
	lines uint64
	steps int // accesses of a search
}

// newLookups fills a table of size bytes, of which whole lines are used.
func newLookups(size, steps int) (*lookups, error) {
	block, err := arena.New().Alloc("verbs lookups", size)
	if err != nil {
		return nil, err
	}
	block.HugePages()
	t := &lookups{block: block, mem: block.Bytes(), lines: uint64(size / line), steps: steps}
	for i := range t.lines {
		binary.NativeEndian.PutUint64(t.mem[i*line:], lineWord(i))
	}
	return t, nil
}

func (t *lookups) close() error { return t.block.Free() }

// lineWord is the word in line i.
func lineWord(i uint64) uint64 { return (i + 1) * 0x9E37_79B9_7F4A_7C15 }

// draw makes a number out of another one, by a linear congruential generator;
// its upper half says which of so many lines is meant.
func draw(x uint64) uint64 { return x*6364136223846793005 + 1442695040888963407 }

func lineOf(x, lines uint64) uint64 { return (x >> 32) * lines >> 32 }

// search is a request that is being looked up.
type search struct {
	lane *respLane
	seq  uint64
	at   uint64 // says which line is next
	sum  uint64 // of the words found
	left int    // accesses
}

// begin starts a search for a key.
func (t *lookups) begin(r *respLane, q question) search {
	return search{lane: r, seq: q.seq, at: draw(q.key), left: t.steps}
}

// expect starts to fetch the next line of a search.
func (t *lookups) expect(s *search) { fence.ExpectRead(&t.mem[lineOf(s.at, t.lines)*line]) }

// step makes the next access of a search.
func (t *lookups) step(s *search) {
	word := binary.NativeEndian.Uint64(t.mem[lineOf(s.at, t.lines)*line:])
	s.sum += word
	s.at = draw(s.at ^ word)
	s.left--
}

// answerOf is what a server with a table of size bytes finds in so many steps.
func answerOf(key uint64, size, steps int) (sum uint64) {
	at := draw(key)
	for range steps {
		word := lineWord(lineOf(at, uint64(size/line)))
		sum += word
		at = draw(at ^ word)
	}
	return sum
}
