package mica

import (
	"bytes"

	"github.com/remora-kv/remora/internal/arena"
	"github.com/remora-kv/remora/store"
)

// Export returns the block.
func (t *Table) Export() store.Export { return store.Export{Areas: []*arena.Block{t.block}} }

// LinkOf returns where the item is that was got or put last.
func (t *Table) LinkOf(k store.Key) (store.Link, bool) {
	at := t.got
	if at == 0 {
		return store.Link{}, false
	}
	m := t.metaOf(at)
	if m&metaLive == 0 || !bytes.Equal(t.keyOf(at, m), k.Bytes) {
		return store.Link{}, false
	}
	return store.Link{Span: store.Span{Off: int64(at), Len: t.sizeOf(m)}, Version: t.versionOf(at, m)}, true
}

// began is told of a call that may change something: what was found before it may not be
// where it was.
func (t *Table) began() {
	t.changes++
	t.got = 0
}
