package hopscotch

import (
	"github.com/remora-kv/remora/internal/extent"
	"github.com/remora-kv/remora/internal/fence"
)

// Which items a cache gives up. For a slot: one of the neighbourhood. For memory: first
// what some slots lead to, then neighbours in memory (package extent).
const (
	// visits is how many slots are looked at for a Put.
	visits = 64
	// victims is how many of them give up their item, at most.
	victims = 8
)

// evict drops the item at a place to make room.
func (t *Table) evict(p place, now int64) {
	t.countLoss(p, now)
	t.drop(p)
}

// countLoss counts an item that is lost to make room, or had expired.
func (t *Table) countLoss(p place, now int64) {
	if t.record(p).expired(now) {
		t.stats.Expired++
	} else {
		t.stats.Evicted++
	}
}

// victim returns the slot of a full neighbourhood whose item has the least credit, and of
// those the one that was written first. The others lose some of theirs, so that what is
// used no more does not stay for ever.
func (t *Table) victim(h uint64) uint64 {
	found := h
	for i := h + 1; i < h+reach; i++ {
		if t.rank(i) < t.rank(found) {
			found = i
		}
	}
	for i := h; i < h+reach; i++ {
		if i != found {
			t.spare(i)
		}
	}
	return found
}

// rank orders items by how soon they are to go.
func (t *Table) rank(i uint64) uint64 {
	l := t.label(i)
	return l.credit()<<48 | l.version()
}

// spare lets an item off if it has credit, for a part of that.
func (t *Table) spare(i uint64) bool {
	credit := t.label(i).credit()
	if credit == 0 {
		return false
	}
	t.setCredit(i, credit-1)
	t.stats.Rescued++
	return true
}

// owner is how the space empties blocks (see package extent).
func (t *Table) owner() extent.Items {
	return extent.Items{Expire: t.expire, Clear: t.clear, Spare: t.spareItem}
}

// makeRoom frees memory until there is a block of need bytes, and takes it: by eviction
// in a cache, by reclaiming what has expired and moving what is in the way in a store.
// Only a store may fail; then it returns 0.
func (t *Table) makeRoom(need uint64, now int64, move bool) uint64 {
	if !t.caches() {
		return t.space.Reclaim(need, now, t.mortal > 0, move)
	}
	if off := t.evictSome(need, now); off != 0 {
		return off
	}
	return t.space.Evict(need, now, move)
}

// evictSome evicts items that some slots lead to until there is a block of need bytes,
// and takes it. It returns 0 if that was not enough.
func (t *Table) evictSome(need uint64, now int64) uint64 {
	evicted := 0
	for range visits {
		i := t.takeTurn()
		if t.label(i) == 0 || t.lead(i).offset() == 0 || t.spare(i) {
			continue
		}
		p := t.at(i)
		t.countLoss(p, now)
		t.unlink(p)
		t.draw(i)
		if off := t.space.Give(p.off); t.space.Size(off) >= need {
			t.space.Claim(off)
			return off
		}
		if evicted++; evicted == victims {
			break
		}
	}
	return 0
}

// takeTurn returns the slot whose turn it is. One slot after another would leave a desert
// behind it and a crowd before it, where neighbourhoods are full; so the next one is far
// away, and all have had their turn before the first one has it again.
func (t *Table) takeTurn() uint64 {
	slots := t.homes + reach - 1
	t.turn = (t.turn + t.stride) % slots
	return t.turn
}

// strideFor returns a step that visits all of n slots, about 0.62 of them at a time.
func strideFor(n uint64) uint64 {
	step := max(1, n/1000*618+n%1000*618/1000)
	for gcd(step, n) != 1 {
		step++
	}
	return step
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// spareItem is spare for the item at off.
func (t *Table) spareItem(off uint64) bool { return t.spare(t.locate(off).slot) }

// expire takes the item at off out of the index if it has expired.
func (t *Table) expire(off uint64, now int64) bool {
	if !t.block(off).expired(now) {
		return false
	}
	t.stats.Expired++
	t.unlink(t.locate(off))
	return true
}

// clear takes the item at off out of the index, or moves it to another block, and reports
// whether it could.
func (t *Table) clear(off uint64, now int64, move bool) bool {
	p := t.locate(off)
	switch {
	case !t.block(off).expired(now) && !t.caches():
		return move && t.moveItem(p)
	case t.caches() && move && t.rescue(p):
	default:
		t.countLoss(p, now)
		t.unlink(p)
		if !p.inChain() {
			t.draw(p.slot)
		}
	}
	return true
}

// rescue moves an item that has credit, for a part of that, and reports whether it could.
func (t *Table) rescue(p place) bool {
	credit := t.label(p.slot).credit()
	if credit == 0 || !t.moveItem(p) {
		return false
	}
	t.setCredit(p.slot, credit-1)
	t.stats.Rescued++
	return true
}

// moveItem moves an item to another block, and reports whether there was one.
func (t *Table) moveItem(p place) bool {
	size := extent.RoundUp(atBody + t.block(p.off).size())
	to := t.space.Take(size)
	if to == 0 {
		return false
	}
	fence.CopyOut(t.items[to+atSum:to+size], t.items[p.off+atSum:p.off+size])
	t.space.Trim(to, size)
	t.relead(p, to, t.nextOf(p))
	return true
}
