package mailbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/remora-kv/remora/rpc"
)

// still is a clock that stands still.
type still struct{}

func (still) Now() int64 { return 7 }

// echo answers with the request, from memory that it uses again at the next call.
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

func newBox() *Box {
	return New(Config{Core: 3, Serve: (&echo{}).serve, Clock: still{}, Wake: func() {}, Bell: NewBell(func() {})})
}

func post(t testing.TB, b *Box, tag uint64, text string) {
	t.Helper()
	msg, ok := b.Message()
	if !ok {
		t.Fatal("the box is full")
	}
	b.Post(tag, append(msg, text...))
}

// Results come in order, each with its tag (M2), and a full box takes nothing until a
// result was taken and the next one asked for (M1).
func TestOrder(t *testing.T) {
	b := newBox()
	sent, got := uint64(0), uint64(0)
	for round := range 5 {
		for {
			msg, ok := b.Message()
			if !ok {
				break
			}
			b.Post(sent, binary.AppendUvarint(msg, sent*7))
			sent++
		}
		want := Letters
		if round != 0 {
			want-- // the last one that was taken is looked at still
		}
		if b.Flying() != want || sent-got != uint64(want) {
			t.Fatalf("round %d: %d are on their way, %d were taken of %d", round, b.Flying(), got, sent)
		}
		for b.Step() {
		}
		for range Letters / 3 {
			r := b.Take()
			if r == nil || r.Tag != got || !bytes.Equal(r.Data, binary.AppendUvarint(nil, got*7)) {
				t.Fatalf("result %d: %+v", got, r)
			}
			if got++; b.Flying() != int(sent-got) {
				t.Fatalf("%d are on their way, want %d", b.Flying(), sent-got)
			}
		}
		if b.Take() == nil {
			t.Fatal("no result")
		}
		got++
	}
}

// What a handler returns from elsewhere, what follows it, and failures arrive as copies.
func TestResults(t *testing.T) {
	b := newBox()
	for range 3 * Letters {
		post(t, b, 1, "after one")
		post(t, b, 2, "fail")
		post(t, b, 3, "after two")
		post(t, b, 4, "")
		if b.Ready() || !b.Pending() || !b.Step() || b.Step() || b.Pending() || !b.Ready() {
			t.Fatal("the box does not know what it holds")
		}
		for tag, want := range []string{1: "after one!", 2: "", 3: "after two!", 4: ""} {
			if tag == 0 {
				continue
			}
			r := b.Take()
			if r == nil || int(r.Tag) != tag || string(r.Data) != want || (r.Err != nil) != (tag == 2) {
				t.Fatalf("%d: %+v", tag, r)
			}
		}
		if b.Ready() || b.Take() != nil {
			t.Fatal("a result of nothing")
		}
	}
}

// M3: memory of long messages is given back, and short ones need none.
func TestMemory(t *testing.T) {
	b := newBox()
	long := string(make([]byte, Keep+1))
	for range Letters {
		post(t, b, 0, long)
		b.Step()
		if r := b.Take(); r == nil || len(r.Data) != len(long) {
			t.Fatalf("%+v", r)
		}
	}
	b.Take()
	for i := range b.letters {
		if l := &b.letters[i]; cap(l.msg) > Keep || cap(l.result.Data) > Keep {
			t.Fatalf("letter %d keeps %d and %d bytes", i, cap(l.msg), cap(l.result.Data))
		}
	}
	short := bytes.Repeat([]byte("x"), 100)
	round := func() {
		for range Letters {
			msg, _ := b.Message()
			b.Post(1, append(msg, short...))
		}
		for b.Step() {
		}
		for b.Take() != nil {
		}
	}
	if n := testing.AllocsPerRun(10, round); n != 0 {
		t.Errorf("%v allocations for %d messages", n, Letters)
	}
}

// M5: a core stops when there is much that was not taken, and goes on after that.
func TestHeld(t *testing.T) {
	b := newBox()
	part := string(make([]byte, Held/8))
	for round := range 20 {
		for range 20 {
			post(t, b, uint64(round), part)
		}
		for range 20 {
			b.Step()
		}
		if held := int(b.served.Load()-b.got) * len(part); held < Held || held > Held+2*len(part) {
			t.Fatalf("round %d: %d bytes are held", round, held)
		}
		for range 20 {
			if b.Take() == nil {
				t.Fatal("no result")
			}
			b.Step()
		}
		if b.Take() != nil {
			t.Fatal("a result too many")
		}
	}
	if b.relieved(); b.held != 0 {
		t.Errorf("%d bytes are held when all is taken", b.held)
	}
}

// M4: both sides sleep between letters, and each wakes the other: no wake-up is lost, or
// this hangs. The race detector sees that letters are handed over.
func TestWakeUps(t *testing.T) {
	coreBell, doorBell := make(chan struct{}, 1), make(chan struct{}, 1)
	ring := func(c chan struct{}) func() {
		return func() {
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}
	bell := NewBell(ring(doorBell))
	b := New(Config{Serve: (&echo{}).serve, Clock: still{}, Wake: ring(coreBell), Bell: bell})
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			if b.Step() {
				continue
			}
			b.Doze()
			if !b.Pending() && !stop.Load() {
				<-coreBell
			}
			b.Undoze()
		}
	}()
	sent, got := 0, 0
	const most = 5000
	for got < most {
		for burst := 1 + sent%5; burst > 0 && sent < most; burst-- {
			msg, ok := b.Message()
			if !ok {
				break
			}
			b.Post(uint64(sent), binary.AppendUvarint(msg, uint64(sent)))
			sent++
		}
		bell.Doze()
		if !b.Ready() {
			<-doorBell
		}
		bell.Undoze()
		for r := b.Take(); r != nil; r = b.Take() {
			if v, _ := binary.Uvarint(r.Data); r.Tag != uint64(got) || v != uint64(got) {
				t.Fatalf("result %d: %+v", got, r)
			}
			got++
		}
		if sent%64 == 0 {
			runtime.Gosched()
		}
	}
	stop.Store(true)
	ring(coreBell)()
	<-done
}
