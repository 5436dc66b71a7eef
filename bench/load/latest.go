package load

import (
	"fmt"
	"math/bits"
	"sync/atomic"
)

// growth is what the workers of one process know of the keys that there are. Every worker
// inserts keys of a class of its own, those whose index leaves its number when divided by
// the number of workers, in the order of their indexes (W6):
//
//	class of worker 1 of 3:   1   4   7   10 | 13   16   19
//	                          loaded, Keys=12  inserted
//
// So no two insert the same key, and nobody has to be asked which is free. What is
// published is the length of a class, once all its keys up to there were stored.
type growth struct{ classes []class }

// class is the length of one, alone on its cache line: its worker writes it, all read it.
type class struct {
	length atomic.Uint64
	_      [7]uint64
}

func newGrowth(keys uint64, workers int) *growth {
	g := &growth{classes: make([]class, workers)}
	for i := range g.classes {
		if n, at := uint64(workers), uint64(i); at < keys {
			g.classes[i].length.Store((keys - at + n - 1) / n)
		}
	}
	return g
}

// recency draws keys by how recently they were inserted, and inserts them. It belongs to
// one worker.
//
// Rank r is the key that is r/n from the end of class r mod n, of n classes: workers that
// are about as fast as each other insert in turn. Workers of other processes are not heard
// of, so their classes stay as they were loaded.
type recency struct {
	growth *growth
	zipf   *Zipf
	of     uint64   // how many workers there are
	worker uint64   // this one
	next   uint64   // place in the class of the next insert
	length uint64   // of the class, as published
	done   []uint64 // bit p: the insert with a place of p modulo the bits has ended
}

// overtaken is how many times as many inserts as are in flight at most may end before
// the oldest of them does.
const overtaken = 16

// newRecency makes that of a worker, which has at most so many inserts in flight.
func newRecency(g *growth, theta float64, worker, inFlight int) *recency {
	r := &recency{growth: g, of: uint64(len(g.classes)), worker: uint64(worker)}
	r.length = g.classes[worker].length.Load()
	if r.length == 0 {
		panic(fmt.Sprintf("workload: worker %d of %d has no key to begin with", worker, r.of))
	}
	r.next = r.length
	words := (overtaken*max(inFlight, 1) + 63) / 64
	r.done = make([]uint64, 1<<bits.Len(uint(words-1)))
	r.zipf = NewZipf(r.length*r.of, theta)
	return r
}

// draw returns the key of a rank.
func (r *recency) draw(random *Random) uint64 {
	for {
		rank := r.zipf.Draw(random)
		c, back := rank%r.of, rank/r.of
		// A class that is behind this one has nothing at the last ranks.
		if n := r.growth.classes[c].length.Load(); back < n {
			return c + r.of*(n-1-back)
		}
	}
}

// insert returns the next key of the class.
func (r *recency) insert() uint64 {
	place := r.next
	r.next++
	return r.worker + r.of*place
}

// room reports whether there may be another insert: not while one is that late behind
// those that began after it.
func (r *recency) room() bool { return r.next-r.length < 64*uint64(len(r.done)) }

// settle notes that an insert has ended. What the server has refused counts as inserted
// too: gets of it are misses, and are counted.
func (r *recency) settle(index uint64) {
	mask := 64*uint64(len(r.done)) - 1
	place := index / r.of
	r.done[place&mask>>6] |= 1 << (place & 63)
	before := r.length
	for r.done[r.length&mask>>6]>>(r.length&63)&1 != 0 {
		r.done[r.length&mask>>6] &^= 1 << (r.length & 63)
		r.length++
	}
	if r.length != before {
		r.growth.classes[r.worker].length.Store(r.length)
		r.zipf.grow(r.length * r.of)
	}
}
