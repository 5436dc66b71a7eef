package cuckoo

import (
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
)

// fill writes an item into a block that was taken, and cuts the rest off. The value comes
// first and may overwrite the key if that is a view: such a key is copied aside.
func (t *Table) fill(off uint64, k *store.Key, e *store.Entry, need uint64) {
	switch {
	case !within(t.items, k.Bytes):
		t.writeItem(off, k.Hash, k.Bytes, e)
	case len(k.Bytes) <= shortKey:
		var aside [shortKey]byte
		t.writeItem(off, k.Hash, aside[:copy(aside[:], k.Bytes)], e)
	default:
		t.fillLong(off, k, e)
	}
	t.space.Trim(off, need)
	t.space.MoveHand(off, t.space.Next(off))
}

// shortKey is the length up to which a key is copied aside without ado.
const shortKey = 128

// fillLong copies a long key aside, to the stack: 64 KiB of it are not needed otherwise.
//
//go:noinline
func (t *Table) fillLong(off uint64, k *store.Key, e *store.Entry) {
	var aside [store.MaxKey]byte
	t.writeItem(off, k.Hash, aside[:copy(aside[:], k.Bytes)], e)
}

// writeItem writes the value, which may overlap its own place, then the rest.
func (t *Table) writeItem(off, hash uint64, key []byte, e *store.Entry) {
	at := off + atKey
	if value := t.items[at+uint64(len(key)):]; within(t.items, e.Value) {
		shiftOut(value[:len(e.Value)], e.Value)
	} else {
		fence.CopyOut(value, e.Value)
	}
	fence.CopyOut(t.items[at:], key)
	t.writeHeader(off, hash, len(key), e, t.last+1)
}

// shiftPiece is how much shiftOut takes at a time.
const shiftPiece = 256

// shiftOut is fence.CopyOut from a slice that may overlap the destination, of the same
// length: piece by piece over the stack, from the side on which no piece is overwritten
// before it was taken.
func shiftOut(dst, src []byte) {
	var piece [shiftPiece]byte
	if within(dst, src) {
		for len(src) > 0 {
			n := copy(piece[:], src)
			fence.CopyOut(dst, piece[:n])
			dst, src = dst[n:], src[n:]
		}
		return
	}
	for n := len(src); n > 0; {
		from := max(0, n-shiftPiece)
		m := copy(piece[:], src[from:n])
		fence.CopyOut(dst[from:], piece[:m])
		n = from
	}
}
