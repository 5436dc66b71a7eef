package mica

// A Store keeps a part of its memory free, so that compaction costs a bounded amount of
// work for each byte put.
const (
	freeShare  = 16 // 1/16 of the memory stays free
	indexShare = 64 // the log leaves 1/64 of the memory to the index

	// nominal is the assumed cost of an item in the index, in quarters of a byte. The
	// actual cost depends on the distribution of hashes, but whether a Put is refused
	// must not.
	nominal = 33

	// reclaimBytes is how much of the log a Put searches for expired items before it
	// is refused.
	reclaimBytes = 256 << 10
)

// keep stores an item without losing another, or returns false.
func (t *Table) keep(d *draft, s slot, now int64) bool {
	t.pin(d)
	ok := t.makeAdmitted(d, s, now)
	t.pins = pins{}
	return ok
}

func (t *Table) makeAdmitted(d *draft, s slot, now int64) bool {
	if t.sweepShare(d.size, now) {
		t.follow(d)
		s = t.find(d.hash, d.key)
	}
	if !t.admits(d, s) {
		if t.pins.any() || now < t.soonest {
			return false
		}
		t.reclaimExpired(now)
		if s = t.find(d.hash, d.key); !t.admits(d, s) {
			return false
		}
	}
	if s.at == 0 && !t.hasSlot(d.hash, now) {
		return false
	}
	return t.append(d, s, len(t.mem)/indexShare, now)
}

// admits reports whether there is memory for an item that replaces the one in the
// slot. The answer depends on what is stored, not on where it is.
func (t *Table) admits(d *draft, s slot) bool {
	items, bytes, plain := int(t.stats.Items)+1, int(t.stats.ItemBytes)+d.size, t.plain
	if d.meta&metaHasExpiry == 0 {
		plain++
	}
	if s.at != 0 {
		m := t.metaOf(s.at)
		items, bytes = items-1, bytes-t.sizeOf(m)
		if m&metaHasExpiry == 0 {
			plain--
		}
	}
	index := max(items*nominal/4, int(t.lines())*lineSize)
	// Touch must always find room for an expiry.
	free := max(len(t.mem)/freeShare, len(t.mem)/indexShare+plain*t.granule)
	return logStart+bytes+index+free <= len(t.mem)
}

// hasSlot reports whether an entry can be made for a hash. If necessary it makes the
// log free memory for the index, or reclaims an expired item.
func (t *Table) hasSlot(hash uint64, now int64) bool {
	c := t.chainOf(t.bucketOf(hash), tagOf(hash))
	switch {
	case c.flooded():
		return t.reclaimIn(taggedPeers(hash), now)
	case c.crowded():
		return t.reclaimIn(allPeers(hash), now)
	case c.full() && !t.lineIsFree():
		t.finishPass(now)
		if !t.lineIsFree() && t.beginPass() {
			t.finishPass(now)
		}
		return t.lineIsFree()
	}
	return true
}

// reclaimIn drops one expired item among the peers. It returns false if there is
// none.
func (t *Table) reclaimIn(p peers, now int64) bool {
	for number := t.bucketOf(p.hash); !t.pins.any(); {
		l := t.line(number)
		for i := range l.entries() {
			at := t.offset(l.position(i))
			if m := t.metaOf(at); p.has(l[i]) && t.expired(at, m, now) {
				t.stats.Expired++
				t.kill(at, m)
				t.remove(slot{t.lineOffset(number), i, at})
				return true
			}
		}
		next := l.next()
		if next == 0 {
			break
		}
		number = uint64(next)
	}
	return false
}

// append writes an item where that leaves spare bytes to the index. The item was
// admitted and has a slot, so append fails only if key or value lie in the log:
// then the replaced item cannot make room.
func (t *Table) append(d *draft, s slot, spare int, now int64) bool {
	replaces, pinned := s.at != 0, t.pins.any()
	if replaces && !pinned {
		t.detach(s, now)
	}
	at, ok := t.findRoom(d.size, spare, now)
	switch {
	case ok && pinned:
		t.follow(d)
		t.writeFromLog(at, d)
	case ok:
		t.write(at, d)
	case pinned:
		return false
	default:
		panic("mica: no room for an item that was admitted")
	}
	if replaces && pinned {
		d.key = t.keyOf(at, d.meta)
		t.detach(t.find(d.hash, d.key), now)
	}
	t.enter(d, at, replaces, now)
	return true
}

// pins are the offsets of the key and value of a call that lie in the log, 0 for those
// that do not. They follow items that are moved; while there are any, no item is
// reclaimed.
type pins struct{ key, value int }

func (p *pins) any() bool { return p.key|p.value != 0 }

func (p *pins) moved(from, size, to int) {
	if p.key >= from && p.key < from+size {
		p.key += to - from
	}
	if p.value >= from && p.value < from+size {
		p.value += to - from
	}
}

func (t *Table) pin(d *draft) {
	t.pins = pins{offsetIn(t.mem, d.key), offsetIn(t.mem, d.value)}
}

// follow sets the key and value of a draft to where they are now.
func (t *Table) follow(d *draft) {
	if at := t.pins.key; at != 0 {
		d.key = t.mem[at : at+len(d.key)]
	}
	if at := t.pins.value; at != 0 {
		d.value = t.mem[at : at+len(d.value)]
	}
}
