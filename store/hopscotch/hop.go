package hopscotch

// probes is how many slots are examined for an empty one.
const probes = 32

// vacant returns an empty slot in the neighbourhood of a home. It takes an empty slot, drops
// an expired item, hops other items away, or evicts one in a cache. A store may have none.
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

// empty returns the first empty slot among probes slots from slot h on, or none.
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

// hop fills an empty slot with an item from a slot as far before it as the item's
// neighbourhood allows. It returns the slot that became empty, or none.
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

// draws is how many items draw moves at most.
const draws = 8

// draw fills a vacated slot with an item that is far from its home, the slot of that item
// with another, and so on. Without it items would stay far from home after those that
// displaced them are gone, and occupy the slots of others.
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

// drawable returns the last slot whose item may move to slot to, or none.
func (t *Table) drawable(to uint64) uint64 {
	for i := min(to+reach, t.homes+reach-1) - 1; i > to; i-- {
		if t.label(i) != 0 && t.homeAt(i) <= to {
			return i
		}
	}
	return none
}
