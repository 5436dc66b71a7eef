package hopscotch

import (
	"encoding/binary"

	"github.com/remora-kv/remora/internal/fence"
)

// reach is the number of slots of a neighbourhood.
const reach = 6

// Offsets of the words of a slot. An inline item follows.
const (
	atHome   = 0
	atChain  = 8
	atLead   = 16
	atLabel  = 24
	slotHead = 32
)

// home is the home word: for each place of the neighbourhood a stamp, and whether the slot
// there holds an item of this home.
type home uint64

const (
	stampBits = 9
	placeBits = stampBits + 1
	stampMask = 1<<stampBits - 1
)

func (w home) holds(place uint64) bool   { return w>>(place*placeBits+stampBits)&1 != 0 }
func (w home) stamp(place uint64) uint64 { return uint64(w>>(place*placeBits)) & stampMask }
func (w home) mark(place uint64) mark    { return mark(w.stamp(place)<<3 | place) }

// enter returns the word with a place held, under the next stamp.
func (w home) enter(place uint64) home {
	stamp := home(w.stamp(place)+1) & stampMask
	return w&^(stampMask<<(place*placeBits)) | (stamp|1<<stampBits)<<(place*placeBits)
}

// leave returns the word with a place not held. The stamp stays, so that the next one differs.
func (w home) leave(place uint64) home { return w &^ (1 << (place*placeBits + stampBits)) }

// mark identifies one write of a slot: the place in the neighbourhood, and the stamp.
type mark uint64

const markBits = 12

func (m mark) place() uint64 { return uint64(m) & 7 }

// lead is the word of a slot that points to its item.
type lead uint64

const (
	tagBits   = 12
	classBits = 8
)

func newLead(off uint64, class uint8, hash uint64, m mark) lead {
	return lead(off/unit<<32 | uint64(class)<<24 | tagOf(hash)<<markBits | uint64(m))
}

// offset returns the offset of the item's block, 0 if it is inline.
func (l lead) offset() uint64 { return uint64(l) >> 32 * unit }
func (l lead) class() uint8   { return uint8(l >> 24) }
func (l lead) tag() uint64    { return uint64(l) >> markBits & (1<<tagBits - 1) }
func (l lead) mark() mark     { return mark(l & (1<<markBits - 1)) }

// label is the word of a slot with the version of its item; 0 is an empty slot.
type label uint64

// The credit of an item in a cache is how often it is spared until it is used again.
const (
	fullCredit = 2
	creditMask = 3 << markBits
)

func newLabel(version uint64, m mark) label { return label(version<<16 | uint64(m)) }

func (l label) version() uint64 { return uint64(l) >> 16 }
func (l label) mark() mark      { return mark(l & (1<<markBits - 1)) }
func (l label) credit() uint64  { return uint64(l) >> markBits & 3 }

// link points to the block of an item in a chain; 0 is none.
type link uint64

const checkMask = 1<<24 - 1

func newLink(off uint64, class uint8, version uint64) link {
	return link(off/unit<<32 | uint64(class)<<24 | version&checkMask)
}

func (l link) offset() uint64 { return uint64(l) >> 32 * unit }
func (l link) class() uint8   { return uint8(l >> 24) }

// isTo reports whether the link may point to an item of this version.
func (l link) isTo(version uint64) bool { return (uint64(l)^version)&checkMask == 0 }

// tagOf returns the bits above those that choose the home.
func tagOf(hash uint64) uint64 { return hash >> 32 & (1<<tagBits - 1) }

// homeOf returns the home of a hash: its low 32 bits, as a fraction of 2^32, scaled to the
// number of homes.
func homeOf(hash, homes uint64) uint64 { return hash & (1<<32 - 1) * homes >> 32 }

func (t *Table) homeOf(hash uint64) uint64 { return homeOf(hash, t.homes) }

func (t *Table) slotWord(i, which uint64) uint64 {
	return binary.LittleEndian.Uint64(t.slots[i*t.slotSize+which:])
}

func (t *Table) setSlotWord(i, which, v uint64) {
	fence.Publish64(fence.Word(t.slots, int(i*t.slotSize+which)), v)
}

func (t *Table) home(i uint64) home   { return home(t.slotWord(i, atHome)) }
func (t *Table) chain(i uint64) link  { return link(t.slotWord(i, atChain)) }
func (t *Table) lead(i uint64) lead   { return lead(t.slotWord(i, atLead)) }
func (t *Table) label(i uint64) label { return label(t.slotWord(i, atLabel)) }

// occupy makes slot i hold an item of home h that is already written: inline if off is 0.
// Like move it writes lead and label under another stamp each time (H3).
func (t *Table) occupy(h, i, off, hash, version uint64) {
	w := t.home(h).enter(i - h)
	t.writeEntry(i, off, hash, version, w.mark(i-h))
	t.setSlotWord(h, atHome, uint64(w))
}

func (t *Table) writeEntry(i, off, hash, version uint64, m mark) {
	class := uint8(0)
	if off != 0 {
		class = t.classAt(off)
	}
	t.setSlotWord(i, atLead, uint64(newLead(off, class, hash, m)))
	t.setSlotWord(i, atLabel, uint64(newLabel(version, m)))
}

// vacate empties slot i of home h.
func (t *Table) vacate(h, i uint64) {
	t.setSlotWord(h, atHome, uint64(t.home(h).leave(i-h)))
	t.clearEntry(i)
}

func (t *Table) clearEntry(i uint64) {
	t.setSlotWord(i, atLabel, 0)
	t.setSlotWord(i, atLead, 0)
}

// move moves the item of home h from slot i to slot to, which is empty. At each moment
// the home word names one of the two, and that one is complete (H4).
func (t *Table) move(h, i, to uint64) {
	w := t.home(h).enter(to - h).leave(i - h)
	old, version := t.lead(i), t.label(i)
	if old.offset() == 0 {
		from, dst := i*t.slotSize, to*t.slotSize
		fence.CopyOut(t.slots[dst+slotHead:dst+t.slotSize], t.slots[from+slotHead:from+t.slotSize])
	}
	m := w.mark(to - h)
	t.setSlotWord(to, atLead, uint64(old)&^(1<<markBits-1)|uint64(m))
	t.setSlotWord(to, atLabel, uint64(version)&^(1<<markBits-1)|uint64(m))
	t.setSlotWord(h, atHome, uint64(w))
	t.clearEntry(i)
}

// setCredit changes the credit of the item in slot i.
func (t *Table) setCredit(i, credit uint64) {
	t.setSlotWord(i, atLabel, uint64(t.label(i)&^creditMask)|credit<<markBits)
}

// homeAt returns the home of the item in slot i.
func (t *Table) homeAt(i uint64) uint64 { return i - t.lead(i).mark().place() }
