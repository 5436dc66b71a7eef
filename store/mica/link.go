package mica

import (
	"bytes"

	"github.com/remora-kv/remora/store"
)

// Export returns the block, and the counts of uses where there are any: the layout says
// so.
func (t *Table) Export() store.Export {
	if t.uses == nil {
		return store.Export{Layout: []byte{0}, Areas: []store.Block{t.block}}
	}
	return store.Export{Layout: []byte{1}, Areas: []store.Block{t.block, t.usesBlock}}
}

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

// began notes a call that may change something: what was found before it may have moved.
func (t *Table) began() {
	t.changes++
	t.got = 0
}
