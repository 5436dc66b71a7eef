//go:build !race

package direct

import (
	"testing"

	"github.com/remora-kv/remora/test/pages"
)

// Both ends of a ring publish what they did before they look whether the other sleeps: one of
// both sees the other (I3).
func TestRingPublishesBeforeItLooks(t *testing.T) {
	const depth, posted, starved = 4, 128, 192 // see ringHeader
	for name, c := range map[string]struct {
		cut  int // what is looked at is behind it
		do   func(l ring)
		done func(h *ringHeader) bool
	}{
		"message": {posted, func(l ring) { (&producer{ring: l, tail: 64}).publish() }, func(h *ringHeader) bool { return h.tail.Load() == 64 }},
		"room":    {starved, func(l ring) { (&consumer{ring: l, head: 64}).release() }, func(h *ringHeader) bool { return h.head.Load() == 64 }},
		"receive": {starved, func(l ring) { (&consumer{ring: l}).postedCount(1) }, func(h *ringHeader) bool { return h.posted.Load() == 1 }},
	} {
		mem := pages.New(t, 2+ringBytes(depth)/pages.Size)
		l := ringAt(mem[pages.Size-c.cut:], depth)
		pages.StopsAtAccess(t, mem, pages.Size, func() { c.do(l) })
		if !c.done(l.h) {
			t.Errorf("%s: it looks whether the other end sleeps before it publishes", name)
		}
	}
}
