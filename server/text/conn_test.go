package text

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Connections that find a mailbox full keep their commands, however many, and continue when
// there is room.
func TestFullBox(t *testing.T) {
	r := open(t, 1, nil)
	r.slow.Lock()
	const n, each = 12, 4000
	var clients []*client
	var wg sync.WaitGroup
	for i := range n {
		c := r.dial()
		clients = append(clients, c)
		wg.Go(func() {
			var b []byte
			for j := range each {
				b = fmt.Appendf(b, "SET key-%d-%d value\r\n", i, j)
			}
			if _, err := c.Write(b); err != nil {
				t.Error(err)
			}
		})
	}
	settled(r)
	r.slow.Unlock()
	for _, c := range clients {
		c.expect(strings.Repeat(stored, each))
	}
	wg.Wait()
}

// The input buffer has room for the rest of any command, but no more than twice the bytes
// received (D4).
func TestRoom(t *testing.T) {
	for _, in := range []string{
		"GET " + strings.Repeat("k", MaxLine-4) + "\n",
		fmt.Sprintf("SET k {%d}\r\n%s\r\n", 1<<20, strings.Repeat("v", 1<<20)),
	} {
		c, reads := newConn(-1, 0, 1, 0), 0
		for rest := []byte(in); len(rest) != 0; reads++ {
			c.room()
			n := copy(c.in[c.end:], rest)
			if n == 0 {
				t.Fatalf("%.10q: no room for %d bytes behind %d", in, len(rest), c.end-c.at)
			}
			c.end += n
			rest = rest[n:]
			if len(c.in) > max(2*(c.end-c.at), 2*inSize) && len(rest) != 0 {
				t.Fatalf("%.10q: %d bytes for %d", in, len(c.in), c.end-c.at)
			}
			_, _, c.want, _ = parse(c.in[c.at:c.end], 1<<20)
		}
		if reads > 16 {
			t.Errorf("%.10q was read in %d parts", in, reads)
		}
		c.at = c.end
		if !c.shrink() || len(c.in) != inSize {
			t.Errorf("%.10q left %d bytes", in, len(c.in))
		}
	}
}

// Sent bytes are discarded even if the client never takes all.
func TestTrim(t *testing.T) {
	c := newConn(-1, 0, 1, 0)
	part := bytes.Repeat([]byte("0123456789"), 1000)
	most := 0
	for range 10_000 {
		c.out = append(c.out, part...)
		if c.backlog() > 300_000 {
			c.sent += len(part)
		}
		c.trim()
		most = max(most, cap(c.out))
	}
	if most > 4<<20 || c.backlog()%len(part) != 0 || !bytes.Equal(c.out[c.sent:c.sent+len(part)], part) {
		t.Errorf("%d bytes were kept for a backlog of %d", most, c.backlog())
	}
}
