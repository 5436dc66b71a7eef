package onesided_test

import (
	"encoding/binary"
	"errors"
	"hash/crc64"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
)

// toy is a table of one slot for each hash, without eviction and without an engine
// around it. Keys are their hashes; words that count uses are in an area of their own.
//
//	slot  | hash 8 | version 8 | value 24 | CRC-64 of it all 8 |
type toy struct {
	slots, uses store.Block
}

const (
	toySlots = 512
	toySize  = 48
	toyValue = 24
)

var polynomial = crc64.MakeTable(crc64.ECMA)

func newToy(a *store.Arena) (*toy, error) {
	slots, err := a.Export("toy", toySlots*toySize, false)
	if err != nil {
		return nil, err
	}
	uses, err := a.Export("toy uses", toySlots*8, true)
	if err != nil {
		return nil, errors.Join(err, slots.Free())
	}
	return &toy{slots, uses}, nil
}

func (t *toy) export() store.Export {
	return store.Export{Layout: []byte("toy"), Areas: []store.Block{t.slots, t.uses}}
}

func (t *toy) free() error { return errors.Join(t.slots.Free(), t.uses.Free()) }

// put stores a value, word by word, as a reader may see it.
func (t *toy) put(hash, version uint64, value [toyValue]byte) {
	var b [toySize]byte
	le := binary.LittleEndian
	le.PutUint64(b[:], hash)
	le.PutUint64(b[8:], version)
	copy(b[16:], value[:])
	le.PutUint64(b[40:], crc64.Checksum(b[:40], polynomial))
	fence.CopyOut(t.slots.Bytes()[hash%toySlots*toySize:], b[:])
}

func (t *toy) used(hash uint64) uint64 {
	var b [8]byte
	fence.CopyIn(b[:], t.uses.Bytes()[hash%toySlots*8:][:8])
	return binary.LittleEndian.Uint64(b[:])
}

// toyFinder finds items of a toy. Where spans leads it, it goes.
type toyFinder struct {
	key     store.Key
	value   []byte
	ver     uint64
	tries   int
	wild    *store.Span // asked for in place of the right one
	counted int         // byte of the word that counts, 0 for all of it
}

func newFinder(layout []byte) (store.Finder, error) {
	if string(layout) != "toy" {
		return nil, errors.New("not a toy")
	}
	return &toyFinder{}, nil
}

func (f *toyFinder) span() store.Span {
	if f.wild != nil {
		return *f.wild
	}
	return store.Span{Off: int64(f.key.Hash % toySlots * toySize), Len: toySize}
}

func (f *toyFinder) Start(k store.Key) store.Span {
	f.key, f.tries = k, 0
	return f.span()
}

func (f *toyFinder) Look(b []byte) (store.Span, store.Outcome) {
	le := binary.LittleEndian
	hash, sum := le.Uint64(b), le.Uint64(b[40:])
	switch {
	case hash == 0 && sum == 0:
		return store.Span{}, store.Missing
	case sum == crc64.Checksum(b[:40], polynomial) && hash != f.key.Hash:
		return store.Span{}, store.Missing
	case sum == crc64.Checksum(b[:40], polynomial):
		f.ver, f.value = le.Uint64(b[8:]), b[16:40]
		return store.Span{}, store.Found
	}
	if f.tries++; f.tries == 16 {
		return store.Span{}, store.Ask
	}
	return f.span(), store.More
}

func (f *toyFinder) Item() store.Item { return store.Item{Value: f.value, Version: f.ver} }

func (f *toyFinder) Touch() (store.Span, bool) {
	if f.counted != 0 {
		return store.Span{Area: 1, Off: int64(f.key.Hash%toySlots*8) + int64(f.counted), Len: 1}, true
	}
	return store.Span{Area: 1, Off: int64(f.key.Hash % toySlots * 8), Len: 8}, true
}
