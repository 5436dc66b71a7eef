package tcp

import (
	"bytes"
	"testing"

	"github.com/remora-kv/remora/fabric"
)

// TestRevokedInTheMiddle checks that a WRITE whose region is closed after a part of it came is
// refused, or dropped where there are no refusals (G7).
func TestRevokedInTheMiddle(t *testing.T) {
	for _, tr := range []fabric.Transport{fabric.RC, fabric.UC} {
		a, _ := newPair(t, tr)
		q, _ := a.qp.(*conn)
		r, err := a.dom.Alloc("test", 64, everything)
		if err != nil {
			t.Fatal(err)
		}
		text := bytes.Repeat([]byte("x"), 64)
		place := func(b []byte) (n int, m message) {
			q.mu.Lock()
			defer q.mu.Unlock()
			return q.placeMessage(b, true), q.msg
		}
		q.mu.Lock()
		q.msg = message{kind: kindWrite, total: 64, key: r.Remote().Key, addr: r.Remote().Addr}
		q.mu.Unlock()
		if n, _ := place(text[:32]); n != 32 || !bytes.Equal(r.Bytes()[:32], text[:32]) {
			t.Fatalf("%v: %d bytes are placed", tr, n)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		_, m := place(text[32:])
		if refused := a.qp.State() != fabric.StateReady; refused != (tr == fabric.RC) || m.drop == refused {
			t.Errorf("%v: refused: %t, dropped: %t", tr, refused, m.drop)
		}
		q.mu.Lock()
		q.msg = message{} // nothing more comes
		q.mu.Unlock()
	}
}
