package cuckoo

import "github.com/remora-kv/remora/internal/fence"

// PrefetchIndex starts to load the first two choices of a hash, which hold six keys of
// seven.
func (t *Table) PrefetchIndex(hash uint64) {
	c := t.choicesOf(t.tagOf(hash))
	for _, bucket := range c[:2] {
		fence.ExpectRead(&t.index[bucket*bucketSize])
	}
}

// PrefetchItems starts to load, for each hash, the item in the first two choices that has
// its tag. It does not read the third, which was not prefetched.
func (t *Table) PrefetchItems(hashes []uint64) {
	for _, hash := range hashes {
		tag := t.tagOf(hash)
		c := t.choicesOf(tag)
		for _, bucket := range c[:2] {
			if t.word(bucket, 2)>>lengthBits == tag {
				fence.ExpectRead(&t.heap.Mem()[t.offsetAt(bucket)])
				break
			}
		}
	}
}
