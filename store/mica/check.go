package mica

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/remora-kv/remora/internal/crc32c"
	"github.com/remora-kv/remora/store"
)

// maxFaults bounds how many faults Check reports.
const maxFaults = 10

// checker collects faults. It trusts nothing that lies in the block.
type checker struct {
	*Table
	faults []error

	live  store.Stats // Items, KeyBytes, ValueBytes and ItemBytes of live items
	dead  int
	plain int
	front [headerSize - versionAt]byte
}

// Check verifies the invariants of every item and index entry.
func (t *Table) Check() error {
	c := &checker{Table: t}
	c.checkRanges()
	if len(c.faults) == 0 {
		for _, span := range t.ring.spans() {
			c.checkSpan(span[0], span[1])
		}
		c.checkSums()
		c.checkIndex()
	}
	if len(c.faults) == 0 {
		return nil
	}
	return fmt.Errorf("%w: mica: %w", store.ErrCorrupt, errors.Join(c.faults...))
}

func (c *checker) fault(format string, args ...any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, fmt.Errorf(format, args...))
	}
}

// checkRanges verifies M1.
func (c *checker) checkRanges() {
	r := &c.ring
	if bottom := c.bottom(); r.top() > bottom {
		c.fault("the log ends at %d, beyond the index, which begins at %d", r.top(), bottom)
	}
	sane := r.head >= logStart && r.tail >= logStart
	if r.wrapped {
		sane = sane && r.head <= r.tail && r.tail < r.end
	} else {
		sane = sane && r.tail <= r.head
	}
	if !sane {
		c.fault("the log is inconsistent: head at %d, tail at %d, end at %d, wrapped %v", r.head, r.tail, r.end, r.wrapped)
	}
}

// checkSpan verifies the items in a range of the log.
func (c *checker) checkSpan(from, to int) {
	for at := from; at < to; {
		if to-at < headerSize {
			c.fault("%d bytes at %d are too few for an item", to-at, at)
			return
		}
		m := c.metaOf(at)
		size := c.sizeOf(m)
		switch {
		case size > to-at:
			c.fault("the item at %d has %d bytes, but the log only %d more", at, size, to-at)
			return
		case !c.intact(at, size):
			c.fault("the item at %d does not match its checksum", at)
			return // its size may be wrong
		case m&metaLive == 0:
			c.dead += size
		default:
			c.checkLive(at, m, size)
		}
		at += size
	}
}

// intact reports whether the checksum of an item of this size is right.
func (c *checker) intact(at, size int) bool {
	// The sum is over an item that is neither used nor live (M4).
	copy(c.front[:], c.mem[at+versionAt:])
	c.front[stateAt-versionAt] &^= stateUsed | stateLive
	sum := crc32c.Update(crc32c.Checksum(c.front[:]), c.mem[at+headerSize:at+size])
	return sum == binary.LittleEndian.Uint32(c.mem[at+checksumAt:])
}

// checkLive verifies that a live item is found in the index by its key (M2, M3), and
// counts it.
func (c *checker) checkLive(at int, m meta, size int) {
	c.live.Items++
	c.live.KeyBytes += int64(m.keyLen())
	c.live.ValueBytes += int64(m.valueLen())
	c.live.ItemBytes += int64(size)
	if m&metaHasExpiry == 0 {
		c.plain++
	}
	if m.valueLen() > c.maxValue {
		c.fault("the item at %d has a value of %d bytes, the limit is %d", at, m.valueLen(), c.maxValue)
	}
	if v := c.versionOf(at, m); v == 0 || v > c.version {
		c.fault("the item at %d has version %d, the last one assigned is %d", at, v, c.version)
	}
	if expires := c.expiresOf(at, m); expires != 0 && expires < c.soonest && expires < c.sooner {
		c.fault("the item at %d expires at %d, but no item should expire before %d", at, expires, c.soonest)
	}
	if !c.hasEntry(at, m) {
		c.fault("the item at %d has no entry in the index, or its key has several", at)
	}
}

// hasEntry reports whether exactly one entry of the item's bucket refers to it, and
// none to another item of the same key.
func (c *checker) hasEntry(at int, m meta) bool {
	key := c.keyOf(at, m)
	hash := c.hash(key)
	found, others := 0, 0
	c.eachEntry(c.bucketOf(hash), func(_ uint64, tag byte, position uint32) {
		if tag != tagOf(hash) {
			return
		}
		if other, m, ok := c.itemAt(position); other == at {
			found++
		} else if ok && string(c.keyOf(other, m)) == string(key) {
			others++
		}
	})
	return found == 1 && others == 0
}

// itemAt returns the offset of a position and the meta word there. ok reports
// whether a live item can be there.
func (c *checker) itemAt(position uint32) (at int, m meta, ok bool) {
	at = c.offset(position)
	for _, span := range c.ring.spans() {
		if at >= span[0] && at+headerSize <= span[1] {
			m = c.metaOf(at)
			return at, m, at+c.sizeOf(m) <= span[1] && m&metaLive != 0
		}
	}
	return at, 0, false
}

// checkSums compares the counters with what was read.
func (c *checker) checkSums() {
	st := store.Stats{
		Items: c.stats.Items, KeyBytes: c.stats.KeyBytes, ValueBytes: c.stats.ValueBytes, ItemBytes: c.stats.ItemBytes,
	}
	if st != c.live {
		c.fault("the counters say %+v, the log holds %+v", st, c.live)
	}
	if c.dead != c.ring.dead || c.plain != c.Table.plain {
		c.fault("the counters say %d dead bytes and %d items without expiry, the log holds %d and %d",
			c.ring.dead, c.Table.plain, c.dead, c.plain)
	}
}

// checkIndex verifies all lines (M5, M6).
func (c *checker) checkIndex() {
	entries, spill := 0, uint64(0)
	for bucket := range c.buckets() {
		spill += uint64(c.checkBucket(bucket) - 1)
		c.eachEntry(bucket, func(number uint64, tag byte, position uint32) {
			entries++
			c.checkEntry(bucket, number, tag, position)
		})
		if len(c.faults) >= maxFaults {
			return
		}
	}
	if spill != c.spill {
		c.fault("buckets have %d overflow lines, the counter says %d", spill, c.spill)
	}
	if int64(entries) != c.live.Items {
		c.fault("the index has %d entries for %d items", entries, c.live.Items)
	}
}

// eachEntry visits the entries of a bucket, as far as its lines are valid.
func (c *checker) eachEntry(bucket uint64, visit func(number uint64, tag byte, position uint32)) {
	number := bucket
	for range maxLines {
		l := c.line(number)
		for i := range lineSlots {
			if l[i] != 0 && (number == bucket || i < spillSlots) {
				visit(number, l[i], l.position(i))
			}
		}
		next := uint64(l.next())
		if next < c.buckets() || next >= c.lines() {
			return
		}
		number = next
	}
}

// checkBucket verifies how the lines of a bucket are linked, and returns their
// number.
func (c *checker) checkBucket(bucket uint64) (lines int) {
	number := bucket
	for lines = 1; lines <= maxLines; lines++ {
		l := c.line(number)
		next := uint64(l.next())
		slots := spillSlots
		if lines == 1 {
			slots = lineSlots
		} else if l[spillSlots] != 0 {
			c.fault("overflow line %d has a tag in the slot that it uses as back link", number)
		}
		c.checkLine(l, number, slots, next == 0, lines == 1)
		if next == 0 {
			return lines
		}
		if next < c.buckets() || next >= c.lines() || uint64(c.line(next).back()) != number {
			c.fault("line %d is followed by line %d, whose back link is wrong", number, next)
			return lines
		}
		number = next
	}
	c.fault("bucket %d has more than %d lines", bucket, maxLines)
	return maxLines
}

// checkLine verifies that entries come first, and that only the last line has room.
func (c *checker) checkLine(l *line, number uint64, slots int, last, first bool) {
	n := 0
	for n < slots && l[n] != 0 {
		n++
	}
	for i := n; i < slots; i++ {
		if l[i] != 0 || l.position(i) != 0 {
			c.fault("line %d has a tag or position in slot %d, behind its %d entries", number, i, n)
		}
	}
	if n < slots && !last || n == 0 && !first {
		c.fault("line %d of a bucket has %d entries: only the last line may have room, and no overflow line may be empty", number, n)
	}
}

// checkEntry verifies that an entry is in the bucket, and has the tag, of its item. That
// it is the item's only entry follows from the number of both.
func (c *checker) checkEntry(bucket, number uint64, tag byte, position uint32) {
	at, m, ok := c.itemAt(position)
	if ok {
		hash := c.hash(c.keyOf(at, m))
		ok = c.bucketOf(hash) == bucket && tagOf(hash) == tag
	}
	if !ok {
		c.fault("line %d of bucket %d refers to %d, where there is no item of this bucket and tag", number, bucket, at)
	}
}
