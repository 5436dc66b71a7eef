package path

import (
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/command"
)

// uses remembers which keys were read without the server, and reports them with later
// requests, so that the server does not evict items that are in use. It has room for the last
// few keys. A nil *uses remembers nothing.
//
// A cache needs to know whether an item is used at all while its log turns over once, not how
// often. So the use of an item is noted again only after a number of requests that is a
// fraction of a turn: popular items are reported a few times per turn, and others every time.
type uses struct {
	clock    fabric.Clock
	hashes   [usesKept]uint64 // by their lowest bits, 0 for none
	pending  int
	next     int    // where the next report begins
	age      uint16 // requests that were made; more when there were none for long
	again    uint16 // requests after which the use of an item is noted again
	reads    uint32 // uses of links
	reported int64  // when uses were reported last
	overdue  bool   // the next get has to report
	taken    [command.MaxUses]uint64
	took     int // how many were appended last
}

const (
	usesKept = 64 // a power of two
	// maxUses is how many uses a request reports, and maxUsesSize the bytes that they take.
	maxUses     = 8
	maxUsesSize = 8*maxUses + 1
	// usesPerTurn is how often the use of an item is noted in one turn of the log. All
	// clients together put as many items in a turn as there is room for, so with more than
	// usesPerTurn clients some uses are not reported.
	usesPerTurn = 16
	// Bounds of the requests between two notes of one item.
	minUsesGap = 16
	maxUsesGap = 1 << 15
	// usesDelay is how long uses wait for a request to travel with, and usesLook how many
	// reads lie between two looks at the clock.
	usesDelay = 10 * time.Millisecond
	usesLook  = 256
)

func newUses(clock fabric.Clock) *uses {
	return &uses{clock: clock, reported: clock.Now(), again: minUsesGap}
}

// setCapacity sets how many items the log of the server has room for.
func (u *uses) setCapacity(items int64) {
	if u != nil {
		u.again = uint16(min(max(items/usesPerTurn, minUsesGap), maxUsesGap))
	}
}

// now is the age of a use that the server learns of now.
func (u *uses) now() uint16 {
	if u == nil {
		return 0
	}
	return u.age
}

// used notes the use of a link, unless its last use was noted a short time ago, and sets its age.
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
	if hash = nonzero(hash); *at != hash {
		if *at == 0 {
			u.pending++
		}
		*at = hash
	}
}

// due reports whether the next get has to ask the server, so as to report uses. From then on
// every use is noted again.
func (u *uses) due() bool {
	if u == nil {
		return false
	}
	if !u.overdue && u.reads%usesLook == usesLook-1 && u.clock.Now()-u.reported > int64(usesDelay) {
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
			if n == maxUses || u.pending == 0 {
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
			u.reported = u.clock.Now()
		}
		return command.AppendUses(b, u.taken[:n])
	}
	return command.AppendUses(b, nil)
}

// giveBack remembers the uses again that were appended last: they were not sent.
func (u *uses) giveBack() {
	if u != nil {
		for _, hash := range u.taken[:u.took] {
			u.note(hash)
		}
	}
}

// size is how many bytes appendTo will append.
func (u *uses) size() int {
	if u == nil {
		return command.UsesSize(0)
	}
	return command.UsesSize(min(u.pending, maxUses))
}
