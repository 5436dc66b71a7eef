package verbs

import (
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

// patternByte is byte j of message i in memory that a verb test moves about.
func patternByte(i, j int) byte { return byte(i*37 + j*11 + 5) }

// fillPattern fills the slots of a region before anybody is connected, except
// those that a peer writes.
func fillPattern(e *end, r *fabric.Region) {
	if r.Access()&(fabric.RemoteWrite|fabric.RemoteAtomic) != 0 {
		return
	}
	n := e.shape.ring
	if r.Access() != 0 {
		n = e.shape.shared
	}
	for i := range n {
		for j, off := 0, e.slots.off(i); j < e.slots.size; j++ {
			r.Bytes()[off+j] = patternByte(i, j)
		}
	}
}

// clearSlots zeroes the slots of the local region, where READs will go.
func clearSlots(e *end, l *lane) {
	clear(l.local.Bytes()[header : header+e.shape.ring*e.slots.stride])
}

// checkPattern says whether every one of n slots is as fillPattern left it at
// the other end, or still all zero. The memory may have been written by a peer.
func checkPattern(s slots, mem []byte, n int) error {
	got := make([]byte, s.size)
	for i := range n {
		fence.CopyIn(got, mem[s.off(i):s.off(i)+s.size])
		right, zero := true, true
		for j, b := range got {
			right = right && b == patternByte(i, j)
			zero = zero && b == 0
		}
		if !right && !zero {
			return fmt.Errorf("message %d did not arrive as it was sent: % x", i, got[:min(len(got), 64)])
		}
	}
	return nil
}

// sumWords adds up the words of n slots.
func sumWords(s slots, mem []byte, n int) (sum uint64) {
	for i := range n {
		sum += fence.Observe64(wordAt(mem, s.word(i)))
	}
	return sum
}
