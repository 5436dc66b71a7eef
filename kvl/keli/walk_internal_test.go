package keli

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/remora-kv/remora/kvl"
)

func TestVisited(t *testing.T) {
	for _, shared := range []bool{false, true} {
		testVisited(t, shared)
	}
}

func testVisited(t *testing.T, shared bool) {
	v := newVisited([]area{{size: 1 << 30}, {size: 4096}, {size: kvl.MaxArea}})
	v.shared = shared
	places := []kvl.Link{
		kvl.NewLink(0, 0, 8, 1), kvl.NewLink(0, 32, 8, 1), kvl.NewLink(1, 0, 8, 1), kvl.NewLink(0, 1<<21, 8, 1),
		kvl.NewLink(0, 1<<30-32, 8, 1), kvl.NewLink(0, 512, 8, 1), kvl.NewLink(2, 1<<35, 8, 1), kvl.NewLink(1, 4064, 8, 1),
	}
	// What is outside is found to be so when it is read.
	outside := []kvl.Link{kvl.NewLink(kvl.MaxAreas-1, kvl.MaxArea-8, 8, 1), kvl.NewLink(1, 1<<22, 8, 1), kvl.NewLink(2, kvl.MaxArea-8, 8, 1)}
	var numbers [batchLinks]uint64
	fresh := make([]kvl.Link, batchLinks)
	for round := range 2 {
		for _, l := range outside {
			if _, ok := v.prefetch([]kvl.Link{places[0], l}, &numbers); ok || !v.add(l) {
				t.Errorf("round %d: %v was visited", round, l)
			}
		}
		for _, l := range places {
			if v.add(l) != (round == 0) {
				t.Errorf("round %d: %v", round, l)
			}
		}
		_, ok := v.prefetch(places, &numbers)
		if n := v.claimBatch(places, &numbers, fresh); n != 0 || !ok {
			t.Errorf("round %d: %d places are new, %v", round, n, ok)
		}
	}
	if _, ok := v.prefetch([]kvl.Link{{}}, &numbers); ok {
		t.Error("nowhere has a number")
	}
}

// Of workers that find the same places at the same time, one has each.
func TestVisitedByMany(t *testing.T) {
	const places, workers = 100_000, 4
	v := newVisited([]area{{size: 32 * places}, {size: 1 << 30}})
	v.shared = true
	found := make([][]kvl.Link, workers)
	var wg sync.WaitGroup
	for i := range found {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 9))
			var numbers [batchLinks]uint64
			fresh, links := make([]kvl.Link, batchLinks), make([]kvl.Link, batchLinks)
			for range 8 * places / batchLinks {
				for j := range links {
					links[j] = kvl.NewLink(rng.IntN(2), 32*rng.Int64N(places), 32, 1)
				}
				v.prefetch(links, &numbers)
				n := v.claimBatch(links, &numbers, fresh)
				found[i] = append(found[i], fresh[:n]...)
			}
		})
	}
	wg.Wait()
	seen := map[kvl.Link]int{}
	for _, l := range slices.Concat(found...) {
		if seen[l]++; seen[l] != 1 {
			t.Fatalf("%v was found %d times", l, seen[l])
		}
	}
	if len(seen) < places {
		t.Errorf("%d places were found", len(seen))
	}
}

// However many items workers have, all have their share then, and nothing is lost.
func TestDivide(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 8))
	for range 200 {
		group := &group{cfg: &WalkConfig{}}
		items := map[kvl.Link]bool{}
		for range 1 + rng.IntN(5) {
			w := newWalk(nil, group.cfg, nil)
			for range rng.IntN(3000) * rng.IntN(2) {
				l := kvl.NewLink(0, 32*int64(len(items)+1), 32, 1)
				items[l] = true
				w.now.push(l)
			}
			group.add(w, nil)
		}
		workers, all := 1+rng.IntN(len(group.walks)), len(items)
		group.balance(all, workers)
		for i, w := range group.walks {
			if n := w.now.count; i < workers && (n < all/workers || n > all/workers+1) || i >= workers && n != 0 {
				t.Fatalf("worker %d of %d has %d of %d items", i, workers, n, all)
			}
			for w.now.count != 0 {
				l := w.now.pop()
				if !items[l] {
					t.Fatalf("%v is not there, or twice", l)
				}
				delete(items, l)
			}
		}
		if len(items) != 0 {
			t.Fatalf("%d items are lost", len(items))
		}
	}
}

// Wherever records of 32 bytes and more are, each has a bit of its own.
func TestVisitedTellsNeighboursApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	v := newVisited([]area{{size: 1 << 20}, {size: 1 << 20}})
	for area := range 2 {
		for at := int64(0); at < 1<<20-64; at += 32 + 8*int64(rng.IntN(4)) {
			if l := kvl.NewLink(area, at, 32, 1); !v.add(l) || v.add(l) {
				t.Fatalf("%v is taken for another, or forgotten", l)
			}
		}
	}
}

// Candidates are queued that a map would find new, once, in order, however links come.
func TestCandidates(t *testing.T) {
	for _, shared := range []bool{false, true} {
		testCandidates(t, shared)
	}
}

func testCandidates(t *testing.T, shared bool) {
	rng := rand.New(rand.NewPCG(3, 4))
	w := walk{cfg: &WalkConfig{}}
	w.later.pool = &w.pool
	w.visited = newVisited([]area{{size: 1 << 16}, {size: 1 << 24}})
	w.visited.shared = shared
	seen := map[kvl.Link]bool{}
	var want []kvl.Link
	for range 400 {
		for range rng.IntN(3 * batchLinks / 2) {
			l := kvl.NewLink(rng.IntN(2), 32*rng.Int64N(1<<11), 64, 1)
			switch {
			case rng.IntN(500) == 0:
				l = kvl.Link{}
			case rng.IntN(10) != 0:
				l = kvl.NewLink(1, 32*rng.Int64N(1<<19), 64, 1)
			}
			w.candidates.links = append(w.candidates.links, l)
			if !l.IsZero() && !seen[l] {
				want = append(want, l)
			}
			seen[l] = true
		}
		w.queueNew(&w.later, batchLinks)
		if n := len(w.candidates.links); n >= batchLinks {
			t.Fatalf("%d links are left", n)
		}
	}
	w.queueNew(&w.later, 0)
	var got []kvl.Link
	for w.later.count != 0 {
		got = append(got, w.later.pop())
	}
	if !slices.Equal(got, want) || w.queued != len(want) || len(w.candidates.links) != 0 {
		t.Errorf("%d links came through, %d were counted, want %d", len(got), w.queued, len(want))
	}
}

// A queue gives what was put into it, whatever blocks that takes, and a pool has no more of
// them than were in use at a time.
func TestQueue(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var pool blocks
	queues := []queue{{pool: &pool}, {pool: &pool}}
	models := make([][]kvl.Link, 2)
	most := 0
	for i := range 20_000 {
		at := rng.IntN(2)
		q, m := &queues[at], &models[at]
		switch n := rng.IntN(batchLinks); rng.IntN(5) {
		case 0, 1:
			for j := range q.room(n)[:n] {
				l := kvl.NewLink(0, int64(i)*8, j+1, 1)
				q.last.links[q.last.used+j] = l
				*m = append(*m, l)
			}
			q.filled(n)
		case 2:
			l := kvl.NewLink(1, int64(i)*8, 8, 1)
			q.push(l)
			*m = append(*m, l)
		case 3:
			for range min(len(*m), 2*n) {
				if got := q.pop(); got != (*m)[0] {
					t.Fatalf("step %d: %v, want %v", i, got, (*m)[0])
				}
				*m = (*m)[1:]
			}
		default:
			if rng.IntN(200) == 0 {
				q.clear()
				*m = nil
			}
		}
		if q.count != len(*m) {
			t.Fatalf("step %d: %d links, want %d", i, q.count, len(*m))
		}
		most = max(most, queues[0].blocks()+queues[1].blocks())
	}
	queues[0].clear()
	queues[1].clear()
	n := 0
	for b := pool.free; b != nil; b = b.next {
		n++
	}
	if n == 0 || n > most+1 {
		t.Errorf("%d blocks, of which %d were in use at most", n, most)
	}
}

// blocks counts those of a queue.
func (q *queue) blocks() (n int) {
	for b := q.first; b != nil; b = b.next {
		n++
	}
	return n
}
