package kvl

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/remora-kv/remora/internal/arena"
)

// keys gives each key a number, and remembers what a Builder knows about it. A number is
// where the key's note is, divided by 8, and never 0.
//
//	note  0   where   u64   of the item, as in a link, when it has been planned
//	      8   length  u32   of its record; 0 as long as there is no such item, 1 until it
//	                        has been planned
//	      12  edges   u32   how many links it has by Edge; from sortEdges on where the last
//	                        of them ends in that order
//	      16  key     u16   its length
//	      18  key
//
// A key is found by a table of | hash u32 | number u32 |, with linear probing. Every place
// that is looked at is a miss of the caches, so questions are collected and answered many
// at a time, whose misses the processor then waits for together.
type keys struct {
	arena   *arena.Arena
	hasher  hasher
	notes   []*arena.Block
	mem     [][]byte
	used    int // bytes of the last of notes
	table   *arena.Block
	slots   []byte
	shift   uint // a hash of 32 bits has its home at hash >> shift
	count   int  // keys
	awaited int  // keys that are no item's yet

	asked   []question
	text    []byte // keys that were asked for
	touched byte
}

const (
	noteWhere  = 0
	noteLength = 8
	noteEdges  = 12
	noteKeyLen = 16
	noteKey    = 18

	notesShift = 19 // of numbers: 4 MiB
	notesSize  = 8 << notesShift
	maxNotes   = 1 << (32 - notesShift)

	firstTable = 12 // bits
	askBatch   = 64
)

// ask says why the number of a key is asked for.
type ask uint8

const (
	askTarget ask = iota // of a link
	askSource            // of an edge
	askItem              // an item that has come
)

// question is a key whose number is to be written to a place.
type question struct {
	hash   uint32
	likely uint32 // the number of a key with this hash, or 0
	what   ask
	begin  int // in text
	end    int
	place  []byte
}

// errKeys says that there are too many keys for their numbers.
var errKeys = errors.New("kvl: the keys have more than 32 GiB")

func (k *keys) init(a *arena.Arena, h hasher) { k.arena, k.hasher = a, h }

// ask asks for the number of a key and reports whether it is time to answer.
func (k *keys) ask(key, place []byte, what ask) bool {
	if k.asked == nil {
		k.asked = make([]question, 0, askBatch)
	}
	n := len(k.asked)
	k.asked = k.asked[:n+1]
	q := &k.asked[n] // filled in place: it is too long to be copied
	q.hash, q.what, q.place, q.begin = uint32(k.hasher.hash(key)>>32), what, place, len(k.text)
	k.text = append(k.text, key...)
	q.end = len(k.text)
	return n+1 == askBatch
}

// answer writes the numbers that were asked for.
func (k *keys) answer() error {
	if len(k.asked) == 0 {
		return nil
	}
	if err := k.reserve(len(k.asked)); err != nil {
		return err
	}
	if len(k.mem) == 0 {
		if err := k.growNotes(); err != nil {
			return err
		}
	}
	k.touch()
	for i := range k.asked {
		q := &k.asked[i]
		n, key := q.likely, k.text[q.begin:q.end]
		if n == 0 || !bytes.Equal(k.key(n), key) {
			var err error
			if n, err = k.number(q.hash, key); err != nil {
				return err
			}
		}
		binary.LittleEndian.PutUint32(q.place, n)
		if err := k.learn(n, q.what); err != nil {
			return err
		}
	}
	k.asked, k.text = k.asked[:0], k.text[:0]
	return nil
}

// touch loads what answer is going to look at: all slots, then all notes, none of which
// depends on another.
func (k *keys) touch() {
	sum := byte(0)
	for i := range k.asked {
		sum += k.slots[int(k.asked[i].hash>>k.shift)*8]
	}
	for i := range k.asked {
		k.asked[i].likely = k.likely(k.asked[i].hash)
	}
	for i := range k.asked {
		sum += k.note(k.asked[i].likely)[noteLength] // 0 too: a branch here would be a wrong guess
	}
	k.touched = sum // so that the loads are not left out
}

// likely returns the number of the first key with a hash, 0 if there is none.
func (k *keys) likely(hash uint32) uint32 {
	mask := len(k.slots)/8 - 1
	for i := int(hash >> k.shift); ; i = (i + 1) & mask {
		if s := k.slot(i); s == 0 || uint32(s>>32) == hash {
			return uint32(s)
		}
	}
}

// learn adds to a note what the question says about its key.
func (k *keys) learn(n uint32, what ask) error {
	note := k.note(n)
	switch what {
	case askSource:
		binary.LittleEndian.PutUint32(note[noteEdges:], binary.LittleEndian.Uint32(note[noteEdges:])+1)
	case askItem:
		if binary.LittleEndian.Uint32(note[noteLength:]) != 0 {
			return fmt.Errorf("%w: %q", ErrDuplicate, noteKeyOf(note))
		}
		binary.LittleEndian.PutUint32(note[noteLength:], 1)
		k.awaited--
	case askTarget:
	}
	return nil
}

// number returns the number of a key, a new one if it has none.
func (k *keys) number(hash uint32, key []byte) (uint32, error) {
	mask := len(k.slots)/8 - 1
	for i := int(hash >> k.shift); ; i = (i + 1) & mask {
		s := k.slot(i)
		if s == 0 {
			n, err := k.add(key)
			if err != nil {
				return 0, err
			}
			k.setSlot(i, uint64(hash)<<32|uint64(n))
			return n, nil
		}
		if uint32(s>>32) == hash && bytes.Equal(noteKeyOf(k.note(uint32(s))), key) {
			return uint32(s), nil
		}
	}
}

// add makes a note.
func (k *keys) add(key []byte) (uint32, error) {
	size := pad8(noteKey + len(key))
	if k.used+size > notesSize {
		if err := k.growNotes(); err != nil {
			return 0, err
		}
	}
	last := len(k.mem) - 1
	note := k.mem[last][k.used : k.used+size]
	binary.LittleEndian.PutUint16(note[noteKeyLen:], uint16(len(key)))
	copy(note[noteKey:], key)
	n := uint32(last<<notesShift | k.used/8)
	k.used += size
	k.count++
	k.awaited++
	return n, nil
}

func (k *keys) growNotes() error {
	if len(k.mem) == maxNotes {
		return errKeys
	}
	block, err := k.arena.Alloc("kvl builder keys", notesSize)
	if err != nil {
		return err
	}
	block.HugePages()
	k.notes, k.mem, k.used = append(k.notes, block), append(k.mem, block.Bytes()), 0
	if len(k.mem) == 1 {
		k.used = 8 // no key has number 0
	}
	return nil
}

// note returns the note of a number, and what is behind it.
func (k *keys) note(n uint32) []byte { return k.mem[n>>notesShift][n&(1<<notesShift-1)*8:] }

func noteKeyOf(note []byte) []byte {
	return note[noteKey : noteKey+int(binary.LittleEndian.Uint16(note[noteKeyLen:]))]
}

// key returns the key of a number.
func (k *keys) key(n uint32) []byte { return noteKeyOf(k.note(n)) }

// has reports whether a key is an item's.
func (k *keys) has(n uint32) bool { return binary.LittleEndian.Uint32(k.note(n)[noteLength:]) != 0 }

func (k *keys) slot(i int) uint64       { return binary.LittleEndian.Uint64(k.slots[i*8:]) }
func (k *keys) setSlot(i int, s uint64) { binary.LittleEndian.PutUint64(k.slots[i*8:], s) }

// reserve makes sure that the table is no more than five eighths full with n more keys.
func (k *keys) reserve(n int) error {
	if k.slots != nil && (k.count+n)*8 <= len(k.slots)/8*5 {
		return nil
	}
	bits := uint(firstTable)
	if k.slots != nil {
		bits = 32 - k.shift + 1
	}
	if bits > 32 {
		return errKeys
	}
	return k.growTable(bits)
}

// growTable moves all slots to a table that is twice as large. Slots are in the order of
// their hashes but for few, so it is written from its beginning to its end.
func (k *keys) growTable(bits uint) error {
	block, err := k.arena.Alloc("kvl builder table", 8<<bits)
	if err != nil {
		return err
	}
	block.HugePages()
	old, oldSlots := k.table, k.slots
	k.table, k.slots, k.shift = block, block.Bytes(), 32-bits
	mask := 1<<bits - 1
	for at := 0; at < len(oldSlots); at += 8 {
		s := binary.LittleEndian.Uint64(oldSlots[at:])
		if s == 0 {
			continue
		}
		i := int(uint32(s>>32) >> k.shift)
		for k.slot(i) != 0 {
			i = (i + 1) & mask
		}
		k.setSlot(i, s)
	}
	if old == nil {
		return nil
	}
	return old.Free()
}

// freeTable gives back what is only needed to find keys.
func (k *keys) freeTable() {
	if k.table != nil {
		_ = k.table.Free()
	}
	k.table, k.slots = nil, nil
}

func (k *keys) free() {
	k.freeTable()
	for _, b := range k.notes {
		_ = b.Free()
	}
	k.notes, k.mem = nil, nil
	k.asked, k.text = nil, nil
}
