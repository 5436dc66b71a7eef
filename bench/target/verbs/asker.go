package verbs

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
)

// asker is what a caller adds to its requests when the server is to look things
// up: a key, which the server replaces by what it found.
type asker struct {
	count, size int    // lines of a request, bytes of the table
	salt        uint64 // so that no two callers ask for the same
	stage       [][]byte
	found       []*atomic.Uint64 // by slot: the answer, when it is written
	letter      [][]byte         // by place: the answer, when it is sent
}

func newAsker(e *end, l *lane, c *Case) asker {
	a := asker{count: c.Accesses, size: c.Table}
	if a.count == 0 {
		return a
	}
	a.salt = rand.Uint64()
	for slot := range c.Window {
		at := e.slots.key(slot)
		a.stage = append(a.stage, l.local.Bytes()[at:at+wordSize])
		if e.shape.shared > 0 {
			a.found = append(a.found, wordAt(l.shared.Bytes(), at))
		}
	}
	return a
}

func (a *asker) key(s uint64) uint64 { return a.salt ^ s*0x9E37_79B9_7F4A_7C15 }

// ask puts the key of request s into its slot.
func (a *asker) ask(slot int, s uint64) { binary.NativeEndian.PutUint64(a.stage[slot], a.key(s)) }

// check says what is wrong with the answer to request s.
func (a *asker) check(s, found uint64) error {
	if want := answerOf(a.key(s), a.size, a.count); found != want {
		return fmt.Errorf("the server looked up %#x for request %d, and %#x is right", found, s, want)
	}
	return nil
}
