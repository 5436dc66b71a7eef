package driver

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/remora-kv/remora/rpc"
)

// echoAll answers every call with its argument.
type echoAll struct {
	queue  [][]byte
	onSend func()
}

func (e *echoAll) Send(m *Message) error {
	e.queue = append(e.queue, bytes.Clone(m.Head))
	e.onSend()
	return nil
}

func (e *echoAll) Next() ([]byte, error, bool) {
	if len(e.queue) == 0 {
		return nil, nil, false
	}
	result := e.queue[0]
	e.queue = e.queue[1:]
	return result, nil, true
}

func (e *echoAll) Flush()                                         {}
func (e *echoAll) Poll() bool                                     { return len(e.queue) != 0 }
func (e *echoAll) WaitMore(more func() bool, limit time.Duration) { more() }
func (e *echoAll) Wake()                                          {}
func (e *echoAll) Err() error                                     { return nil }
func (e *echoAll) Disconnect()                                    {}
func (e *echoAll) Close() error                                   { return nil }

// slow is an echoAll whose results come when a test says so.
type slow struct {
	echoAll
	open bool
}

func (s *slow) Next() ([]byte, error, bool) {
	if !s.open {
		return nil, nil, false
	}
	return s.echoAll.Next()
}

// A driver that returns the token wakes a caller that it had not seen when it looked for its
// successor (D2).
func TestReleaseLooksAgain(t *testing.T) {
	c := New(&slow{echoAll: echoAll{onSend: func() {}}})
	c.token.Store(true) // this test drives
	p := c.Go(&Message{Head: []byte("call")}, nil)
	p.parked.Store(true) // its caller, as in park
	c.parked.Add(1)
	c.release()
	if len(p.signal) != 1 || c.token.Load() {
		t.Errorf("the caller has %d signals; the token is taken: %t", len(p.signal), c.token.Load())
	}
}

// noted is a context that notes whether somebody waits for its end, which has come.
type noted struct {
	context.Context
	waited bool
}

func (n *noted) Done() <-chan struct{} {
	n.waited = true
	return n.Context.Done()
}

// A caller that parks looks again whether there is a driver, which may have returned the token
// before it could see the caller (D2).
func TestParkLooksAgain(t *testing.T) {
	c := New(&slow{echoAll: echoAll{onSend: func() {}}})
	over, cancel := context.WithCancel(t.Context())
	cancel()
	p := &Pending{client: c, signal: make(chan struct{}, 1)}
	for _, taken := range []bool{false, true} {
		c.token.Store(taken)
		ctx := &noted{Context: over}
		if p.park(ctx); ctx.waited != taken || p.parked.Load() || c.parked.Load() != 0 {
			t.Errorf("the token is taken: %t; waited: %t", taken, ctx.waited)
		}
	}
}

// A call that was given up after it was sent is not used for another one while its result is
// awaited (D4).
func TestAbandonedCallIsNotUsedAgain(t *testing.T) {
	conn := &slow{}
	c := New(conn)
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		conn.open, conn.onSend = false, cancel
		if _, err := c.Call(ctx, &Message{Head: []byte("first")}, nil); !errors.Is(err, context.Canceled) {
			t.Fatalf("a call that is given up: %v", err)
		}
		conn.onSend = func() { conn.open = true }
		if got, err := c.Call(t.Context(), &Message{Head: []byte("second")}, nil); err != nil || string(got) != "second" {
			t.Fatalf("the next call: %q, %v", got, err)
		}
	}
}

// ending is an echoAll that is over after some calls, whose results have come.
type ending struct {
	echoAll
	after int
	err   error
}

func (e *ending) Send(m *Message) error {
	if e.after--; e.after == 0 {
		e.err = errors.New("over")
	}
	return e.echoAll.Send(m)
}

func (e *ending) Err() error { return e.err }

// When the connection ends or is closed, a call whose result has come has it, however many
// there are (D5).
func TestResultsBeforeTheEnd(t *testing.T) {
	const calls = 3*turn + 1
	for _, closes := range []bool{false, true} {
		conn := &ending{echoAll: echoAll{onSend: func() {}}, after: calls}
		if closes {
			conn.after = calls + 1
		}
		c := New(conn)
		c.token.Store(true) // so that all calls are sent together
		var pending []*Pending
		for range calls {
			pending = append(pending, c.Go(&Message{Head: []byte("result")}, nil))
		}
		c.token.Store(false)
		if closes {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		for i, p := range pending {
			if got, err := p.Wait(t.Context()); string(got) != "result" || err != nil {
				t.Fatalf("closed: %t; call %d of %d: %q, %v", closes, i, calls, got, err)
			}
		}
	}
}

// full is an echoAll whose window is full until a test says otherwise.
type full struct {
	echoAll
	open bool
}

func (f *full) Send(m *Message) error {
	if f.open {
		return f.echoAll.Send(m)
	}
	f.onSend()
	return rpc.ErrWindowFull
}

// Calls that were given up while the window was full keep no memory of their callers, and are
// not kept themselves.
func TestAbandonedCallsAreDropped(t *testing.T) {
	conn := &full{echoAll: echoAll{onSend: func() {}}}
	c := New(conn)
	first := c.Go(&Message{Head: []byte("first")}, nil) // it waits for room, with the others behind it
	var bodies []weak.Pointer[byte]
	for range 10 * minSweep {
		ctx, cancel := context.WithCancel(t.Context())
		conn.onSend = cancel
		body := make([]byte, 4096)
		bodies = append(bodies, weak.Make(&body[0]))
		if _, err := c.Call(ctx, &Message{Head: body[:1], Body: body}, nil); !errors.Is(err, rpc.ErrNotSent) {
			t.Fatalf("a call that is given up: %v", err)
		}
	}
	if n := len(c.waiting) + len(c.intake); n > minSweep+1 {
		t.Errorf("%d calls are kept, of which one waits", n)
	}
	runtime.GC()
	for i, b := range bodies {
		if b.Value() != nil {
			t.Fatalf("the body of call %d is kept", i)
		}
	}
	conn.open, conn.onSend = true, func() {}
	if got, err := c.Call(t.Context(), &Message{Head: []byte("next")}, nil); string(got) != "next" || err != nil {
		t.Errorf("the next call: %q, %v", got, err)
	}
	if got, err := first.Wait(t.Context()); string(got) != "first" || err != nil || len(c.waiting) != 0 {
		t.Errorf("the first call: %q, %v; %d calls wait", got, err, len(c.waiting))
	}
}

// Callers that go on waiting keep their order when others in between give up (D3).
func TestOrderOfThoseThatStay(t *testing.T) {
	conn := &full{echoAll: echoAll{onSend: func() {}}}
	c := New(conn)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	var stay []*Pending
	for i := range 4 * minSweep {
		p := c.Go(&Message{Head: []byte{byte(i)}}, nil)
		if i%8 == 0 {
			stay = append(stay, p)
		} else if _, err := p.Wait(over); !errors.Is(err, rpc.ErrNotSent) {
			t.Fatalf("a call that is given up: %v", err)
		}
	}
	if n := len(c.waiting); n > 2*len(stay)+minSweep {
		t.Errorf("%d calls are kept, of which %d wait", n, len(stay))
	}
	conn.open = true
	for i, p := range stay {
		if got, err := p.Wait(t.Context()); err != nil || len(got) != 1 || got[0] != byte(8*i) {
			t.Fatalf("call %d: %v, %v", 8*i, got, err)
		}
	}
}

// A call whose context has ended is not sent.
func TestNotSentAfterTheEndOfItsContext(t *testing.T) {
	c := New(&echoAll{onSend: func() { t.Error("it was sent") }})
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := c.Call(ctx, &Message{Proc: 7, Head: []byte("late")}, nil); !errors.Is(err, rpc.ErrNotSent) || !errors.Is(err, why) {
		t.Errorf("a call whose context has ended: %v", err)
	}
}
