package direct

import (
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

// burst executes the leading requests of a chain as long as they are of the
// most frequent kind: WRITEs, or READs, of one segment of the region that was
// used last, in windows that were used of late. It returns how many they were;
// whatever is unusual about the next one is left to the long way in Post.
//
// A chain of WRITEs is first announced to the caches: the peer polls the lines,
// so this CPU has to fetch each of them for writing, and the fetches should
// overlap instead of queueing behind one another in the store buffer.
func (q *QP) burst(wrs []fabric.WR) int {
	win, known := q.window, q.known
	if win == nil || known == nil || q.transport == fabric.UD || q.backlog.len() != 0 {
		return 0
	}
	if room := q.sendDepth - (q.sendPosted - q.sendRetired); uint64(len(wrs)) > room {
		if wrs = wrs[:room]; room == 0 {
			return 0
		}
	}
	op := wrs[0].Op
	if op != fabric.OpWrite && (op != fabric.OpRead || q.transport != fabric.RC) || win.Access&op.Needs() == 0 {
		return 0
	}
	if op == fabric.OpWrite && (len(wrs) > 1 || wrs[0].Local.Len > fetchedAtOnce) {
		win.expect(wrs)
	} else if op == fabric.OpRead && len(wrs) > 1 {
		q.expectReads(wrs)
	}
	n, bytes := 0, 0
	for n < len(wrs) {
		w := &wrs[n]
		if w.Remote.Key != win.Key {
			if next := q.windows.late(w.Remote.Key); next != nil && next.Access&op.Needs() != 0 {
				win = next
			}
		}
		size, off := uint64(w.Local.Len), w.Remote.Addr-win.Addr
		if w.Op != op || w.Local.Region != known || len(w.More) != 0 || w.Remote.Key != win.Key ||
			size-1 >= uint64(q.limits.MaxMessage) || w.Flags&fabric.FlagInline != 0 && (size > uint64(q.limits.MaxInline) || op == fabric.OpRead) ||
			off > uint64(len(win.Mem)) || size > uint64(len(win.Mem))-off ||
			uint64(w.Local.Off) > uint64(known.Len()) || size > uint64(known.Len())-uint64(w.Local.Off) ||
			win.Live.Load() != win.Key || !q.Ready() {
			break
		}
		if op == fabric.OpWrite {
			fence.CopyOut(win.Mem[off:off+size], w.Local.Bytes())
		} else {
			fence.CopyIn(w.Local.Bytes(), win.Mem[off:off+size])
		}
		n++
		bytes += int(size)
		q.sendPosted++
		if w.Flags&fabric.FlagSignaled != 0 {
			q.send.push(q, q.sendPosted, w.ID, op, fabric.StatusOK, int(size))
		}
	}
	if n != 0 {
		q.window = win
		q.oneSided(op, n, bytes)
	}
	return n
}

// expectReads starts to load the first lines of what a chain of READs copies, as expect
// does for WRITEs: the loads overlap, and those of the lines behind follow from them.
func (q *QP) expectReads(wrs []fabric.WR) {
	win := q.window
	for i := range wrs {
		if key := wrs[i].Remote.Key; key != win.Key {
			if next := q.windows.late(key); next != nil {
				win = next
			}
		}
		off := wrs[i].Remote.Addr - win.Addr
		size := uint64(wrs[i].Local.Len)
		if off >= uint64(len(win.Mem)) || size > uint64(len(win.Mem))-off {
			continue
		}
		for at := uint64(0); at < min(size, loadedAhead); at += lineSize {
			fence.ExpectOnce(&win.Mem[off+at])
		}
	}
}

const (
	// loadedAhead is how much of a READ is loaded before its turn.
	loadedAhead = 512
	lineSize    = 64
)

// fetchedAtOnce is how much a WRITE of its own writes that needs no announcement:
// its first store asks for the line.
const fetchedAtOnce = 64

// expect starts to fetch, for writing, the lines that the requests go to. It is a
// hint, so addresses are only kept inside the window.
func (w *Window) expect(wrs []fabric.WR) {
	for i := range wrs {
		off := wrs[i].Remote.Addr - w.Addr
		if size := uint64(wrs[i].Local.Len); off < uint64(len(w.Mem)) && size <= uint64(len(w.Mem))-off {
			fence.ExpectLines(w.Mem[off : off+size])
		}
	}
}
