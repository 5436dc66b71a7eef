package mica

// peers are the entries of a bucket that a new entry may displace if the bucket has no
// room (M6): all of them, or those with its tag.
type peers struct {
	hash uint64
	tag  byte // 0 for any
}

func allPeers(hash uint64) peers { return peers{hash: hash} }

func taggedPeers(hash uint64) peers { return peers{hash: hash, tag: tagOf(hash)} }

// has reports whether an entry with this tag is one of them.
func (p *peers) has(tag byte) bool { return p.tag == 0 || p.tag == tag }
