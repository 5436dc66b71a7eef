package path

import "github.com/remora-kv/remora/store"

// linkCache remembers links by the hashes of keys, in sets that forget the least recently used
// link. A link is a guess: the item may have moved, and two keys can have one hash. A link
// whose version is 0, which means unknown, is not found.
type linkCache struct {
	sets []linkSet
	mask uint64
	most int // how many links it can grow to
}

const linkWays = 4

// linkSet are links, the most recently used first. A hash of 0 marks a free entry.
type linkSet [linkWays]linkEntry

type linkEntry struct {
	hash    uint64
	version uint64
	at      uint64 // offset, and the area in the highest byte
	sum     uint32
	length  uint16 // at most readBuffer
	age     uint16 // of the use that was reported last (uses)
}

const entryArea = 56

// newLinkCache makes a cache for at least n links, which can grow to most.
func newLinkCache(n, most int) *linkCache {
	sets := 1
	for sets*linkWays < n {
		sets *= 2
	}
	return &linkCache{sets: make([]linkSet, sets), mask: uint64(sets - 1), most: most}
}

// room is how many links the cache can hold.
func (c *linkCache) room() int { return linkWays * len(c.sets) }

// grow makes room for twice as many links, and returns false if there is enough.
func (c *linkCache) grow() bool {
	if c.room() >= c.most {
		return false
	}
	old := c.sets
	*c = *newLinkCache(2*c.room(), c.most)
	for i := range old {
		for j := linkWays - 1; j >= 0; j-- { // the most recently used goes in last
			if e := old[i][j]; e.hash != 0 {
				s := c.set(e.hash)
				copy(s[1:], s[:])
				s[0] = e
			}
		}
	}
	return true
}

// nonzero keeps hashes apart from the mark of a free entry.
func nonzero(hash uint64) uint64 { return max(hash, 1) }

// set returns the set of a hash.
func (c *linkCache) set(hash uint64) *linkSet { return &c.sets[hash&c.mask] }

// find copies the link of a hash to l. It returns the link's age, which the caller may read and
// write until the next call, or nil if there is no link.
func (c *linkCache) find(hash uint64, l *store.Link) (age *uint16) {
	s := c.set(hash)
	hash = nonzero(hash)
	for i := range s {
		if s[i].hash != hash {
			continue
		}
		if s[i].version == 0 {
			return nil
		}
		if i != 0 {
			e := s[i]
			copy(s[1:i+1], s[:i])
			s[0] = e
		}
		e := &s[0]
		l.Span.Area, l.Span.Off, l.Span.Len = int(e.at>>entryArea), int64(e.at&(1<<entryArea-1)), int(e.length)
		l.Version, l.Sum = e.version, e.sum
		return &e.age
	}
	return nil
}

// add remembers a link, as the most recently used.
func (c *linkCache) add(hash uint64, l store.Link, age uint16) {
	s := c.set(hash)
	hash = nonzero(hash)
	last := len(s) - 1
	for i := range s {
		if s[i].hash == hash {
			last = i
			break
		}
	}
	copy(s[1:last+1], s[:last])
	s[0] = linkEntry{
		hash: hash, version: l.Version, at: uint64(l.Span.Off) | uint64(l.Span.Area)<<entryArea,
		sum: l.Sum, length: uint16(l.Span.Len), age: age,
	}
}

// setVersion changes the version of the link of a hash, if there is one.
func (c *linkCache) setVersion(hash, version uint64) {
	if e := c.entry(hash); e != nil {
		e.version = version
	}
}

// entry returns the link of a hash, or nil.
func (c *linkCache) entry(hash uint64) *linkEntry {
	s := c.set(hash)
	hash = nonzero(hash)
	for i := range s {
		if s[i].hash == hash {
			return &s[i]
		}
	}
	return nil
}

// changes notes that an item is being changed to this one: its link is not found until the new version is
// known.
func (c *linkCache) changes(hash uint64, value []byte, flags uint32) {
	if e := c.entry(hash); e != nil {
		e.version, e.sum = 0, store.LinkSum(value, flags)
	}
}

// drop forgets the link of a hash.
func (c *linkCache) drop(hash uint64) {
	s := c.set(hash)
	hash = nonzero(hash)
	for i := range s {
		if s[i].hash == hash {
			copy(s[i:], s[i+1:])
			s[len(s)-1] = linkEntry{}
			return
		}
	}
}
