package direct

import (
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

var (
	_ fabric.Viewer = (*QP)(nil)
	_ fabric.Placer = (*QP)(nil)
)

// View implements fabric.Viewer.
func (q *QP) View(from fabric.Remote, n int) ([]byte, bool) {
	mem, ok := q.within(fabric.OpRead, from, n)
	if !ok {
		return nil, false
	}
	q.oneSided(fabric.OpRead, 1, n)
	return mem[:n:n], true // who appends to it must not write behind it
}

// Place implements fabric.Placer.
func (q *QP) Place(to fabric.Remote, b []byte) bool {
	mem, ok := q.within(fabric.OpWrite, to, len(b))
	if !ok {
		return false
	}
	fence.CopyOut(mem, b)
	q.oneSided(fabric.OpWrite, 1, len(b))
	return true
}

// within returns memory on which an operation could be executed at once. A window is taken away by
// a note (Revoked), and notes are for Poll: until then it stays mapped, whatever has become of the
// region behind it (G20).
func (q *QP) within(op fabric.Op, at fabric.Remote, n int) ([]byte, bool) {
	if q.transport != fabric.RC || n <= 0 || n > q.limits.MaxMessage || q.backlog.len() != 0 ||
		!q.Ready() {
		return nil, false
	}
	win := q.window
	if win == nil || win.Key != at.Key {
		if win = q.windows.find(at.Key); win == nil {
			return nil, false
		}
		q.window = win
	}
	return win.reach(op, at.Addr, n)
}
