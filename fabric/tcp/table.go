package tcp

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// tableBits is the width of an index into a table.
const tableBits = 16

type tableLeaf[T any] [256]atomic.Pointer[T]

// table maps small numbers to objects. get takes two loads and no lock, so
// that a key or queue pair number in a frame costs no map look-up.
type table[T any] struct {
	mu    sync.Mutex
	free  []uint16 // indices given back, oldest first
	fresh int      // indices from here on were never used
	dir   [256]atomic.Pointer[tableLeaf[T]]
}

// get returns the object at index i, or nil.
func (t *table[T]) get(i uint16) *T {
	leaf := t.dir[i>>8].Load()
	if leaf == nil {
		return nil
	}
	return leaf[i&0xff].Load()
}

// add stores what build makes for a free index. build runs under the table's
// lock.
func (t *table[T]) add(build func(i uint16) *T) (*T, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var i uint16
	// Indices rest before they are used again, so that a stale number meets
	// no queue pair rather than another one.
	switch {
	case t.fresh < 1<<tableBits && len(t.free) < 64:
		i = uint16(t.fresh)
		t.fresh++
	case len(t.free) > 0:
		i = t.free[0]
		t.free = t.free[1:]
	default:
		return nil, fmt.Errorf("all %d are in use", 1<<tableBits)
	}
	leaf := t.dir[i>>8].Load()
	if leaf == nil {
		leaf = new(tableLeaf[T])
		t.dir[i>>8].Store(leaf)
	}
	v := build(i)
	leaf[i&0xff].Store(v)
	return v, nil
}

// drop empties index i.
func (t *table[T]) drop(i uint16) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dir[i>>8].Load()[i&0xff].Store(nil)
	t.free = append(t.free, i)
}

// all returns the objects that are in the table.
func (t *table[T]) all() []*T {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []*T
	for i := range t.fresh {
		if v := t.get(uint16(i)); v != nil {
			list = append(list, v)
		}
	}
	return list
}
