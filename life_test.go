package remora_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/test/cachetest"
)

func TestContext(t *testing.T) {
	r := newRig(t, "loop")
	g := newGate(t, command.Touch)
	s := r.serve(before(g.before))
	c := r.dial()
	ss := session(t, c, remora.WithWindow(1))
	ended, end := context.WithCancelCause(testContext(t))
	reason := errors.New("the reason")
	end(reason)
	for _, o := range []ops{c, ss} {
		_, err := o.Set(ended, "k", nil, 0)
		if !errors.Is(err, reason) || !errors.Is(err, remora.ErrUnavailable) {
			t.Errorf("a context that has ended: %v", err)
		}
	}
	if n := s.count(command.Put); n != 0 {
		t.Errorf("%d operations were sent after their contexts had ended", n)
	}
	for _, o := range []ops{c, ss} {
		ctx, cancel := context.WithCancel(testContext(t))
		done := make(chan error, 1)
		go func() { done <- o.Touch(ctx, "k", 0) }()
		if o == ops(c) {
			<-g.entered // what comes later stands behind this one
		} else {
			await(t, "the touch to be sent", func() bool { return ss.Counters().Calls == 2 })
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || !errors.Is(err, remora.ErrUnknown) {
			t.Errorf("a context that ends on the way: %v", err)
		}
	}
	g.release()
	// The answers to those calls are not taken for those of others.
	for i := range 20 {
		for _, o := range []ops{c, ss} {
			if err := roundTrip(testContext(t), o, fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := c.Counters().Reconnects + ss.Counters().Reconnects; n != 0 {
		t.Errorf("%d connections were made anew", n)
	}
}

// A call that found no room in the window and was given up has not happened.
func TestContextBeforeSending(t *testing.T) {
	r := newRig(t, "loop")
	g := newGate(t, command.Touch)
	s := r.serve(before(g.before))
	c := r.dial(remora.WithWindow(1), remora.WithBatch(1))
	ctx, cancel := context.WithCancel(testContext(t))
	var touch, sets sync.WaitGroup
	touch.Go(func() { _ = c.Touch(testContext(t), "k", 0) })
	<-g.entered
	errs := make([]error, 8)
	var given atomic.Int64
	for i := range errs {
		sets.Go(func() {
			_, errs[i] = c.Set(ctx, "k", nil, 0)
			given.Add(1)
		})
	}
	cancel()
	await(t, "all of them to give up", func() bool { return int(given.Load()) == len(errs) })
	g.release() // from now on there is room
	sets.Wait()
	touch.Wait()
	for _, err := range errs {
		if !errors.Is(err, context.Canceled) || !errors.Is(err, remora.ErrUnavailable) {
			t.Errorf("a call that was not sent: %v", err)
		}
	}
	if n := s.count(command.Put); n != 0 {
		t.Errorf("%d of them were sent", n)
	}
}

func TestClose(t *testing.T) {
	for _, name := range fabrics {
		t.Run(name, func(t *testing.T) { testClose(t, newRig(t, name)) })
	}
}

func testClose(t *testing.T, r *rig) {
	g := newGate(t, command.Touch)
	s := r.serve(cores(2), before(g.before))
	running := goleak.IgnoreCurrent()
	t.Cleanup(func() { noGoroutines(t, running) })
	ctx := testContext(t)
	var opts []remora.Option
	if r.fabric == "loop" {
		opts = append(opts, remora.WithDevice(r.device()))
	}
	c, err := remora.Dial(ctx, r.addr.String(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	ss, err := c.Session(ctx)
	if err != nil {
		t.Fatal(err)
	}
	errs := make([]error, 10)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = c.Touch(ctx, s.keyOn(i%2, "key "), 0) })
	}
	<-g.entered
	<-g.entered // both cores hold one
	sync := make(chan error, 1)
	go func() { sync <- ss.Touch(ctx, "k", 0) }()
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	wg.Wait()
	for _, err := range slices.Concat(errs, []error{<-sync}) {
		if !errors.Is(err, remora.ErrClosed) {
			t.Errorf("a call under way: %v", err)
		}
	}
	g.release()
	testClosed(ctx, t, c, ss)
}

// noGoroutines fails if there are goroutines that were not running before.
func noGoroutines(t *testing.T, running goleak.Option) {
	t.Helper()
	if err := cachetest.Leaked(running); err != nil {
		t.Error(err)
	}
}

// testClosed checks what is left of a client that was closed before its session.
func testClosed(ctx context.Context, t *testing.T, c *remora.Client, ss *remora.Session) {
	t.Helper()
	for _, o := range []ops{c, ss} {
		_, err := o.Get(ctx, "k")
		want(t, "Get after Close", err, remora.ErrClosed)
		want(t, "Delete after Close", o.Delete(ctx, "k"), remora.ErrClosed)
	}
	_, err := c.GetMulti(ctx, []string{"k"})
	want(t, "GetMulti after Close", err, remora.ErrClosed)
	want(t, "Ping after Close", c.Ping(ctx), remora.ErrClosed)
	_, err = c.Stats(ctx)
	want(t, "Stats after Close", err, remora.ErrClosed)
	_, err = c.Session(ctx)
	want(t, "Session after Close", err, remora.ErrClosed)
	want(t, "second Close", c.Close(), remora.ErrClosed)
	_, err = ss.Next(ctx)
	want(t, "Next after Close", err, remora.ErrClosed)
	want(t, "Reconnect after Close", ss.Reconnect(ctx), remora.ErrClosed)
	want(t, "Close of the session", ss.Close(), nil)
	want(t, "second Close of the session", ss.Close(), remora.ErrClosed)
	want(t, "StartGet after Close", ss.StartGet(1, "k"), remora.ErrClosed)
	if c.Info().Cores != 2 || c.Counters().Calls == 0 || ss.Counters().Calls == 0 {
		t.Errorf("info and counters after Close: %+v, %+v", c.Info(), c.Counters())
	}
}

// Clients come and go while connections are being made anew.
func TestCloseWhileReconnecting(t *testing.T) {
	r := newRig(t, "loop")
	s := r.serve(cores(2))
	running := goleak.IgnoreCurrent()
	t.Cleanup(func() { noGoroutines(t, running) })
	var clients []*remora.Client
	for range 10 {
		clients = append(clients, r.dial(quick...))
	}
	s.close()
	ctx := testContext(t)
	errs := make([]error, len(clients))
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() { errs[i] = c.Delete(ctx, fmt.Sprint(i)) })
		await(t, "the loss to be noticed", func() bool { return c.Counters().Verbs.OutBytes > 0 })
	}
	for _, c := range clients {
		wg.Go(func() { _ = c.Close() })
	}
	wg.Wait()
	for _, err := range errs {
		if !errors.Is(err, remora.ErrClosed) && !errors.Is(err, remora.ErrUnknown) {
			t.Errorf("an operation that waited: %v", err)
		}
	}
}
