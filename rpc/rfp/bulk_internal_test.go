package rfp

import (
	"math/rand/v2"
	"testing"
)

// Pieces of every message make up the message, none is longer than the others allow, and the last
// ones of a long message are short.
func TestNextPiece(t *testing.T) {
	for _, bulk := range []int{lineSize * piecesInArea, 1280, 7 * 256, 2048, 64 << 10, defaultBulk} {
		r := rings{bulk: bulk}
		most := r.pieceSize()
		for _, total := range []int{1, 63, 64, 65, most - 1, most, most + 1, 2*most - 1, 2 * most, 3*most + 7, 16*most + 7, 100 * most} {
			left, last, count := total, 0, 0
			for ; left > 0; left -= last {
				last = r.nextPiece(left)
				if last <= 0 || last > most || last > left || left > last && last%lineSize != 0 {
					t.Fatalf("area of %d, %d bytes left: a piece of %d", bulk, left, last)
				}
				count++
			}
			if limit := total/most + 5; count > limit {
				t.Errorf("area of %d: %d pieces for %d bytes", bulk, count, total)
			}
			if total >= 2*most && most >= 16*lineSize && last > most*3/4 {
				t.Errorf("area of %d: the last piece of %d bytes has %d", bulk, total, last)
			}
		}
	}
}

// Whatever is taken and given back, no two pieces overlap, and all begin with a line.
func TestAreaHandsOutLines(t *testing.T) {
	const size = 1 << 12
	a := area{size: size}
	type piece struct {
		at, n int
		end   uint64
	}
	var held []piece
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		if len(held) != 0 && rng.IntN(2) == 0 {
			k := 1 + rng.IntN(len(held))
			a.free(held[k-1].end)
			held = held[k:]
		}
		n, part := 1+rng.IntN(size/2), size
		if rng.IntN(2) == 0 {
			part = size / 2
		}
		at, ok := a.take(n, part)
		if !ok {
			if len(held) == 0 {
				t.Fatalf("no room for %d bytes in an empty area", n)
			}
			continue
		}
		if at%lineSize != 0 || at+n > part {
			t.Fatalf("%d bytes at %d, in a part of %d", n, at, part)
		}
		for _, h := range held {
			if at < h.at+h.n && h.at < at+n {
				t.Fatalf("%d bytes at %d, where %d at %d are in use", n, at, h.n, h.at)
			}
		}
		held = append(held, piece{at, n, a.head})
	}
}
