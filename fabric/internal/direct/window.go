package direct

import (
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
)

// Window is a region of the peer, as this end reaches it.
type Window struct {
	Mem    []byte
	Addr   uint64
	Key    uint32
	Access fabric.Access
	// Live holds Key as long as the region is not closed. It is written by the
	// region's owner.
	Live *atomic.Uint32
	// Release unmaps the window; may be nil.
	Release func()
}

// reach returns the n bytes at addr if op is allowed there (G7).
func (w *Window) reach(op fabric.Op, addr uint64, n int) ([]byte, bool) {
	off := addr - w.Addr
	if off > uint64(len(w.Mem)) || uint64(n) > uint64(len(w.Mem))-off ||
		w.Access&op.Needs() == 0 || w.Live.Load() != w.Key {
		return nil, false
	}
	return w.Mem[off : off+uint64(n)], true
}

// Keys are an index into the owner's table and the generation of that index,
// so that a stale key does not open the region that took its place: a key comes
// back after at least restingIndexes * maxGeneration other regions.
const (
	keyIndexBits  = 20
	maxRegions    = 1 << keyIndexBits
	maxGeneration = 1<<(32-keyIndexBits) - 1
	// restingIndexes is how many free indexes are kept out of use.
	restingIndexes = 64
)

func keyIndex(key uint32) int { return int(key & (maxRegions - 1)) }

// regionAddr is the synthetic address of the region at an index: no two
// regions overlap, and none begins at zero.
func regionAddr(index int) uint64 { return uint64(index+1) << 40 }

// windowTable finds windows by key: by an index for those used of late, by a
// map for the others. It grows with the windows that are open, not with what a
// peer calls its keys.
type windowTable struct {
	recent [16]*Window
	all    map[uint32]*Window
}

// late returns the window of a key that was used of late, nil if that is not known at once.
func (t *windowTable) late(key uint32) *Window {
	if w := t.recent[key%16]; w != nil && w.Key == key {
		return w
	}
	return nil
}

func (t *windowTable) find(key uint32) *Window {
	if w := t.late(key); w != nil {
		return w
	}
	w := t.all[key]
	if w != nil {
		t.recent[key%16] = w
	}
	return w
}

func (t *windowTable) put(w *Window) {
	if t.all == nil {
		t.all = map[uint32]*Window{}
	}
	t.all[w.Key] = w
}

// remove takes a window out, if it is there.
func (t *windowTable) remove(key uint32) *Window {
	w := t.all[key]
	delete(t.all, key)
	if t.recent[key%16] == w {
		t.recent[key%16] = nil
	}
	return w
}

// find returns the window for key, asking the provider when this end has not seen
// the key before. later means that the answer will come as a note.
func (q *QP) find(key uint32) (w *Window, later bool) {
	if w = q.windows.find(key); w != nil {
		return w, false
	}
	return q.ask(key)
}

func (q *QP) ask(key uint32) (w *Window, later bool) {
	switch key {
	case 0:
		return nil, false // no region has this key
	case q.refused:
		q.refused = 0
		return nil, false
	case q.asked:
		return nil, true
	}
	w, later = q.control.Resolve(key)
	if later {
		q.asked = key
		return nil, true
	}
	if w != nil {
		q.install(w)
	}
	return w, false
}

// Resolved tells the queue pair the answer to an earlier Control.Resolve that
// said later: a window, or nil for a key that the peer does not grant. It may
// be called from any goroutine.
func (q *QP) Resolved(key uint32, w *Window) {
	q.send.note(func() {
		if q.asked == key {
			q.asked = 0
		}
		if w == nil {
			q.refused = key
			return
		}
		if q.released {
			w.release()
			return
		}
		q.install(w)
	})
}

func (q *QP) install(w *Window) {
	if old := q.windows.remove(w.Key); old != nil {
		q.drop(old)
	}
	q.windows.put(w)
}

// Revoked tells the queue pair that the peer closed a region: its window is
// given back. It may be called from any goroutine.
func (q *QP) Revoked(key uint32) {
	q.send.note(func() {
		if w := q.windows.remove(key); w != nil {
			q.drop(w)
		}
	})
}

// drop releases a window that is not in the table any more.
func (q *QP) drop(w *Window) {
	if q.window == w {
		q.window = nil
	}
	w.release()
}

func (w *Window) release() {
	if w.Release != nil {
		w.Release()
	}
}

func (q *QP) releaseWindows() {
	for key := range q.windows.all {
		q.drop(q.windows.remove(key))
	}
	q.released = true
}
