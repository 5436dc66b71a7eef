package mica

import (
	"math"

	"github.com/remora-kv/remora/internal/fence"
)

// evictOldest frees the memory of the oldest item, and removes it from the index if
// it is live. It returns its size.
func (t *Table) evictOldest(now int64) int {
	at := t.ring.tail
	m := t.metaOf(at)
	size := t.sizeOf(m)
	if m&metaLive == 0 {
		t.ring.dead -= size
	} else {
		t.countGone(at, m, now)
		t.remove(t.entryOf(at, m))
		t.markDead(at)
		t.count(m, -1)
		t.shrink()
	}
	t.ring.pass(size)
	return size
}

// evictAll empties the table.
func (t *Table) evictAll(now int64) {
	t.eachInLog(func(at int, m meta) bool {
		if m&metaLive != 0 {
			t.countGone(at, m, now)
			t.markDead(at)
			t.count(m, -1)
		}
		return true
	})
	t.reset()
}

// countGone counts an item that is removed as expired or as evicted.
func (t *Table) countGone(at int, m meta, now int64) {
	if t.expired(at, m, now) {
		t.stats.Expired++
	} else {
		t.stats.Evicted++
	}
}

// slideOldest moves the oldest item, which must be live, to the head of the
// log, and returns its size. The log is wrapped, so the item moves down in
// memory, maybe by less than its size.
func (t *Table) slideOldest() int {
	r := &t.ring
	from, to := r.tail, r.head
	m := t.metaOf(from)
	size := t.sizeOf(m)
	if from != to {
		s := t.entryOf(from, m)
		t.markDead(from) // or links to the old place would find it (M10)
		copy(t.mem[to:to+size], t.mem[from:from+size])
		t.publishMeta(to, m)
		t.lineAt(s.line).setPosition(s.i, t.position(to))
		t.pins.moved(from, size, to)
	}
	r.head += size
	r.pass(size)
	return size
}

// victim is the item that will be evicted next, and its hash. It is cleared when the log
// turns, since another item may be there when the tail returns, and determined anew
// whenever room was made.
type victim struct {
	at   int // 0 for none
	hash uint64
}

// prefetchVictim starts to load the line that the next eviction will change.
func (t *Table) prefetchVictim() {
	t.victim = victim{}
	if !t.ring.wrapped {
		return
	}
	at := t.ring.tail
	if m := t.metaOf(at); m&metaLive != 0 {
		t.victim = victim{at, t.hash(t.keyOf(at, m))}
		fence.ExpectWrite(&t.mem[t.lineOffset(t.bucketOf(t.victim.hash))])
	}
}

// entryOf returns the slot of a live item. It exists by M2; if not, the memory is corrupt,
// and to go on would make it worse.
func (t *Table) entryOf(at int, m meta) slot {
	hash := t.victim.hash
	if at != t.victim.at {
		hash = t.hash(t.keyOf(at, m))
	}
	s := t.locate(hash, t.position(at))
	if s.line == 0 {
		panic("mica: the index has no entry for a live item: the memory is corrupt")
	}
	return s
}

// markDead marks an item as dead for clients that read the memory (M10).
func (t *Table) markDead(at int) { t.mem[at+stateAt] &^= stateLive }

// kill marks an item as dead. The caller removes its entry.
func (t *Table) kill(at int, m meta) {
	t.markDead(at)
	t.ring.dead += t.sizeOf(m)
	t.count(m, -1)
}

// displace gives the slot of one of its peers to an item: that of the oldest unused peer,
// or of the oldest if all were used.
func (t *Table) displace(p peers, position uint32, now int64) {
	if t.keeping {
		panic("mica: a Store has no slot for an item that it admitted")
	}
	var oldest slot
	rank := math.MaxInt
	for number := t.bucketOf(p.hash); ; {
		at := t.lineOffset(number)
		l := t.lineAt(at)
		for i := range l.entries() {
			if item := t.offset(l.position(i)); p.has(l[i]) && t.rank(item) < rank {
				oldest, rank = slot{at, i, item}, t.rank(item)
			}
		}
		next := l.next()
		if next == 0 {
			break
		}
		number = uint64(next)
	}
	m := t.metaOf(oldest.at)
	t.countGone(oldest.at, m, now)
	t.kill(oldest.at, m)
	t.lineAt(oldest.line).set(oldest.i, tagOf(p.hash), position)
}

// rank orders items by the order in which displace takes them: unused ones first, by age.
func (t *Table) rank(at int) int {
	rank := t.ring.age(at)
	if t.isUsed(at, t.metaOf(at)) {
		rank += 2 * len(t.mem)
	}
	return rank
}

// hurryBytes is how much of the log starve passes for an entry that found no line.
const hurryBytes = 2 << 10

// starve counts an entry that displaced another because the log occupies the memory that
// the index needs, and advances the tail towards the end of the log. It evicts items
// beyond the ceiling and slides others. With FIFO that costs items, and is not
// done if few are dead.
func (t *Table) starve(now int64) {
	t.starved++
	r := &t.ring
	most := t.ceiling() - logStart
	for left := hurryBytes; left > 0 && r.wrapped; {
		items := int(t.stats.ItemBytes)
		switch live := t.metaOf(r.tail)&metaLive != 0; {
		case !live, items > most:
			left -= t.evictOldest(now)
		case t.spares:
			left -= t.slideOldest()
		case items > r.dead:
			return
		default:
			left -= t.evictOldest(now)
		}
	}
}
