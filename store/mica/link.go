package mica

import (
	"bytes"

	"github.com/remora-kv/remora/store"
)

// Export returns the block and, if the table counts uses by clients, the counts. The
// layout says whether it does.
func (t *Table) Export() store.Export {
	if t.uses == nil {
		return store.Export{Layout: []byte{0}, Areas: []store.Block{t.block}}
	}
	return store.Export{Layout: []byte{1}, Areas: []store.Block{t.block, t.usesBlock}}
}

// LinkOf returns the link of the item that was read or put last.
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

// invalidate is called by calls that may move or remove items: earlier lookups may be stale.
func (t *Table) invalidate() {
	t.changes++
	t.got = 0
}
