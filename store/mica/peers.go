package mica

// peers are the entries of a bucket that a new entry may displace if the bucket has no
// room (M6): all of them, those with its tag, or those with its hash.
type peers struct {
	hash uint64
	tag  byte // 0 for any
	same bool // only those with the hash
}

func allPeers(hash uint64) peers { return peers{hash: hash} }

func taggedPeers(hash uint64) peers { return peers{hash: hash, tag: tagOf(hash)} }

func equalPeers(hash uint64) peers { return peers{hash: hash, tag: tagOf(hash), same: true} }

// has reports whether the entry with this tag, of the item at an offset, is one of them.
func (p *peers) has(t *Table, tag byte, at int) bool {
	return p.tag == 0 || p.tag == tag && (!p.same || t.hashAt(at) == p.hash)
}
