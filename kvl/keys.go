package kvl

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/remora-kv/remora/internal/arena"
)

// keys gives each key a number, and keeps a note of what the Builder knows about it. The number
// is the offset of the note divided by 8, and never 0.
//
//	note  0   where   u64   place of the item, as in a link, once it is planned
//	      8   length  u32   of its record; 0 if there is no such item yet, 1 until it
//	                        is planned
//	      12  edges   u32   number of its links by Edge; orderEdges replaces it by where they
//	                        end in the sorted links
//	      16  key     u16   its length
//	      18  key
//
// A key is found by a table of | hash u32 | number u32 |, with linear probing. Every access
// misses the caches, so questions are collected and answered in batches, whose misses
// overlap.
type keys struct {
	arena   *arena.Arena
	hasher  hasher
	notes   []*arena.Block
	mem     [][]byte
	used    int // bytes of the last of notes
	table   *arena.Block
	slots   []byte
	shift   uint // the home slot of a 32-bit hash is hash >> shift
	count   int  // number of keys
	awaited int  // number of keys without an item so far

	asked   []question
	text    []byte // keys of the questions
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

// ask says why the number of a key is needed.
type ask uint8

const (
	askTarget ask = iota // target of a link
	askSource            // source of an edge
	askItem              // key of an added item
)

// question is a key whose number is to be written to place.
type question struct {
	hash   uint32
	likely uint32 // the number of a key with this hash, or 0
	what   ask
	begin  int // in text
	end    int
	place  []byte
}

// errKeys reports that there are no numbers left for keys.
var errKeys = errors.New("kvl: the keys have more than 32 GiB")

func (k *keys) init(a *arena.Arena, h hasher) { k.arena, k.hasher = a, h }

// ask adds a question, and reports whether the batch is full.
func (k *keys) ask(key, place []byte, what ask) bool {
	if k.asked == nil {
		k.asked = make([]question, 0, askBatch)
	}
	n := len(k.asked)
	k.asked = k.asked[:n+1]
	q := &k.asked[n] // filled in place, which avoids a copy
	q.hash, q.what, q.place, q.begin = uint32(k.hasher.hash(key)>>32), what, place, len(k.text)
	k.text = append(k.text, key...)
	q.end = len(k.text)
	return n+1 == askBatch
}

// answer writes the numbers of all keys that were asked for.
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

// touch loads the memory that answer is going to read: all slots, then all notes. The loads
// are independent, so their misses overlap.
func (k *keys) touch() {
	sum := byte(0)
	for i := range k.asked {
		sum += k.slots[int(k.asked[i].hash>>k.shift)*8]
	}
	for i := range k.asked {
		k.asked[i].likely = k.likely(k.asked[i].hash)
	}
	for i := range k.asked {
		sum += k.note(k.asked[i].likely)[noteLength] // also of number 0: a branch would be mispredicted
	}
	k.touched = sum // keeps the compiler from removing the loads
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

// learn records in a note why its key was asked for.
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

// add makes the note of a new key.
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
		k.used = 8 // number 0 is not used
	}
	return nil
}

// note returns the note of a number; further notes follow in the slice.
func (k *keys) note(n uint32) []byte { return k.mem[n>>notesShift][n&(1<<notesShift-1)*8:] }

func noteKeyOf(note []byte) []byte {
	return note[noteKey : noteKey+int(binary.LittleEndian.Uint16(note[noteKeyLen:]))]
}

// key returns the key of a number.
func (k *keys) key(n uint32) []byte { return noteKeyOf(k.note(n)) }

// has reports whether there is an item with a key.
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

// growTable moves all slots to a table of twice the size. Slots are nearly in the order of
// their hashes, so the new table is written almost sequentially.
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

// freeTable frees the table, which is needed only to find keys.
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
