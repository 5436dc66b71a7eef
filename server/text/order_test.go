//go:build !race

package text

import (
	"runtime"
	"testing"

	"github.com/remora-kv/remora/test/pages"
)

// Both sides publish before they check whether the other one sleeps (M4).
func TestMailboxPublishesBeforeItLooks(t *testing.T) {
	d, listenerMem, listenerCut := pages.Split(t, func(l *Listener) *waker { return &l.waker })
	cfg := Config{Serve: (&echo{}).serve, Clock: wall{}}
	d.cfg = cfg
	b, mem, cut := pages.Split(t, func(b *mailbox) *waker { return &b.core })
	b.listener = d
	request := []byte("request")
	pages.StopsAtAccess(t, mem, cut, func() { b.post(1, request, anyLength) })
	if !b.Pending() {
		t.Error("the loop checks whether the core sleeps before it has posted the request")
	}
	pages.StopsAtAccess(t, listenerMem, listenerCut, func() { b.Step() })
	if !b.ready() {
		t.Error("the core checks whether the loop sleeps before it has published the result")
	}
	runtime.KeepAlive(cfg)
	runtime.KeepAlive(request)
}
