package loop

import (
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/direct"
)

// control is one end of a connection.
type control struct {
	dev   *Device
	qp    *direct.QP
	other *control
}

func connect(a, b *control) {
	a.other, b.other = b, a
	for _, l := range []*control{a, b} {
		l.dev.mu.Lock()
		l.dev.controls[l] = struct{}{}
		l.dev.mu.Unlock()
	}
}

// Resolve implements direct.Control.
func (l *control) Resolve(key uint32) (*direct.Window, bool) {
	r := direct.Export(l.other.dev.core, key, l.other.qp.Domain())
	if r == nil {
		return nil, false
	}
	return &direct.Window{
		Mem: r.Backing.Mem, Addr: r.Addr, Key: r.Key, Access: r.Access, Live: r.Backing.Live,
	}, false
}

// Disconnect implements direct.Control.
func (l *control) Disconnect() {
	if l.dev.killed.Load() || l.other.dev.killed.Load() {
		return
	}
	l.other.qp.PeerGone(fmt.Errorf("fabric: device %s: %w", l.dev.Name(), fabric.ErrDisconnected))
}

// lost tells the other end that this one died.
func (l *control) lost() {
	l.other.qp.PeerGone(fmt.Errorf("fabric: device %s: %w", l.dev.Name(), fabric.ErrPeerLost))
}

// Release implements direct.Control.
func (l *control) Release() {
	l.dev.mu.Lock()
	delete(l.dev.controls, l)
	l.dev.mu.Unlock()
}
