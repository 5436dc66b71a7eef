package remora

import "github.com/remora-kv/remora/store"

// linkCache remembers where items are, by the hashes of their keys: so many as it was
// made for, in sets of which the one that was not used for longest is forgotten. What is
// found is a guess. Two keys of one hash take turns. A version of 0 is not known, and
// such a link is not found.
type linkCache struct {
	sets []linkSet
	mask uint64
	most int // how many links it can have when it has grown
}

const linkWays = 4

// linkSet are links, the one that was used last first. A hash of 0 is none.
type linkSet [linkWays]linkEntry

type linkEntry struct {
	hash    uint64
	off     int64
	version uint64
	length  int32
	area    int16
	age     uint16 // of the use that the server knows of (uses)
}

// newLinkCache makes a cache for at least n links, which can grow until there is room for
// most.
func newLinkCache(n, most int) *linkCache {
	sets := 1
	for sets*linkWays < n {
		sets *= 2
	}
	return &linkCache{sets: make([]linkSet, sets), mask: uint64(sets - 1), most: most}
}

// room is for how many links there is room.
func (c *linkCache) room() int { return linkWays * len(c.sets) }

// grow makes room for twice as many links. It is false where there is enough.
func (c *linkCache) grow() bool {
	if c.room() >= c.most {
		return false
	}
	old := c.sets
	*c = *newLinkCache(2*c.room(), c.most)
	for i := range old {
		for j := linkWays - 1; j >= 0; j-- { // the one that was used last is put in last
			if e := old[i][j]; e.hash != 0 {
				s := c.set(e.hash)
				copy(s[1:], s[:])
				s[0] = e
			}
		}
	}
	return true
}

// keyed is a hash that is not 0.
func keyed(hash uint64) uint64 { return max(hash, 1) }

// set returns where the links of a hash are. The lowest bits are those that engines
// choose by, and as good as any.
func (c *linkCache) set(hash uint64) *linkSet { return &c.sets[hash&c.mask] }

// find looks for the link of a hash. Its age is the caller's to read and to write, until
// the next call; nil says that there is none.
func (c *linkCache) find(hash uint64, l *store.Link) (age *uint16) {
	s := c.set(hash)
	hash = keyed(hash)
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
		l.Span.Area, l.Span.Off, l.Span.Len, l.Version = int(e.area), e.off, int(e.length), e.version
		return &e.age
	}
	return nil
}

// add remembers a link, as the one used last, with its age.
func (c *linkCache) add(hash uint64, l store.Link, age uint16) {
	s := c.set(hash)
	hash = keyed(hash)
	last := len(s) - 1
	for i := range s {
		if s[i].hash == hash {
			last = i
			break
		}
	}
	copy(s[1:last+1], s[:last])
	s[0] = linkEntry{hash: hash, off: l.Span.Off, version: l.Version, length: int32(l.Span.Len), area: int16(l.Span.Area), age: age}
}

// renew gives the link of a hash another version, if there is one.
func (c *linkCache) renew(hash, version uint64) {
	s := c.set(hash)
	hash = keyed(hash)
	for i := range s {
		if s[i].hash == hash {
			s[i].version = version
			return
		}
	}
}

// drop forgets the link of a hash.
func (c *linkCache) drop(hash uint64) {
	s := c.set(hash)
	hash = keyed(hash)
	for i := range s {
		if s[i].hash == hash {
			copy(s[i:], s[i+1:])
			s[len(s)-1] = linkEntry{}
			return
		}
	}
}
