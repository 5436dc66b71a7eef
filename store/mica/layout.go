package mica

import (
	"encoding/binary"
	"math/bits"
)

// Dimensions of the index.
const (
	lineSize   = 64
	lineSlots  = 12 // entries of the first line of a bucket
	spillSlots = 11 // entries of an overflow line
	maxLines   = 8  // lines of a bucket (M6)
	maxEntries = lineSlots + (maxLines-1)*spillSlots
	maxAlike   = 32 // entries of a bucket with the same tag that a Put makes (M6)
)

// Offsets in a line; see the package doc.
const (
	nextAt      = 12
	positionsAt = 16
	backAt      = positionsAt + 4*spillSlots
)

// logStart is where the log begins: position 0 is nil, and items as long as a line begin
// at a line.
const logStart = 64

// headerSize is the size of an item without its flags, expiry, key and value.
const headerSize = 16

// Offsets in an item.
const (
	checksumAt = 0
	versionAt  = 4 // the lower 32 bits
	metaAt     = 8
	stateAt    = 15 // the byte of the meta word that has the state
	flagsAt    = headerSize
)

// granuleBits is the base-2 logarithm of the smallest granule. Granules grow with
// the memory (geometry), so that positions fit into 32 bits.
const granuleBits = 3

// reserved replaces the position in an entry whose item is being written. No item
// ever has this position.
const reserved = 1<<32 - 1

// meta is the second word of an item: lengths, upper bits of the version, state.
type meta uint64

const (
	keyShift   = 16
	valueShift = 32
	valueBits  = 27
	extraShift = valueShift + valueBits

	metaHasFlags  meta = 1 << extraShift
	metaHasExpiry meta = 1 << (extraShift + 1)
	metaUsed      meta = 1 << (extraShift + 2)
	metaLive      meta = 1 << (extraShift + 3)
	metaSlack     meta = 1 << (extraShift + 4) // one granule more than it needs

	metaState = metaUsed | metaLive

	flagsSize  = 4
	expirySize = 8

	stateUsed = byte(metaUsed >> 56)
	stateLive = byte(metaLive >> 56)
)

func (m meta) keyLen() int { return int(m >> keyShift & 0xffff) }

func (m meta) valueLen() int { return int(m >> valueShift & (1<<valueBits - 1)) }

// extra returns the size of flags and expiry: 4 and 8 bytes if present.
func (m meta) extra() int { return int(m>>extraShift&3) * flagsSize }

// length returns the number of bytes of the item without padding.
func (m meta) length() int { return headerSize + m.extra() + m.keyLen() + m.valueLen() }

// shape returns the bits that an item must share with one that overwrites it.
func (m meta) shape() meta { return m & (metaHasFlags | metaHasExpiry) }

// makeMeta returns the meta word of an item that is not live yet.
func makeMeta(keyLen, valueLen int, flags uint32, expires int64, version uint64) meta {
	m := meta(version>>32) | meta(keyLen)<<keyShift | meta(valueLen)<<valueShift
	if flags != 0 {
		m |= metaHasFlags
	}
	if expires != 0 {
		m |= metaHasExpiry
	}
	return m
}

// padded returns length rounded up to granules.
func (t *Table) padded(length int) int {
	return (length + t.granule - 1) &^ (t.granule - 1)
}

// sizeOf returns the room that the item with this meta word takes in the log.
func (t *Table) sizeOf(m meta) int {
	return t.padded(m.length()) + int(m>>(extraShift+4))*t.granule
}

// position returns how the index refers to the item at an offset; offset is the
// inverse.
func (t *Table) position(at int) uint32 { return uint32(at >> t.shift) }

func (t *Table) offset(position uint32) int { return int(position) << (t.shift & 63) }

func (t *Table) metaOf(at int) meta {
	return meta(binary.LittleEndian.Uint64(t.byWord[uint(at+metaAt)/8][:]))
}

func (t *Table) versionOf(at int, m meta) uint64 {
	return uint64(binary.LittleEndian.Uint32(t.mem[at+versionAt:])) | uint64(m&0xffff)<<32
}

func (t *Table) keyOf(at int, m meta) []byte {
	from := at + headerSize + m.extra()
	return t.mem[from : from+m.keyLen()]
}

func (t *Table) valueOf(at int, m meta) []byte {
	from := at + headerSize + m.extra() + m.keyLen()
	to := from + m.valueLen()
	return t.mem[from:to:to]
}

func (t *Table) flagsOf(at int, m meta) uint32 {
	if m&metaHasFlags == 0 {
		return 0
	}
	return binary.LittleEndian.Uint32(t.mem[at+flagsAt:])
}

// expiryAt returns the offset of the expiry of an item with this meta word: after the
// flags.
func expiryAt(at int, m meta) int {
	return at + flagsAt + int(m>>extraShift&1)*flagsSize
}

func (t *Table) expiresOf(at int, m meta) int64 {
	if m&metaHasExpiry == 0 {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(t.mem[expiryAt(at, m):]))
}

// expired reports whether the item has expired.
func (t *Table) expired(at int, m meta, now int64) bool {
	if m&metaHasExpiry == 0 {
		return false
	}
	expires := t.expiresOf(at, m)
	return expires != 0 && expires <= now
}

// geometry returns the base-2 logarithm of the granule of a block of this size.
func geometry(size int) (shift uint) {
	// A position is below size>>shift, which must stay below reserved.
	return uint(max(granuleBits, bits.Len64(uint64(size))-32))
}

// line is one cache line of the index.
type line [lineSize]byte

// lineOffset returns the offset of a line of the index: line 0 is at the end of the
// block.
func (t *Table) lineOffset(number uint64) int { return t.firstLine - int(number)*lineSize }

func (t *Table) lineAt(offset int) *line { return &t.byLine[uint(offset)/lineSize] }

func (t *Table) line(number uint64) *line { return t.lineAt(t.lineOffset(number)) }

func (l *line) next() uint32 { return binary.LittleEndian.Uint32(l[nextAt:]) }

func (l *line) setNext(number uint32) { binary.LittleEndian.PutUint32(l[nextAt:], number) }

// back returns the number of the line before an overflow line.
func (l *line) back() uint32 { return binary.LittleEndian.Uint32(l[backAt:]) }

func (l *line) setBack(number uint32) { binary.LittleEndian.PutUint32(l[backAt:], number) }

func (l *line) position(slot int) uint32 {
	at := uint(positionsAt+4*slot) & (lineSize - 4) // the mask changes nothing, but spares a bounds check
	return binary.LittleEndian.Uint32(l[at : at+4])
}

func (l *line) setPosition(slot int, position uint32) {
	binary.LittleEndian.PutUint32(l[positionsAt+4*slot:], position)
}

// set writes an entry.
func (l *line) set(slot int, tag byte, position uint32) {
	l[slot] = tag
	l.setPosition(slot, position)
}

const (
	everyByte = 0x0101010101010101
	everyLow  = 0x7f * everyByte
	tagsHigh  = 0x80808080 // the tags of slots 8 to 11 in the second word
)

// zeroBytes returns the highest bit of every byte that is 0 in x.
func zeroBytes(x uint64) uint64 { return ^((x&everyLow + everyLow) | x | everyLow) }

// matches returns the set of slots with this tag; slotOf takes it apart. Slot i is bit
// 8i, slots from 8 on are bit 8(i-8)+1.
func (l *line) matches(tag byte) uint64 {
	pattern := uint64(tag) * everyByte
	low := zeroBytes(binary.LittleEndian.Uint64(l[0:8]) ^ pattern)
	high := zeroBytes(binary.LittleEndian.Uint64(l[8:16])^pattern) & tagsHigh
	return low>>7 | high>>6
}

// slotOf returns the first slot of a set that is not empty.
func slotOf(matches uint64) int {
	bit := bits.TrailingZeros64(matches)
	return bit>>3 | bit&1<<3
}

// entries returns the number of entries of a line. They are in the first slots.
func (l *line) entries() int {
	return lineSlots - bits.OnesCount64(l.matches(0))
}

// tagOf returns the tag of a hash. It is never 0, which marks a slot without an
// entry.
func tagOf(hash uint64) byte { return max(byte(hash>>40), 1) }
