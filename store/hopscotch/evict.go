package hopscotch

// Which items a cache evicts. For a slot: one of the neighbourhood. For memory: first
// items in blocks of some slots, then neighbours in memory (package extent).
const (
	// maxLooks is how many slots a Put examines.
	maxLooks = 64
	// victims is how many of them lose their item, at most.
	victims = 8
)

// evict drops the item at a place to make room.
func (t *Table) evict(p place, now int64) {
	t.heap.Lose(t.record(p), now)
	t.drop(p)
}

// victim returns the slot of a full neighbourhood whose item has the least credit, and of
// those the oldest. It lowers the credit of the others, so that items that are no longer
// used do not stay forever.
func (t *Table) victim(h uint64) uint64 {
	found := h
	for i := h + 1; i < h+reach; i++ {
		if t.rank(i) < t.rank(found) {
			found = i
		}
	}
	for i := h; i < h+reach; i++ {
		if i != found && t.spare(i) {
			t.heap.Stats.Rescued++
		}
	}
	return found
}

// rank orders items for eviction; the lowest is evicted first.
func (t *Table) rank(i uint64) uint64 {
	l := t.label(i)
	return l.credit()<<48 | l.version()
}

// spare reports whether the item of a slot has credit, and takes one credit from it.
func (t *Table) spare(i uint64) bool {
	credit := t.label(i).credit()
	if credit == 0 {
		return false
	}
	t.setCredit(i, credit-1)
	return true
}

// makeRoom takes a block of at least need bytes for an item. In Store mode it returns 0 if
// that fails.
func (t *Table) makeRoom(need uint64, now int64, key, value []byte) uint64 {
	if t.heap.Caches() {
		if off := t.evictSome(need, now); off != 0 {
			return off
		}
	}
	return t.heap.MakeRoom(need, now, key, value)
}

// evictSome evicts items in blocks until there is a block of need bytes,
// and takes it. It returns 0 if there is none.
func (t *Table) evictSome(need uint64, now int64) uint64 {
	evicted := 0
	for range maxLooks {
		i := t.takeTurn()
		if t.label(i) == 0 || t.lead(i).offset() == 0 {
			continue
		}
		if t.spare(i) {
			t.heap.Stats.Rescued++
			continue
		}
		p := t.at(i)
		t.heap.Lose(t.record(p), now)
		t.unlink(p)
		t.draw(i)
		if off := t.heap.Give(p.off); t.heap.Size(off) >= need {
			t.heap.Claim(off)
			return off
		}
		if evicted++; evicted == victims {
			break
		}
	}
	return 0
}

// takeTurn returns the next slot to evict from. In the order of the slots, those already
// visited would be empty and neighbourhoods ahead full. So the next one is far away, and
// all slots have a turn before the first one has another.
func (t *Table) takeTurn() uint64 {
	slots := t.homes + reach - 1
	t.turn = (t.turn + t.stride) % slots
	return t.turn
}

// strideFor returns a step of about 0.62 n that visits all of n slots.
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

// spareBlock is spare for the item at off.
func (t *Table) spareBlock(off uint64) bool { return t.spare(t.locate(off).slot) }

// unlinkBlock removes the item at off from the index and the counts.
func (t *Table) unlinkBlock(off uint64) {
	p := t.locate(off)
	t.unlink(p)
	if !p.inChain() {
		t.draw(p.slot)
	}
}

// moved makes the index point to the block that an item was moved to. The credit stays.
func (t *Table) moved(from, to uint64) {
	p := t.locate(from)
	if p.inChain() {
		t.relead(p, to, t.next(from))
		return
	}
	credit := t.label(p.slot).credit()
	t.relead(p, to, 0)
	if credit > 0 {
		t.setCredit(p.slot, credit)
	}
}
