package mica

// peers are the entries of a bucket whose place a new one may take when it has no
// other (M6): all of them, those with its tag, or those of its hash.
type peers struct {
	hash uint64
	tag  byte // 0 for any
	same bool // only those of the hash
}

func allPeers(hash uint64) peers { return peers{hash: hash} }

func taggedPeers(hash uint64) peers { return peers{hash: hash, tag: tagOf(hash)} }

func equalPeers(hash uint64) peers { return peers{hash: hash, tag: tagOf(hash), same: true} }

// has says whether an entry with a tag, of the item at an offset, is one of them.
func (p *peers) has(t *Table, tag byte, at int) bool {
	return p.tag == 0 || p.tag == tag && (!p.same || t.hashAt(at) == p.hash)
}
