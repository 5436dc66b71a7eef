package rfp

import (
	"math/rand/v2"
	"testing"

	"github.com/remora-kv/remora/fabric"
)

// Pieces of every message make up the message, none is longer than the others allow, and the last
// ones of a long message are short.
func TestNextPiece(t *testing.T) {
	for _, bulk := range []int{lineSize * piecesInArea, 2048, 64 << 10, defaultBulk} {
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
			if limit := total/most + 4; count > limit {
				t.Errorf("area of %d: %d pieces for %d bytes", bulk, count, total)
			}
			if total >= 2*most && most >= 16*lineSize && last > most*3/8+lineSize {
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
		if rng.IntN(4) == 0 {
			a.rewind(rng.IntN(size))
		}
		n := 1 + rng.IntN(size/2)
		at, ok := a.take(n)
		if !ok {
			if len(held) == 0 {
				t.Fatalf("no room for %d bytes in an empty area", n)
			}
			continue
		}
		if at%lineSize != 0 || at+n > size {
			t.Fatalf("%d bytes at %d", n, at)
		}
		for _, h := range held {
			if at < h.at+h.n && h.at < at+n {
				t.Fatalf("%d bytes at %d, where %d at %d are in use", n, at, h.n, h.at)
			}
		}
		held = append(held, piece{at, n, a.head})
	}
}

// Whoever gets results that the small area could hold touches no more than that of the large one,
// also after a result that did.
func TestShortResultsTouchLittle(t *testing.T) {
	r := rings{bulk: defaultBulk, resultBulk: resultBulkOf(defaultBulk, fabric.Limits{})}
	a := area{size: r.resultBulk}
	use := func(total int) (most int) {
		if total <= r.bulk {
			a.rewind(r.bulk)
		}
		for left := total; left > 0; {
			n := r.nextPiece(left)
			at, ok := a.take(n)
			if !ok {
				t.Fatalf("no room for %d bytes", n)
			}
			most, left = max(most, at+n), left-n
		}
		a.free(a.head)
		return most
	}
	if most := use(1 << 20); most <= r.bulk {
		t.Errorf("a long result touches %d bytes only", most)
	}
	for i := range 100 {
		if most := use(100 << 10); most > r.bulk+100<<10 {
			t.Fatalf("result %d of 100 KiB touches the byte at %d", i, most)
		}
	}
	if n := resultBulkOf(defaultBulk, fabric.Limits{Pinned: true}); n != defaultBulk {
		t.Errorf("%d bytes where memory is pinned", n)
	}
}
