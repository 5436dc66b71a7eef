//go:build !race

package text

import (
	"io"
	"strings"
	"testing"
)

// D1: a command does not allocate.
func TestNothingIsAllocated(t *testing.T) {
	r := open(t, 2, nil)
	c := r.dial()
	c.send("SET key {100}\r\n" + strings.Repeat("v", 100) + "\r\n")
	c.expect("STORED\r\n")
	ask := []byte(strings.Repeat("GET key\r\nGET nothing\r\nDEL nothing\r\n", 100))
	hear := make([]byte, 100*(len("VALUE 100\r\n")+102+2*len(notFound)))
	round := func() {
		if _, err := c.Write(ask); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadFull(c.Conn, hear); err != nil {
			t.Error(err)
		}
	}
	for range 10 { // uses all messages and buffers
		round()
	}
	if n := testing.AllocsPerRun(50, round); n > 3 {
		t.Errorf("%v allocations for 300 commands", n)
	}
}
