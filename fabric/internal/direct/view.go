package direct

import "github.com/remora-kv/remora/fabric"

var _ fabric.Viewer = (*QP)(nil)

// View implements fabric.Viewer. A window is taken away by a note (Revoked), and notes are
// for Poll: until then it stays mapped, whatever has become of the region behind it (G20).
func (q *QP) View(from fabric.Remote, n int) ([]byte, bool) {
	if q.transport != fabric.RC || n <= 0 || n > q.maxMessage || q.backlog.len() != 0 ||
		q.state.Load() != uint32(fabric.StateReady) {
		return nil, false
	}
	win := q.window
	if win == nil || win.Key != from.Key {
		if win = q.windows.find(from.Key); win == nil {
			return nil, false
		}
		q.window = win
	}
	mem, ok := win.reach(fabric.OpRead, from.Addr, n)
	if !ok {
		return nil, false
	}
	q.oneSided(fabric.OpRead, 1, n)
	return mem[:n:n], true // who appends to it must not write behind it
}
