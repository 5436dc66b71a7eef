package mica

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/remora-kv/remora/internal/crc32c"
	"github.com/remora-kv/remora/store"
)

// Bytes that are half of a change are not accepted even if they match the item's checksum, as one of
// 2^32 does.
func TestFinderHasASecondProof(t *testing.T) {
	r := newRig(t)
	key := []byte("key")
	if _, err := r.Put(r.key(key), store.Entry{Value: pattern(1, 100), Flags: 5}, store.Always(), 1); err != nil {
		t.Fatal(err)
	}
	l, ok := r.LinkOf(r.key(key))
	if !ok {
		t.Fatal("the item has no link")
	}
	l.Sum = store.LinkSum(pattern(1, 100), 5)
	good := bytes.Clone(r.Export().Areas[0].Bytes()[l.Span.Off:][:l.Span.Len])
	look := func(b []byte) store.Outcome {
		f := new(Finder)
		f.Follow(r.key(key), l)
		_, o := f.Look(bytes.Clone(b))
		return o
	}
	if o := look(good); o != store.Found {
		t.Fatalf("the item itself: %v", o)
	}
	for _, at := range []int{flagsAt, headerSize + flagsSize + len(key), headerSize + flagsSize + len(key) + 99} {
		b := bytes.Clone(good)
		b[at]++
		b[stateAt] &^= stateUsed | stateLive
		binary.LittleEndian.PutUint32(b, crc32c.Checksum(b[versionAt:]))
		b[stateAt] |= stateLive
		if o := look(b); o != store.Ask {
			t.Errorf("byte %d is another, and the checksum is right: %v", at, o)
		}
	}
}
