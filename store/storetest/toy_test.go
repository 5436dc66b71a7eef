package storetest

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"runtime"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
)

// toy is the plain engine with a copy of its items in memory that clients read: buckets
// of entries, which point to cells of one size. A new value is written to a free cell, never over
// the old one, and a freed cell is the next to be used.
//
//	bucket  overflow 8 | 0 8 | 15 entries
//	entry   version 6, tag 2 | cell 4, 0 4
//	cell    sum 4, flags 4 | version 8 | expires 8 | key length 4, value length 4 | key | value
type toy struct {
	*plain
	flaw                   toyFlaw
	index, cells, counters store.Block
	buckets                uint64
	places                 map[string]toyPlace
	free                   []uint32
	late                   []func() // what toyFlaw.late puts off
	exports                int
}

// toyPlace is the place of an item: its entry, -1 if its bucket was full, and its cell.
type toyPlace struct {
	entry int
	cell  uint32
}

// toyFlaw describes the flaws of a toy; the zero toyFlaw has none.
type toyFlaw struct {
	// moves is none: another item is moved to another cell by each Put (see move)
	moves bool
	// of the engine
	staleEntry, late, missing, keepsDeleted, keepsEvicted, inPlace, readsWords, exportsAnew, heap, noFlags bool
	// of the Finder
	noSum, sumOfValue, noKey, wrongMiss, endless, outside, trusting, allocates, copies, readOnlyWord, wordInItem, noExpiry, hides, asks, crashes bool
}

const (
	toyBuckets = 32 // for each 64 KiB of memory
	toyBucket  = 256
	toyHeader  = 32
	toyCell    = 1152
	toyLayout  = 8
)

func newToy(cfg store.Config, flaw toyFlaw) (*toy, error) {
	p, err := newPlain(cfg)
	if err != nil {
		return nil, err
	}
	y := &toy{plain: p, flaw: flaw, places: map[string]toyPlace{}}
	y.buckets = uint64(p.cfg.Memory / store.MinMemory * toyBuckets)
	n := (int(p.cfg.Memory) - int(y.buckets)*toyBucket) / (toyCell + 8)
	export := p.cfg.Arena.Export
	if flaw.heap {
		export = func(purpose string, size int, _ bool) (store.Block, error) {
			return p.cfg.Arena.Alloc(purpose, size)
		}
	}
	var errs [3]error
	y.index, errs[0] = export("toy index", int(y.buckets)*toyBucket, false)
	y.cells, errs[1] = export("toy cells", n*toyCell, false)
	y.counters, errs[2] = export("toy counters", n*8, !flaw.readOnlyWord)
	for i := range n {
		y.free = append(y.free, uint32(i))
	}
	return y, errors.Join(errs[:]...)
}

func (y *toy) Export() store.Export {
	layout := binary.LittleEndian.AppendUint32(nil, uint32(y.buckets))
	layout = binary.LittleEndian.AppendUint32(layout, uint32(y.cells.Size()/toyCell))
	if y.exports++; y.flaw.exportsAnew {
		layout = append(layout, byte(y.exports))
	}
	return store.Export{Layout: layout, Areas: []store.Block{y.index, y.cells, y.counters}}
}

func (y *toy) Close() error { return errors.Join(y.index.Free(), y.cells.Free(), y.counters.Free()) }

func (y *toy) Get(k store.Key, now int64) (store.Item, error) {
	if place, ok := y.places[string(k.Bytes)]; ok && y.flaw.readsWords {
		n := binary.LittleEndian.Uint64(y.counters.Bytes()[8*place.cell:])
		_ = y.cells.Bytes()[n]
	}
	return y.plain.Get(k, now)
}

func (y *toy) Put(k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
	y.catchUp()
	if len(k.Bytes)+len(e.Value) > toyCell-toyHeader {
		return 0, store.ErrTooLarge
	}
	if _, item := y.find(k, now); c.Met(item.Version) != nil {
		return 0, c.Met(item.Version)
	}
	for len(y.free) == 0 && y.cfg.Mode == store.Cache {
		y.evict()
		y.drop()
	}
	if len(y.free) == 0 {
		y.stats.Refused++
		return 0, store.ErrFull
	}
	version, err := y.plain.Put(k, e, c, now)
	y.drop()
	if err != nil {
		return version, err
	}
	if y.flaw.late {
		k.Bytes, e.Value = append([]byte(nil), k.Bytes...), append([]byte(nil), e.Value...)
		y.late = append(y.late, func() { y.show(k, e, version) })
		return version, nil
	}
	y.show(k, e, version)
	if y.flaw.moves {
		y.move(k.Bytes)
	}
	return version, nil
}

// move moves a few of the oldest items, except one, to other cells.
func (y *toy) move(but []byte) {
	e := y.order.Front()
	for n := 0; e != nil && n < 8; e, n = e.Next(), n+1 {
		if k, item := blobAt(e).item(); string(k.Bytes) != string(but) {
			y.show(k, store.Entry{Value: item.Value, Flags: item.Flags, Expires: item.Expires}, item.Version)
		}
	}
}

// catchUp does the delayed work.
func (y *toy) catchUp() {
	for _, do := range y.late {
		do()
	}
	y.late = nil
}

func (y *toy) Delete(k store.Key, c store.Condition, now int64) error {
	y.catchUp()
	err := y.plain.Delete(k, c, now)
	if !y.flaw.keepsDeleted {
		y.drop()
	}
	return err
}

func (y *toy) Touch(k store.Key, expires, now int64) error {
	y.catchUp()
	err := y.plain.Touch(k, expires, now)
	place, ok := y.places[string(k.Bytes)]
	if err != nil || !ok || place.entry < 0 {
		return err
	}
	b := append([]byte(nil), y.cell(place.cell)...)
	binary.LittleEndian.PutUint64(b[16:], uint64(expires))
	if !y.flaw.inPlace {
		sealCell(b)
	}
	fence.CopyOut(y.cell(place.cell), b)
	return nil
}

// drop forgets the places of items that the plain engine no longer has.
func (y *toy) drop() {
	for name, place := range y.places {
		if y.items[name] == nil && !y.flaw.keepsEvicted {
			delete(y.places, name)
			y.giveUp(place)
		}
	}
}

func (y *toy) giveUp(place toyPlace) {
	if place.entry >= 0 {
		fence.Publish64(fence.Word(y.index.Bytes(), place.entry), 0)
		y.free = append(y.free, place.cell)
	}
}

// show writes an item to a free cell, and then its entry.
func (y *toy) show(k store.Key, e store.Entry, version uint64) {
	name := string(k.Bytes)
	old, replaces := y.places[name]
	if len(y.free) == 0 {
		return // flaws that free no cells have used up all
	}
	place := toyPlace{entry: old.entry, cell: y.free[len(y.free)-1]}
	if !replaces || old.entry < 0 || y.flaw.staleEntry {
		place.entry = y.freeEntry(k.Hash)
	}
	y.places[name] = place
	if place.entry < 0 {
		fence.Publish64(fence.Word(y.index.Bytes(), int(k.Hash%y.buckets)*toyBucket), 1)
		return
	}
	y.free = y.free[:len(y.free)-1]
	word := fence.Word(y.index.Bytes(), place.entry)
	if y.flaw.missing && replaces {
		fence.Publish64(word, 0)
		runtime.Gosched()
	}
	y.write(place.cell, k, e, version)
	fence.Publish64(fence.Word(y.index.Bytes(), place.entry+8), uint64(place.cell))
	fence.Publish64(word, toyTag(k.Hash)|version)
	if replaces && old.entry >= 0 && !y.flaw.staleEntry {
		y.free = append(y.free, old.cell)
	}
}

// freeEntry returns an entry of the bucket of a hash, or -1.
func (y *toy) freeEntry(hash uint64) int {
	from := int(hash % y.buckets * toyBucket)
	for at := from + 16; at < from+toyBucket; at += 16 {
		if binary.LittleEndian.Uint64(y.index.Bytes()[at:]) == 0 {
			return at
		}
	}
	return -1
}

func toyTag(hash uint64) uint64 { return hash >> 48 << 48 }

func (y *toy) cell(i uint32) []byte { return y.cells.Bytes()[i*toyCell:][:toyCell] }

func (y *toy) write(cell uint32, k store.Key, e store.Entry, version uint64) {
	b := make([]byte, toyHeader, toyCell)
	if !y.flaw.noFlags {
		binary.LittleEndian.PutUint32(b[4:], e.Flags)
	}
	binary.LittleEndian.PutUint64(b[8:], version)
	binary.LittleEndian.PutUint64(b[16:], uint64(e.Expires))
	binary.LittleEndian.PutUint32(b[24:], uint32(len(k.Bytes)))
	binary.LittleEndian.PutUint32(b[28:], uint32(len(e.Value)))
	b = append(append(b, k.Bytes...), e.Value...)
	sealCell(b)
	fence.CopyOut(y.cell(cell), b)
}

func sumOfCell(b []byte) uint32 {
	n := binary.LittleEndian.Uint32(b[24:]) + binary.LittleEndian.Uint32(b[28:])
	return crc32.ChecksumIEEE(b[4 : toyHeader+n])
}

func sealCell(b []byte) { binary.LittleEndian.PutUint32(b, sumOfCell(b)) }
