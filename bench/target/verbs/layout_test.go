package verbs

import (
	"testing"

	"github.com/remora-kv/remora/fabric"
)

func TestMessagesEndInAnAlignedWordAndDoNotShareLines(t *testing.T) {
	for _, size := range []int{8, 9, 63, 64, 65, 100, 4096} {
		s := newSlots(size)
		for i := range 4 {
			if s.word(i)%wordSize != 0 || s.word(i)+wordSize != s.off(i)+size {
				t.Errorf("size %d: message %d at %d, its word at %d", size, i, s.off(i), s.word(i))
			}
			if i > 0 && s.off(i)/line <= (s.off(i-1)+size-1)/line {
				t.Errorf("size %d: messages %d and %d share a line", size, i-1, i)
			}
		}
		if s.off(0) < header || s.off(3)+size > s.bytes(4) {
			t.Errorf("size %d: messages lie outside [%d, %d)", size, header, s.bytes(4))
		}
	}
}

// Whatever the window, a ring holds a window, one request in it reports, and
// the queue has room.
func TestShapes(t *testing.T) {
	for window := 1; window <= 70; window++ {
		for _, signaled := range []bool{true, false} {
			c := Case{Kind: kindInbound, Op: fabric.OpWrite, Window: window, Signaled: signaled, Threads: 1, QPs: 1}
			s := shapeOf(&c, client)
			if s.ring < window || s.ring%s.every != 0 || s.every > window || s.sendDepth < window {
				t.Errorf("window %d signaled %v: pump %+v", window, signaled, s)
			}
			if target := shapeOf(&c, server); target.shared != s.ring || target.access != fabric.RemoteWrite {
				t.Errorf("window %d: target %+v of pump %+v", window, target, s)
			}
			c.Kind, c.Request, c.Reply = kindEcho, fabric.OpWrite, fabric.OpSend
			for _, r := range []role{client, server} {
				s := shapeOf(&c, r)
				if s.ring%window != 0 || s.ring%s.every != 0 || s.ring < 2*window || s.sendDepth != s.ring+bellDepth {
					t.Errorf("window %d: echo %+v", window, s)
				}
			}
		}
	}
}
