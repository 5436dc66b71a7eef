package lru8

import "github.com/remora-kv/remora/internal/fence"

// PrefetchIndex starts to load the bucket of a hash.
func (t *Table) PrefetchIndex(hash uint64) {
	fence.ExpectWrite(&t.index[t.bucketOf(hash)*bucketSize])
}

// PrefetchItems starts to load, for each hash, the first item of the bucket that
// has its tag. It does not follow links, whose buckets are not prefetched.
func (t *Table) PrefetchItems(hashes []uint64) {
	for _, hash := range hashes {
		t.prefetchItem(hash)
	}
}

func (t *Table) prefetchItem(hash uint64) {
	b := t.bucketAt(t.bucketOf(hash))
	tag := tagOf(hash)
	for i := range slots {
		w := b.slot(i)
		if w == 0 || w.isLink() {
			return
		}
		if w.tag() == tag {
			fence.ExpectRead(&t.heap.Mem()[w.offset()])
			return
		}
	}
}
