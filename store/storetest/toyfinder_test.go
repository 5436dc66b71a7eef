package storetest

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/remora-kv/remora/store"
)

// toyFinder is the client's half of toy.
type toyFinder struct {
	flaw           toyFlaw
	buckets, cells uint32

	key    store.Key
	tries  int
	inCell bool
	bucket [toyBucket]byte
	at     int // the entry in the bucket whose cell is read
	item   store.Item
	cell   uint32
}

// toyTries is how often a search starts over.
const toyTries = 5

func newToyFinder(layout []byte, flaw toyFlaw) (*toyFinder, error) {
	if len(layout) < toyLayout || len(layout) != toyLayout && !flaw.exportsAnew {
		return nil, errors.New("toy: a layout has 8 bytes")
	}
	f := &toyFinder{flaw: flaw, buckets: binary.LittleEndian.Uint32(layout), cells: binary.LittleEndian.Uint32(layout[4:])}
	if (f.buckets == 0 || f.buckets > 1<<16 || f.cells > 1<<16) && !flaw.crashes {
		return nil, errors.New("toy: no such layout")
	}
	return f, nil
}

func (f *toyFinder) Start(k store.Key) store.Span {
	f.key, f.tries = k, 0
	return f.again()
}

// again starts the search over.
func (f *toyFinder) again() store.Span {
	f.inCell, f.at = false, 0
	return store.Span{Area: 0, Off: int64(f.key.Hash%uint64(f.buckets)) * toyBucket, Len: toyBucket}
}

func (f *toyFinder) Look(b []byte) (store.Span, store.Outcome) {
	if f.flaw.allocates {
		sink = make([]byte, 1)
	}
	if !f.inCell {
		copy(f.bucket[:], b)
		return f.next()
	}
	switch proven, same := f.proves(b); {
	case proven && same && f.flaw.hides && f.item.Expires != 0:
		return store.Span{}, store.Missing
	case proven && same:
		return store.Span{}, store.Found
	case proven:
		return f.next()
	case f.flaw.wrongMiss:
		return store.Span{}, store.Missing
	}
	if f.tries++; f.tries > toyTries && !f.flaw.endless {
		return store.Span{}, store.Ask
	}
	return f.again(), store.More
}

// next continues with the next entry that has the tag of the key.
func (f *toyFinder) next() (store.Span, store.Outcome) {
	for f.at += 16; f.at < toyBucket; f.at += 16 {
		word := binary.LittleEndian.Uint64(f.bucket[f.at:])
		if word == 0 || word>>48<<48 != toyTag(f.key.Hash) {
			continue
		}
		f.cell = binary.LittleEndian.Uint32(f.bucket[f.at+8:])
		if f.cell >= f.cells && !f.flaw.outside {
			continue
		}
		f.inCell = true
		return store.Span{Area: 1, Off: int64(f.cell) * toyCell, Len: toyCell}, store.More
	}
	if binary.LittleEndian.Uint64(f.bucket[:]) != 0 || f.flaw.asks {
		return store.Span{}, store.Ask
	}
	return store.Span{}, store.Missing
}

// proves reports whether a cell matches its entry, and whether it has the key.
func (f *toyFinder) proves(b []byte) (proven, same bool) {
	keyLen, valueLen := uint64(binary.LittleEndian.Uint32(b[24:])), uint64(binary.LittleEndian.Uint32(b[28:]))
	if toyHeader+keyLen+valueLen > toyCell && !f.flaw.trusting {
		return false, false
	}
	value := b[toyHeader+keyLen:][:valueLen]
	f.item = store.Item{
		Value: value, Version: binary.LittleEndian.Uint64(b[8:]), Flags: binary.LittleEndian.Uint32(b[4:]),
		Expires: int64(binary.LittleEndian.Uint64(b[16:])),
	}
	if f.flaw.copies {
		f.item.Value = append([]byte(nil), value...)
	}
	sum := sumOfCell(b)
	if f.flaw.sumOfValue {
		sum = crc32.ChecksumIEEE(value)
	}
	word := binary.LittleEndian.Uint64(f.bucket[f.at:])
	proven = word<<16>>16 == f.item.Version && (binary.LittleEndian.Uint32(b) == sum || f.flaw.noSum || f.flaw.sumOfValue)
	if f.flaw.noExpiry {
		f.item.Expires = 0
	}
	return proven, f.flaw.noKey || string(b[toyHeader:][:keyLen]) == string(f.key.Bytes)
}

func (f *toyFinder) Item() store.Item { return f.item }

func (f *toyFinder) Touch() (store.Span, bool) {
	if f.flaw.wordInItem {
		return store.Span{Area: 1, Off: int64(f.cell)*toyCell + 16, Len: 8}, true
	}
	return store.Span{Area: 2, Off: int64(f.cell) * 8, Len: 8}, true
}
