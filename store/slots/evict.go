package slots

import (
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
)

const (
	// usePoints is how many evictions in its window an item outlives for a use.
	usePoints = 8
	// maxPoints is the worth of 64 uses.
	maxPoints = 64 * usePoints
)

// use counts uses of an item, in Cache mode.
func (t *Table) use(s shadow, uses uint64) {
	if t.caches() {
		s.setPoints(uint16(min(maxPoints, uint64(s.points())+usePoints*min(uses, maxPoints))))
	}
}

// addClientUses counts the uses that clients have added to the access_count of slot i since it was
// last read. The count is a hint, and may be any number.
func (t *Table) addClientUses(i uint64) {
	s, now := t.shadow(i), fence.Observe64(t.count(i))
	if now != s.lastUses() {
		t.use(s, now-s.lastUses())
		s.setLastUses(now)
	}
}

// evict makes an item of a full window a tombstone: the one with the fewest points, the
// oldest of those. The others lose one point.
func (t *Table) evict(home uint64) uint64 {
	victim, oldest := home, home
	for d := range t.window {
		i := t.after(home, d)
		t.addClientUses(i)
		s := t.shadow(i)
		if s.version() < t.shadow(oldest).version() {
			oldest = i
		}
		if t.isBefore(s, t.shadow(victim)) {
			victim = i
		}
	}
	for d := range t.window {
		if s := t.shadow(t.after(home, d)); s.points() > 0 {
			s.setPoints(s.points() - 1)
		}
	}
	if victim != oldest {
		t.stats.Rescued++
	}
	t.stats.Evicted++
	t.makeTombstone(victim)
	return victim
}

// isBefore reports whether an item is evicted before another.
func (t *Table) isBefore(s, other shadow) bool {
	if t.cfg.Eviction == store.SecondChance && s.points() != other.points() {
		return s.points() < other.points()
	}
	return s.version() < other.version()
}
