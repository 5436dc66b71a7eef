package hopscotch

// Which items a cache gives up. For a slot: one of the neighbourhood. For memory: first
// what some slots lead to, then neighbours in memory (sweep.go).
const (
	// visits is how many slots are looked at for a Put.
	visits = 64
	// victims is how many of them give up their item, at most.
	victims = 8
	// spares is how many items in a row the sweep passes because they were used.
	spares = 16
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

// evictFor evicts until there is a block of need bytes, and takes it. It cannot fail, since
// all of the memory could become one block.
func (t *Table) evictFor(need uint64, now int64, move bool) uint64 {
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
	t.passUsed()
	for {
		if off := t.sweep(need, now, move); off != 0 {
			return off
		}
	}
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

// passUsed has the hand pass items that were used.
func (t *Table) passUsed() {
	s := &t.space
	for range spares {
		at := t.hand()
		if !t.isItem(at) || !t.spare(t.locate(at).slot) {
			return
		}
		s.SetHand(s.Next(at))
	}
}
