package hopscotch

import (
	"math/rand/v2"
	"testing"

	"github.com/remora-kv/remora/store"
)

// TestHome enters and leaves places at random beside a model.
func TestHome(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var w home
	var holds [reach]bool
	var stamps [reach]uint64
	for range 10_000 {
		i := random.Uint64N(reach)
		if holds[i] = random.IntN(2) == 0; holds[i] {
			w = w.enter(i)
			stamps[i] = (stamps[i] + 1) % 512
		} else {
			w = w.leave(i)
		}
		for i := range uint64(reach) {
			if w.holds(i) != holds[i] || w.stamp(i) != stamps[i] || w.mark(i).place() != i {
				t.Fatalf("place %d of %#x: holds %v, stamp %d; want %v, %d", i, uint64(w), w.holds(i), w.stamp(i), holds[i], stamps[i])
			}
		}
	}
}

func TestWords(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 10_000 {
		off, hash, version := random.Uint64N(maxMemory)&^(unit-1), random.Uint64(), 1+random.Uint64N(store.MaxVersion)
		class, m := uint8(random.IntN(256)), home(0).enter(3).mark(3)
		if l := newLead(off, class, hash, m); l.offset() != off || l.class() != class || l.tag() != tagOf(hash) || l.mark() != m {
			t.Fatalf("lead %#x of offset %#x, class %d, hash %#x, mark %#x", uint64(l), off, class, hash, m)
		}
		if l := newLabel(version, m); l.version() != version || l.mark() != m || l.credit() != 0 {
			t.Fatalf("label %#x of version %#x", uint64(l), version)
		}
		if l := newLink(off, class, version); l.offset() != off || l.class() != class || !l.isTo(version) || l.isTo(version+1) {
			t.Fatalf("link %#x of offset %#x, class %d, version %#x", uint64(l), off, class, version)
		}
	}
}

// TestMove hops an item forth and back: it is found after each hop, and the
// old place is empty.
func TestMove(t *testing.T) {
	for name, shape := range shapes {
		r := openRig(t, shape, store.Store, store.MinMemory)
		k := r.homed(1, 40)
		version := r.MustPut(k, 20)
		for _, to := range []uint64{45, 41, 44, 40} {
			from := r.find(k.Hash, k.Bytes).slot
			r.move(40, from, to)
			if p := r.find(k.Hash, k.Bytes); p.slot != to || r.label(from) != 0 || r.lead(from) != 0 {
				t.Fatalf("%s: the item is in slot %d, moved to %d", name, p.slot, to)
			}
			if o, _ := r.search(k); o != store.Found || r.finder.Item().Version != version {
				t.Fatalf("%s: after a hop to %d: outcome %d", name, to, o)
			}
			r.MustCheck()
		}
	}
}

// TestStampsOfReplace checks that a rewritten slot has another stamp (H3).
func TestStampsOfReplace(t *testing.T) {
	r := openRig(t, New, store.Store, store.MinMemory)
	k := r.homed(1, 40)
	last := home(0)
	for n := range 20 {
		r.MustPut(k, n*5) // inline, then in a block
		w := r.home(40)
		if w.stamp(0) == last.stamp(0) || !w.holds(0) {
			t.Fatalf("word %#x after %#x", uint64(w), uint64(last))
		}
		last = w
	}
}
