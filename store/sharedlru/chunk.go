package sharedlru

import "encoding/binary"

// ref is the number of a chunk; 0 is none.
type ref uint32

// kind is the kind of a chunk. The values differ in many bits, so that a flipped bit does
// not turn one into another.
type kind uint32

const (
	kindItem kind = 0x6d657469 // the head of an item
	kindBody kind = 0x79646f62 // a further chunk of an item or a free chain
	kindFree kind = 0x64616564 // the first chunk of a free chain
)

// chunks is the memory of items.
type chunks struct {
	mem       []byte
	fresh     ref    // chunks from here on were never used
	firstFree ref    // the first chunk of the first free chain
	free      uint32 // number of chunks that can be taken
}

// init makes all chunks but number 0 fresh.
func (c *chunks) init(mem []byte, n uint32) {
	c.mem, c.fresh, c.free = mem, 1, n-1
}

func (c *chunks) word(at ref, field uint64) uint32 {
	return binary.LittleEndian.Uint32(c.mem[uint64(at)*chunkSize+field:])
}

func (c *chunks) setWord(at ref, field uint64, v uint32) {
	binary.LittleEndian.PutUint32(c.mem[uint64(at)*chunkSize+field:], v)
}

func (c *chunks) long(at ref, field uint64) uint64 {
	return binary.LittleEndian.Uint64(c.mem[uint64(at)*chunkSize+field:])
}

func (c *chunks) setLong(at ref, field, v uint64) {
	binary.LittleEndian.PutUint64(c.mem[uint64(at)*chunkSize+field:], v)
}

func (c *chunks) link(at ref, field uint64) ref        { return ref(c.word(at, field)) }
func (c *chunks) setLink(at ref, field uint64, to ref) { c.setWord(at, field, uint32(to)) }

func (c *chunks) kindOf(at ref) kind { return kind(c.word(at, atKind)) }

// take returns a free chunk, of which there must be one. It takes the first chunk of a free
// chain last.
func (c *chunks) take() ref {
	c.free--
	first := c.firstFree
	if first == 0 {
		c.fresh++
		return c.fresh - 1
	}
	if second := c.link(first, atNext); second != 0 {
		c.setLink(first, atNext, c.link(second, atNext))
		return second
	}
	c.firstFree = c.link(first, atOlder)
	return first
}

// give frees a chain of n chunks in constant time.
func (c *chunks) give(first ref, n uint32) {
	c.setWord(first, atKind, uint32(kindFree))
	c.setLink(first, atOlder, c.firstFree)
	c.firstFree = first
	c.free += n
}

// takeChain takes n chunks for an item and returns its head.
func (c *chunks) takeChain(n uint32) ref {
	head := c.take()
	c.setWord(head, atKind, uint32(kindItem))
	c.setLink(head, atNext, 0)
	c.resize(head, 1, n)
	return head
}

// resize changes the length of a chain from have to need chunks. The head keeps its
// contents; chunks behind it do not.
func (c *chunks) resize(head ref, have, need uint32) {
	for ; have < need; have++ {
		at := c.take()
		c.setWord(at, atKind, uint32(kindBody))
		c.setLink(at, atNext, c.link(head, atNext))
		c.setLink(head, atNext, at)
	}
	if have == need {
		return
	}
	first := c.link(head, atNext)
	last := first
	for range have - need - 1 {
		last = c.link(last, atNext)
	}
	c.setLink(head, atNext, c.link(last, atNext))
	c.setLink(last, atNext, 0)
	c.give(first, have-need)
}

// cursor walks over the key and the value of an item.
type cursor struct {
	at       ref
	from, to uint64 // rest of the chunk
}

func (c *chunks) begin(head ref) cursor {
	from := uint64(head) * chunkSize
	return cursor{head, from + atHeadBody, from + chunkSize}
}

// piece returns the next bytes, at least one and at most n.
func (c *chunks) piece(cur *cursor, n int) []byte {
	if cur.from == cur.to {
		cur.at = c.link(cur.at, atNext)
		from := uint64(cur.at) * chunkSize
		cur.from, cur.to = from+atBody, from+chunkSize
	}
	from := cur.from
	cur.from += min(uint64(n), cur.to-from)
	return c.mem[from:cur.from:cur.from]
}

// write copies b into the next bytes.
func (c *chunks) write(cur *cursor, b []byte) {
	for len(b) != 0 {
		b = b[copy(c.piece(cur, len(b)), b):]
	}
}

// read copies the next bytes into b.
func (c *chunks) read(cur *cursor, b []byte) {
	for len(b) != 0 {
		b = b[copy(b, c.piece(cur, len(b))):]
	}
}

// equal reports whether the next bytes are b.
func (c *chunks) equal(cur *cursor, b []byte) bool {
	for len(b) != 0 {
		p := c.piece(cur, len(b))
		if string(p) != string(b[:len(p)]) {
			return false
		}
		b = b[len(p):]
	}
	return true
}
