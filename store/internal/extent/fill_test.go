package extent

import (
	"bytes"
	"testing"

	"github.com/remora-kv/remora/store"
)

// TestShift copies between slices that overlap in all ways.
func TestShift(t *testing.T) {
	const n = 3000
	for _, size := range []int{0, 1, 8, shiftPiece - 1, shiftPiece, shiftPiece + 1, 1200} {
		for _, from := range []int{0, 1, 7, 100, shiftPiece, 799} {
			for _, to := range []int{0, 1, 8, 99, shiftPiece, 800} {
				mem := make([]byte, n)
				for i := range mem {
					mem[i] = byte(i*7 + i/256)
				}
				want := bytes.Clone(mem)
				copy(want[to:], want[from:from+size])
				if shift(mem[to:to+size], mem[from:from+size]); !bytes.Equal(mem, want) {
					t.Errorf("%d bytes from %d to %d", size, from, to)
				}
			}
		}
	}
}

func TestWithin(t *testing.T) {
	mem := make([]byte, 100)
	for _, c := range []struct {
		b    []byte
		want bool
	}{
		{mem, true},
		{mem[99:], true},
		{mem[50:60], true},
		{mem[100:], false},
		{nil, false},
		{make([]byte, 100), false},
	} {
		if got := Within(mem, c.b); got != c.want {
			t.Errorf("Within of %d bytes: %v", len(c.b), got)
		}
	}
}

// TestFill writes items whose key and value are views of their own block, of other
// blocks, or of none.
func TestFill(t *testing.T) {
	const body, size = 32, 4096
	const data = body + BodyData
	for _, keySize := range []int{0, 1, shortKey, shortKey + 1, 1000} {
		for _, keyFrom := range []int{data, data + 1, 500, size - 1000} {
			for _, valueFrom := range []int{data, data + 7, 600} {
				h := &Heap{Space: *spaceOf(t, 1<<14), Last: 6}
				block := h.Take(size)
				for i := uint64(Links); i < h.Size(block); i++ {
					h.mem[block+i] = byte(i*7 + i/256)
				}
				mem := h.mem[block:]
				key, value := mem[keyFrom:keyFrom+keySize], mem[valueFrom:valueFrom+1500]
				wantKey, wantValue := bytes.Clone(key), bytes.Clone(value)
				h.Fill(block, body, store.Key{Hash: 5, Bytes: key}, &store.Entry{Value: value, Flags: 3, Expires: 4})
				r := h.Record(block + body)
				if !bytes.Equal(r.Key(), wantKey) || !bytes.Equal(r.Value(), wantValue) {
					t.Errorf("key of %d bytes from %d, value from %d: wrong bytes", keySize, keyFrom, valueFrom)
				}
				var item store.Item
				if r.Show(&item); r.Hash() != 5 || item.Version != 7 || item.Flags != 3 || item.Expires != 4 {
					t.Errorf("hash %d, %+v", r.Hash(), item)
				}
				if got, want := h.Size(block), RoundUp(body+r.Size()); got != want {
					t.Errorf("the block has %d bytes, want %d", got, want)
				}
				if h.hand != h.Next(block) {
					t.Errorf("the hand is at %d, not behind the block", h.hand)
				}
				checkSpace(t, &h.Space)
			}
		}
	}
}
