package text

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/remora-kv/remora/rpc"
)

// echo answers with the request, in memory that it reuses in the next call.
type echo struct{ last []byte }

var errNo = errors.New("no")

func (e *echo) serve(c *rpc.Call, msg, out []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(msg, []byte("fail")):
		return out, errNo
	case bytes.HasPrefix(msg, []byte("after")):
		e.last = append(e.last[:0], msg...)
		c.After = []byte("!")
		return e.last, nil
	}
	return append(out, msg...), nil
}

func newBox() *mailbox {
	d := &Listener{cfg: Config{Serve: (&echo{}).serve, Clock: wall{}, Wake: func(int) {}}}
	d.waker.wake = func() {}
	return newMailbox(d, 3)
}

func post(t testing.TB, b *mailbox, tag uint64, text string) {
	t.Helper()
	msg, ok := b.message()
	if !ok {
		t.Fatal("the mailbox is full")
	}
	b.post(tag, append(msg, text...), anyLength)
}

// Results come in order, each with its tag (M2), and a full mailbox accepts nothing until a
// result was taken and the next one asked for (M1).
func TestMailboxOrder(t *testing.T) {
	b := newBox()
	sent, got := uint64(0), uint64(0)
	for round := range 5 {
		for {
			msg, ok := b.message()
			if !ok {
				break
			}
			b.post(sent, binary.AppendUvarint(msg, sent*7), anyLength)
			sent++
		}
		want := mailboxSize
		if round != 0 {
			want-- // the last one that was taken is looked at still
		}
		if b.inFlight() != want || sent-got != uint64(want) {
			t.Fatalf("round %d: %d in flight, %d results taken of %d", round, b.inFlight(), got, sent)
		}
		for b.Step() {
		}
		for range mailboxSize / 3 {
			r := b.take()
			if r == nil || r.tag != got || !bytes.Equal(r.data, binary.AppendUvarint(nil, got*7)) {
				t.Fatalf("result %d: %+v", got, r)
			}
			if got++; b.inFlight() != int(sent-got) {
				t.Fatalf("%d in flight, want %d", b.inFlight(), sent-got)
			}
		}
		if b.take() == nil {
			t.Fatal("no result")
		}
		got++
	}
}

// Results in the handler's memory, bytes to follow them, and errors arrive as copies.
func TestMailboxResults(t *testing.T) {
	b := newBox()
	for range 3 * mailboxSize {
		post(t, b, 1, "after one")
		post(t, b, 2, "fail")
		post(t, b, 3, "after two")
		post(t, b, 4, "")
		if b.ready() || !b.Pending() || !b.Step() || b.Step() || b.Pending() || !b.ready() {
			t.Fatal("Pending or Empty is wrong")
		}
		for tag, want := range []string{1: "after one!", 2: "", 3: "after two!", 4: ""} {
			if tag == 0 {
				continue
			}
			r := b.take()
			if r == nil || int(r.tag) != tag || string(r.data) != want || (r.err != nil) != (tag == 2) {
				t.Fatalf("%d: %+v", tag, r)
			}
		}
		if b.ready() || b.take() != nil {
			t.Fatal("a result without a request")
		}
	}
}

// M3: memory of long messages is freed, and short ones do not allocate.
func TestMailboxMemory(t *testing.T) {
	b := newBox()
	long := string(make([]byte, keepMessage+1))
	for range mailboxSize {
		post(t, b, 0, long)
		b.Step()
		if r := b.take(); r == nil || len(r.data) != len(long) {
			t.Fatalf("%+v", r)
		}
	}
	b.take()
	for i := range b.ring {
		if m := &b.ring[i]; cap(m.request) > keepMessage || cap(m.result.data) > keepMessage {
			t.Fatalf("message %d keeps %d and %d bytes", i, cap(m.request), cap(m.result.data))
		}
	}
	short := bytes.Repeat([]byte("x"), 100)
	round := func() {
		for range mailboxSize {
			msg, _ := b.message()
			b.post(1, append(msg, short...), anyLength)
		}
		for b.Step() {
		}
		for b.take() != nil {
		}
	}
	if n := testing.AllocsPerRun(10, round); n != 0 {
		t.Errorf("%v allocations for %d messages", n, mailboxSize)
	}
}

// A result that is longer than the room for it is left out, and the request can be posted again.
func TestMailboxRoom(t *testing.T) {
	b := newBox()
	for range 2 * mailboxSize {
		msg, _ := b.message()
		b.post(7, append(msg, "request"...), 6)
		b.Step()
		r := b.take()
		if r == nil || r.tag != 7 || r.err != nil || r.tooLong != 7 || len(r.data) != 0 || string(r.request) != "request" {
			t.Fatalf("without room: %+v", r)
		}
		again := bytes.Clone(r.request)
		msg, _ = b.message()
		b.post(8, append(msg, again...), 7)
		b.Step()
		if r := b.take(); r == nil || r.tag != 8 || r.tooLong != 0 || string(r.data) != "request" || r.request != nil {
			t.Fatalf("with room: %+v", r)
		}
	}
}

// M5: a core pauses when many results were not taken, and then continues.
func TestMailboxMaxUntaken(t *testing.T) {
	b := newBox()
	part := string(make([]byte, maxUntaken/8))
	for round := range 20 {
		for range 20 {
			post(t, b, uint64(round), part)
		}
		for range 20 {
			b.Step()
		}
		if held := int(b.served.Load()-b.got) * len(part); held < maxUntaken || held > maxUntaken+2*len(part) {
			t.Fatalf("round %d: %d bytes are held", round, held)
		}
		for range 20 {
			if b.take() == nil {
				t.Fatal("no result")
			}
			b.Step()
		}
		if b.take() != nil {
			t.Fatal("a result too many")
		}
	}
	if b.relieved(); b.held != 0 {
		t.Errorf("%d bytes are held after all results were taken", b.held)
	}
}

// M4: both sides sleep between messages and wake each other. If a wake-up were lost, the test
// would hang. The race detector checks that messages are handed over.
func TestMailboxWakeUps(t *testing.T) {
	coreWake, loopWake := make(chan struct{}, 1), make(chan struct{}, 1)
	wake := func(c chan struct{}) func() {
		return func() {
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}
	b := newBox()
	b.core.wake, b.listener.waker.wake = wake(coreWake), wake(loopWake)
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			if b.Step() {
				continue
			}
			b.BeforeSleep()
			if !b.Pending() && !stop.Load() {
				<-coreWake
			}
			b.AfterSleep()
		}
	}()
	sent, got := 0, 0
	const most = 5000
	for got < most {
		for burst := 1 + sent%5; burst > 0 && sent < most; burst-- {
			msg, ok := b.message()
			if !ok {
				break
			}
			b.post(uint64(sent), binary.AppendUvarint(msg, uint64(sent)), anyLength)
			sent++
		}
		b.listener.waker.beforeSleep()
		if !b.ready() {
			<-loopWake
		}
		b.listener.waker.afterSleep()
		for r := b.take(); r != nil; r = b.take() {
			if v, _ := binary.Uvarint(r.data); r.tag != uint64(got) || v != uint64(got) {
				t.Fatalf("result %d: %+v", got, r)
			}
			got++
		}
		if sent%64 == 0 {
			runtime.Gosched()
		}
	}
	stop.Store(true)
	wake(coreWake)()
	<-done
}
