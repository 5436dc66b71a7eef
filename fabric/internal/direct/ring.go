package direct

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
	"github.com/remora-kv/remora/internal/fence"
)

const (
	entrySize = 16
	pageSize  = 4096

	// ringSize is how many bytes of data a ring holds. Larger messages pass through in parts.
	ringSize = 64 << 10
)

// The kinds of an entry.
const (
	kindSend  = 1 + iota // first part of a SEND
	kindMore             // further part of a SEND
	kindImm              // WRITE_IMM: no payload, total is what was written
	kindGram             // datagram: imm is the sender's queue pair
	kindLarge            // SEND that does not fit its receive: no payload
)

const flagSolicited = 1

// entry is the header in front of each payload in a ring.
type entry struct {
	frag, total, imm uint32
	kind, flags      uint8
}

func (e *entry) encode(b []byte) {
	binary.LittleEndian.PutUint32(b[0:], e.frag)
	binary.LittleEndian.PutUint32(b[4:], e.total)
	binary.LittleEndian.PutUint32(b[8:], e.imm)
	binary.LittleEndian.PutUint32(b[12:], uint32(e.kind)|uint32(e.flags)<<8)
}

// decode reads into an entry that is there: one that is returned is copied in pieces
// for which CPUs cannot forward the stores before.
func (e *entry) decode(b []byte) {
	_ = b[entrySize-1]
	w := binary.LittleEndian.Uint32(b[12:])
	e.frag = binary.LittleEndian.Uint32(b[0:])
	e.total = binary.LittleEndian.Uint32(b[4:])
	e.imm = binary.LittleEndian.Uint32(b[8:])
	e.kind, e.flags = uint8(w), uint8(w>>8)
}

// padded is the room that n bytes of payload take in a ring.
func padded(n int) uint64 { return uint64(n+entrySize-1) &^ (entrySize - 1) }

// ringBytes is the size of a ring whose consumer posts up to depth receives.
func ringBytes(depth int) int {
	n := ringHeaderSize + 4*base.CeilPow2(depth) + ringSize
	return (n + pageSize - 1) &^ (pageSize - 1)
}

// SegmentBytes is the size of a segment for a connection whose dialer and
// acceptor post up to the given numbers of receives.
func SegmentBytes(dialerDepth, acceptorDepth int) int {
	return ringBytes(acceptorDepth) + ringBytes(dialerDepth)
}

// GramSegmentBytes is the size of a segment for datagrams.
func GramSegmentBytes() int { return ringBytes(1) }

// ring is the part that producer and consumer have in common.
type ring struct {
	h    *ringHeader
	lens []atomic.Uint32
	data []byte
}

func ringAt(mem []byte, depth int) ring {
	n := base.CeilPow2(depth)
	data := mem[ringHeaderSize+4*n:]
	return ring{h: headerAt(mem), lens: words32(mem[ringHeaderSize:], n), data: data[:ringSize:ringSize]}
}

// producer is the sending end of a ring.
type producer struct {
	ring
	tail       uint64 // bytes produced; may be ahead of what is published
	headSeen   uint64
	sent       uint64 // messages started, each for one posted receive
	postedSeen uint64
	published  uint64
	solicited  bool       // something unpublished is solicited
	wake       base.Waker // of the consumer
}

// space returns the free bytes of the ring; ok is false when the consumer
// lies (I1).
func (p *producer) space(want uint64) (free uint64, ok bool) {
	if free = ringSize - (p.tail - p.headSeen); free >= want {
		return free, true
	}
	head := p.h.head.Load()
	if p.tail-head > ringSize || head < p.headSeen || head%entrySize != 0 {
		return 0, false
	}
	p.headSeen = head
	return ringSize - (p.tail - head), true
}

// credit returns whether a receive is posted for the next message, and its
// length.
func (p *producer) credit() (length uint32, has, ok bool) {
	if p.sent == p.postedSeen {
		posted := p.h.posted.Load()
		if posted-p.sent > uint64(len(p.lens)) {
			return 0, false, false
		}
		p.postedSeen = posted
		if posted == p.sent {
			return 0, false, true
		}
	}
	return p.lens[p.sent&uint64(len(p.lens)-1)].Load(), true, true
}

// slots returns the memory for n bytes at ring position pos, in two pieces
// where it wraps.
func (l *ring) slots(pos uint64, n int) (first, second []byte) {
	i := int(pos & (ringSize - 1))
	if i+n <= ringSize {
		return l.data[i : i+n], nil
	}
	return l.data[i:ringSize], l.data[:i+n-ringSize]
}

// append writes an entry and returns the memory for its payload. The caller
// has made sure of the space.
func (p *producer) append(e *entry) (first, second []byte) {
	i := p.tail & (ringSize - 1)
	e.encode(p.data[i : i+entrySize])
	first, second = p.slots(p.tail+entrySize, int(e.frag))
	p.tail += entrySize + padded(int(e.frag))
	p.solicited = p.solicited || e.flags&flagSolicited != 0
	return first, second
}

// publish makes what was appended visible and wakes a sleeping consumer (I3).
// It returns what the consumer says of itself.
func (p *producer) publish() (armed uint32) {
	p.published = p.tail
	fence.Announce64(&p.h.tail, p.tail)
	if armed = p.h.armed.Load(); armed == armedAll || (armed == armedSolicited && p.solicited) {
		p.wake.Wake()
	}
	p.solicited = false
	return armed
}

// nudge wakes a consumer that sleeps though the ring is full: it waits for a
// solicited message, which waits for room.
func (p *producer) nudge() {
	if p.h.armed.Load() == armedSolicited {
		p.wake.Wake()
	}
}

// The values of ringHeader.armed.
const (
	armedNot = iota
	armedAll
	armedSolicited
	armedClosed // the consumer takes nothing any more
)

// consumer is the receiving end of a ring.
type consumer struct {
	ring
	head uint64
	wake base.Waker // of the producer
	// A message that arrives in parts.
	inMessage  bool
	got, total uint32
}

// available returns the published bytes that are not consumed yet; ok is
// false when the producer lies (I1).
func (c *consumer) available() (n uint64, ok bool) {
	n = c.h.tail.Load() - c.head
	return n, n <= ringSize && n%entrySize == 0
}

// next reads the entry at the head, of which avail bytes are published.
func (c *consumer) next(e *entry, avail uint64) (first, second []byte, ok bool) {
	i := c.head & (ringSize - 1)
	e.decode(c.data[i : i+entrySize])
	if e.frag > ringSize || entrySize+padded(int(e.frag)) > avail {
		return nil, nil, false
	}
	first, second = c.slots(c.head+entrySize, int(e.frag))
	return first, second, true
}

func (c *consumer) consume(e *entry) { c.head += entrySize + padded(int(e.frag)) }

// release publishes the head and wakes a producer that starves.
func (c *consumer) release() {
	fence.Announce64(&c.h.head, c.head)
	c.feed()
}

// postedCount publishes the number of receives posted.
func (c *consumer) postedCount(n uint64) {
	fence.Announce64(&c.h.posted, n)
	c.feed()
}

func (c *consumer) feed() {
	if c.h.starved.Load() != 0 && c.h.starved.CompareAndSwap(1, 0) {
		c.wake.Wake()
	}
}

// count adds n executed operations of bytes in all to what the peer sees as
// in-bound (G15).
func (p *producer) count(op fabric.Op, n, bytes int) {
	fence.Count(&p.h.ops[op], uint64(n))
	fence.Count(&p.h.bytes, uint64(bytes))
}
