package path

import (
	"testing"
	"time"

	"github.com/remora-kv/remora/internal/command"
)

type handClock int64

func (c *handClock) Now() int64 { return int64(*c) }

// Every use is reported once, however often it was noted, a few at a time.
func TestUses(t *testing.T) {
	clock := new(handClock)
	u := newUses(clock)
	for range 3 {
		for h := range uint64(20) {
			u.note(h * 0x9E3779B97F4A7C15)
		}
	}
	told := map[uint64]int{}
	for range 10 {
		size := u.size()
		b := u.appendTo([]byte("key"))
		var got [command.MaxUses]uint64
		key, n, err := command.ParseLink(b, &got)
		if err != nil || string(key) != "key" || n > maxUses || len(b) != len("key")+size || len(b) > len("key")+maxUsesSize {
			t.Fatalf("%q with %d uses in %d bytes, %v; %d were expected", key, n, len(b), err, size)
		}
		for _, h := range got[:n] {
			told[h]++
		}
	}
	if len(told) < 10 || len(told) > 20 { // some have the same place
		t.Errorf("%d of 20 were told", len(told))
	}
	for h, n := range told {
		if n != 1 {
			t.Errorf("%x was told %d times", h, n)
		}
	}
	if u.pending != 0 {
		t.Errorf("%d are left", u.pending)
	}
}

// Uses that could not be sent are reported later, and a due report stays due until it is sent.
func TestUsesThatWereNotTold(t *testing.T) {
	clock := new(handClock)
	u := newUses(clock)
	age := -u.again
	u.used(7, &age)
	u.appendTo(nil)
	if u.giveBack(); u.pending != 1 {
		t.Fatalf("%d uses to tell after one was given back", u.pending)
	}
	*clock = handClock(2 * usesDelay)
	for range usesLook {
		u.used(7, &age)
		if u.due() {
			break
		}
	}
	for range 3 {
		if !u.due() {
			t.Fatal("it is not due any more, and nobody was told")
		}
	}
	if u.appendTo(nil); u.due() || u.pending != 0 {
		t.Errorf("due after it was told: %v, with %d to tell", u.due(), u.pending)
	}
}

// The use of an item is noted once, and again after as many requests as are a part of a
// turn of the log.
func TestUsesAgain(t *testing.T) {
	u := newUses(new(handClock))
	ask := func(n int) {
		for range n {
			u.appendTo(nil)
		}
	}
	for items, again := range map[int64]int{0: minUsesGap, -5: minUsesGap, 100 * usesPerTurn: 100, 1 << 40: maxUsesGap} {
		u.setCapacity(items)
		age := u.now() // the server has seen the get that the link is of
		ask(again - 1)
		if u.used(5, &age); u.pending != 0 {
			t.Errorf("%d items: noted after fewer than %d requests", items, again)
		}
		ask(1)
		if u.used(5, &age); u.pending != 1 {
			t.Errorf("%d items: not noted after %d requests", items, again)
		}
		ask(1)
		if u.used(5, &age); u.pending != 0 {
			t.Errorf("%d items: noted again at once", items)
		}
	}
}

// It is time to tell when something was used, and it was long ago that the server was
// told.
func TestUsesDue(t *testing.T) {
	clock := new(handClock)
	u := newUses(clock)
	var age uint16
	due := func() bool {
		for range 2 * usesLook {
			u.used(77, &age)
			if u.due() {
				return true
			}
		}
		return false
	}
	if due() {
		t.Error("due at once")
	}
	*clock += handClock(usesDelay + time.Microsecond)
	if !due() {
		t.Error("not due after a while")
	}
	u.appendTo(nil)
	if due() {
		t.Error("due again")
	}
	var nobody *uses
	nobody.used(1, &age)
	nobody.setCapacity(1)
	if nobody.now() != 0 || nobody.due() || len(nobody.appendTo(nil)) != nobody.size() {
		t.Error("what is not there has something to tell")
	}
}
