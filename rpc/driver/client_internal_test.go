package driver

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"
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
