package remora

import (
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/command"
)

// usesNoted is one in how many uses of a link is remembered. The get that the link is of
// was one that the server saw, and an item that is spared is moved, so that its link
// leads nowhere and the next get is seen again: what is left to be told is little.
const usesNoted = 64

// uses remembers which keys were read without the server, to tell it when it is asked
// for something else: so many different ones of the last as there is room for. A nil
// *uses remembers nothing.
type uses struct {
	clock   fabric.Clock
	hashes  [usesKept]uint64 // by their lowest bits, 0 for none
	pending int
	next    int // where to look for those to tell
	noted   uint32
	told    int64 // when the server was told last
	taken   [command.MaxUses]uint64
}

const (
	usesKept = 64 // a power of two
	// usesTold is how many are told at a time, and usesRoom what they take.
	usesTold = 8
	usesRoom = 8*usesTold + 1
	// usesWait is how long the server is not told, as long as items are read, and
	// usesLook after how many that are noted there is a look at the clock.
	usesWait = 10 * time.Millisecond
	usesLook = 16
)

func newUses(clock fabric.Clock) *uses { return &uses{clock: clock, told: clock.Now()} }

// note remembers a use.
func (u *uses) note(hash uint64) {
	if u == nil {
		return
	}
	u.noted++
	at := &u.hashes[hash&(usesKept-1)]
	if hash = keyed(hash); *at != hash {
		if *at == 0 {
			u.pending++
		}
		*at = hash
	}
}

// due reports whether the server is to be told now.
func (u *uses) due() bool {
	return u != nil && u.pending != 0 && u.noted%usesLook == usesLook-1 && u.clock.Now()-u.told > int64(usesWait)
}

// appendTo appends some of the uses to a link request, and forgets them.
func (u *uses) appendTo(b []byte) []byte {
	n := 0
	if u != nil {
		for range u.hashes {
			if n == usesTold || u.pending == 0 {
				break
			}
			u.next = (u.next + 1) & (usesKept - 1)
			if at := &u.hashes[u.next]; *at != 0 {
				u.taken[n] = *at
				n++
				*at = 0
				u.pending--
			}
		}
		u.noted++ // so that it is not due at once again
		if n != 0 {
			u.told = u.clock.Now()
		}
		return command.AppendUses(b, u.taken[:n])
	}
	return command.AppendUses(b, nil)
}

// size is what appendTo will append.
func (u *uses) size() int {
	if u == nil {
		return command.UsesSize(0)
	}
	return command.UsesSize(min(u.pending, usesTold))
}
