package hopscotch

// Which items a cache gives up. For a slot: one of the neighbourhood. For memory: first
// what some slots lead to, then neighbours in memory (package extent).
const (
	// maxLooks is how many slots are looked at for a Put.
	maxLooks = 64
	// victims is how many of them give up their item, at most.
	victims = 8
)

// evict drops the item at a place to make room.
func (t *Table) evict(p place, now int64) {
	t.heap.Lose(t.record(p), now)
	t.drop(p)
}

// victim returns the slot of a full neighbourhood whose item has the least credit, and of
// those the one that was written first. The others lose some of theirs, so that what is
// used no more does not stay forever.
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

// rank orders items by how soon they are to go.
func (t *Table) rank(i uint64) uint64 {
	l := t.label(i)
	return l.credit()<<48 | l.version()
}

// spare reports whether the item of a slot has credit, and takes a part of that.
func (t *Table) spare(i uint64) bool {
	credit := t.label(i).credit()
	if credit == 0 {
		return false
	}
	t.setCredit(i, credit-1)
	return true
}

// makeRoom makes a block of need bytes for an item, and takes it. Only a store may fail; then
// it returns 0.
func (t *Table) makeRoom(need uint64, now int64, key, value []byte) uint64 {
	if t.heap.Caches() {
		if off := t.evictSome(need, now); off != 0 {
			return off
		}
	}
	return t.heap.MakeRoom(need, now, key, value)
}

// evictSome evicts items that some slots lead to until there is a block of need bytes,
// and takes it. It returns 0 if that was not enough.
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

// takeTurn returns the slot whose turn it is. In the order of the slots, those
// behind the turn would be empty and neighbourhoods before it full; so the next one is far
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

// spareBlock is spare for the item at off.
func (t *Table) spareBlock(off uint64) bool { return t.spare(t.locate(off).slot) }

// unlinkBlock takes the item at off out of the index and the count.
func (t *Table) unlinkBlock(off uint64) {
	p := t.locate(off)
	t.unlink(p)
	if !p.inChain() {
		t.draw(p.slot)
	}
}

// moved has the index lead to the block that an item was moved to. The credit stays.
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
