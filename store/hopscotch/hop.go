package hopscotch

// probes is how many slots are looked at for an empty one.
const probes = 32

// vacant returns an empty slot in the neighbourhood of a home: one that is empty or whose
// item has expired, one that becomes empty because items hop to others of their own
// neighbourhoods, or in a cache that of an item which is evicted. A store may have none.
func (t *Table) vacant(h uint64, now int64) uint64 {
	i := t.empty(h, now)
	for i != none && i-h >= reach {
		i = t.hop(i)
	}
	if i == none && t.heap.Caches() {
		i = t.victim(h)
		t.evict(t.at(i), now)
	}
	return i
}

// empty returns the first empty slot from slot h on, of those that are looked at.
func (t *Table) empty(h uint64, now int64) uint64 {
	for i := h; i < min(h+probes, t.homes+reach-1); i++ {
		if t.label(i) == 0 {
			return i
		}
		if t.heap.Mortal > 0 {
			if p := t.at(i); t.record(p).Expired(now) {
				t.heap.Stats.Expired++
				t.drop(p)
				return i
			}
		}
	}
	return none
}

// hop fills an empty slot with an item from a slot before it, as far away as its own
// neighbourhood allows, and returns that slot; none if there is no such item.
func (t *Table) hop(to uint64) uint64 {
	for h := max(to, reach-1) - (reach - 1); h < min(to, t.homes); h++ {
		w := t.home(h)
		for i := h; i < to; i++ {
			if w.holds(i - h) {
				t.move(h, i, to)
				return i
			}
		}
	}
	return none
}

// draws is how many items follow one that left.
const draws = 8

// draw fills a slot that was vacated with an item that is far from its home, the slot of
// that one with another, and so on. Without it items stay far from home
// when those that displaced them are gone, and take the slots of others.
func (t *Table) draw(to uint64) {
	for range draws {
		from := t.drawable(to)
		if from == none {
			return
		}
		t.move(t.homeAt(from), from, to)
		to = from
	}
}

// drawable returns the last slot whose item can be in another slot before it.
func (t *Table) drawable(to uint64) uint64 {
	for i := min(to+reach, t.homes+reach-1) - 1; i > to; i-- {
		if t.label(i) != 0 && t.homeAt(i) <= to {
			return i
		}
	}
	return none
}
