package driver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/driver"
)

// echo is a connection that answers every call with its argument, a few at a time, and
// notices when two use it at once.
type echo struct {
	window int
	polls  int // how many of them a result takes
	inside atomic.Bool
	over   atomic.Bool
	woken  atomic.Bool

	queue  [][]byte
	polled int
	last   []byte
	err    error
	shared bool // two were inside
}

var errOver = errors.New("over")

// enter notes that somebody is inside; what it returns ends that.
func (e *echo) enter() func() {
	if !e.inside.CompareAndSwap(false, true) {
		e.shared = true
	}
	return func() { e.inside.Store(false) }
}

func (e *echo) Send(m *driver.Message) error {
	defer e.enter()()
	switch {
	case e.err != nil:
		return e.err
	case len(m.Head) == 0:
		return rpc.ErrTooLarge
	case len(e.queue) == e.window:
		return rpc.ErrWindowFull
	}
	e.queue = append(e.queue, append(bytes.Clone(m.Head), m.Body...))
	return nil
}

func (e *echo) Flush() {}

func (e *echo) Next() ([]byte, error, bool) {
	if !e.Poll() || e.err != nil {
		return nil, nil, false
	}
	defer e.enter()()
	for i := range e.last {
		e.last[i] = '!' // it was valid until now
	}
	e.last, e.polled = e.queue[0], 0
	e.queue = e.queue[1:]
	return e.last, nil, true
}

func (e *echo) Poll() bool {
	defer e.enter()()
	if e.over.Load() {
		e.err = errOver
	}
	e.polled++
	return e.err != nil || len(e.queue) != 0 && e.polled > e.polls
}

func (e *echo) WaitMore(more func() bool, limit time.Duration) {
	for end := time.Now().Add(limit); !more() && !e.woken.Swap(false) && time.Now().Before(end); {
		runtime.Gosched()
	}
}

func (e *echo) Wake()        { e.woken.Store(true) }
func (e *echo) Err() error   { return e.err }
func (e *echo) Disconnect()  { e.over.Store(true) }
func (e *echo) Close() error { return nil }

// Every caller gets the result of its own call, though some give up and all share a
// connection that belongs to one of them at a time (D1, D3, D4).
func TestCallers(t *testing.T) {
	conn := &echo{window: 3, polls: 5}
	c := driver.New(conn)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			for n := range 500 {
				ctx, cancel := context.WithCancel(context.Background())
				if rng.IntN(8) == 0 {
					go cancel()
				}
				head, body := fmt.Appendf(nil, "caller %d ", i), fmt.Appendf(nil, "call %d", n)
				got, err := c.Call(ctx, &driver.Message{Head: head, Body: body}, []byte("> "))
				gone := ctx.Err() != nil
				cancel()
				want := fmt.Sprintf("> caller %d call %d", i, n)
				if err == nil && string(got) != want || err != nil && !(gone && errors.Is(err, context.Canceled)) {
					t.Errorf("%q, %v, want %q", got, err, want)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := c.Close(); err != nil || conn.shared {
		t.Errorf("%v; two at once: %t", err, conn.shared)
	}
	if err := c.Close(); !errors.Is(err, rpc.ErrClosed) {
		t.Errorf("a second Close: %v", err)
	}
}

// A call that cannot be sent fails alone; one that waits for room was not sent when the
// connection ends, one that was sent may have been served (D5).
func TestEnds(t *testing.T) {
	conn := &echo{window: 1, polls: 1 << 60}
	c := driver.New(conn)
	if _, err := c.Call(context.Background(), &driver.Message{}, nil); !errors.Is(err, rpc.ErrTooLarge) || !errors.Is(err, rpc.ErrNotSent) {
		t.Errorf("a call that is too large: %v", err)
	}
	sent := c.Go(&driver.Message{Head: []byte("sent")}, nil)
	waits := c.Go(&driver.Message{Head: []byte("waits")}, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Call(ctx, &driver.Message{Head: []byte("given up")}, nil); !errors.Is(err, rpc.ErrNotSent) {
		t.Errorf("a call that was given up: %v", err)
	}
	conn.Disconnect()
	if _, err := sent.Wait(context.Background()); !errors.Is(err, errOver) || errors.Is(err, rpc.ErrNotSent) {
		t.Errorf("a call that was sent: %v", err)
	}
	if _, err := waits.Wait(context.Background()); !errors.Is(err, errOver) || !errors.Is(err, rpc.ErrNotSent) {
		t.Errorf("a call that was not: %v", err)
	}
	_ = c.Close()
	if _, err := c.Call(context.Background(), &driver.Message{Head: []byte("late")}, nil); !errors.Is(err, rpc.ErrNotSent) {
		t.Errorf("a call after Close: %v", err)
	}
}

// A caller that is parked, while another one drives, gives up when its context ends,
// whether its call was sent or waits for room (D6).
func TestParkedCallersGiveUp(t *testing.T) {
	c := driver.New(&echo{window: 2, polls: 1 << 60})
	driving := make(chan error, 1)
	go func() {
		_, err := c.Call(context.Background(), &driver.Message{Head: []byte("drives")}, nil)
		driving <- err
	}()
	ctx, cancel := context.WithCancel(context.Background())
	errs := make(chan error, 300)
	for range cap(errs) {
		go func() {
			_, err := c.Call(ctx, &driver.Message{Head: []byte("parks")}, nil)
			errs <- err
		}()
	}
	runtime.Gosched()
	cancel()
	unsent := 0
	for range cap(errs) {
		err := <-errs
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a caller whose context has ended: %v", err)
		}
		if errors.Is(err, rpc.ErrNotSent) {
			unsent++
		}
	}
	if unsent < cap(errs)-2 {
		t.Errorf("%d of %d calls were not sent, and there was room for 2", unsent, cap(errs))
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-driving; err == nil {
		t.Error("a call without an answer succeeded")
	}
}

// Close ends calls of others that drive.
func TestCloseWhileOthersWait(t *testing.T) {
	c := driver.New(&echo{window: 1, polls: 1 << 60})
	errs := make(chan error, 4)
	for range cap(errs) {
		go func() {
			_, err := c.Call(context.Background(), &driver.Message{Head: []byte("forever")}, nil)
			errs <- err
		}()
	}
	runtime.Gosched()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for range cap(errs) {
		if err := <-errs; err == nil {
			t.Error("a call without an answer succeeded")
		}
	}
}
