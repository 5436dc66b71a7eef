package remora

import (
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/command"
)

// uses remembers which keys were read without the server, to tell it when it is asked
// for something else: so many different ones of the last as there is room for. A nil
// *uses remembers nothing.
//
// To a cache it matters whether an item is used at all while its log turns once, and not
// how often. So the use of an item is noted again after as many requests as are a part of
// a turn: what is popular is told of a few times in each, and what is used seldom every
// time.
type uses struct {
	clock   fabric.Clock
	hashes  [usesKept]uint64 // by their lowest bits, 0 for none
	pending int
	next    int    // where to look for those to tell
	age     uint16 // requests that were made; more when there were none for long
	again   uint16 // after how many the use of an item is noted again
	reads   uint32 // uses of links
	told    int64  // when the server was told last
	overdue bool   // it is to be told with the next get
	taken   [command.MaxUses]uint64
	took    int // how many of them were appended last
}

const (
	usesKept = 64 // a power of two
	// usesTold is how many are told at a time, and usesRoom what they take.
	usesTold = 8
	usesRoom = 8*usesTold + 1
	// usesAgain is which part of a turn of the log lies between two times that the use of
	// an item is noted. In a turn as many items are put as there is room for, by all
	// clients; so with more than so many of them some uses are not told.
	usesAgain = 16
	// The least and the most requests that this may be.
	usesOften  = 16
	usesSeldom = 1 << 15
	// usesWait is how long the server is not told, as long as items are read, and
	// usesLook after how many that are read there is a look at the clock.
	usesWait = 10 * time.Millisecond
	usesLook = 256
)

func newUses(clock fabric.Clock) *uses {
	return &uses{clock: clock, told: clock.Now(), again: usesOften}
}

// turns is told how many items the log of the server has room for.
func (u *uses) turns(items int64) {
	if u != nil {
		u.again = uint16(min(max(items/usesAgain, usesOften), usesSeldom))
	}
}

// now is the age of what is told of now.
func (u *uses) now() uint16 {
	if u == nil {
		return 0
	}
	return u.age
}

// used remembers the use of a link whose age is given, unless that is young, and makes it
// young.
func (u *uses) used(hash uint64, age *uint16) {
	if u == nil {
		return
	}
	if u.reads++; u.age-*age >= u.again {
		*age = u.age
		u.note(hash)
	}
}

// note remembers a use.
func (u *uses) note(hash uint64) {
	at := &u.hashes[hash&(usesKept-1)]
	if hash = keyed(hash); *at != hash {
		if *at == 0 {
			u.pending++
		}
		*at = hash
	}
}

// due reports whether the server is to be told now, although it is not asked for anything.
// Then all that is used from now on is told again.
func (u *uses) due() bool {
	if u == nil {
		return false
	}
	if !u.overdue && u.reads%usesLook == usesLook-1 && u.clock.Now()-u.told > int64(usesWait) {
		u.reads++ // so that it is not due at once again
		u.age += u.again
		u.overdue = u.pending != 0
	}
	return u.overdue
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
		u.overdue, u.took = false, n
		if u.age++; n != 0 {
			u.told = u.clock.Now()
		}
		return command.AppendUses(b, u.taken[:n])
	}
	return command.AppendUses(b, nil)
}

// giveBack remembers again what was appended last: it was not sent.
func (u *uses) giveBack() {
	if u != nil {
		for _, hash := range u.taken[:u.took] {
			u.note(hash)
		}
	}
}

// size is what appendTo will append.
func (u *uses) size() int {
	if u == nil {
		return command.UsesSize(0)
	}
	return command.UsesSize(min(u.pending, usesTold))
}
