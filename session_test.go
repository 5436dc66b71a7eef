package remora_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/command"
)

// Any mix of operations is answered, those of one core in order.
func TestStarted(t *testing.T) {
	for _, name := range fabrics {
		for _, shape := range []struct{ window, batch int }{{1, 1}, {2, 7}, {8, 16}} {
			t.Run(fmt.Sprintf("%s/window=%d/batch=%d", name, shape.window, shape.batch), func(t *testing.T) {
				r := newRig(t, name)
				s := r.serve(cores(2))
				for _, busy := range []bool{false, true} {
					ss := session(t, r.dial(), remora.WithWindow(shape.window), remora.WithBatch(shape.batch), remora.WithBusyPoll(busy))
					testStarted(t, s, ss)
				}
			})
		}
		for _, window := range []int{1, 4, 16, 1024} {
			for _, path := range []remora.Path{remora.PathHerd, remora.PathSendRecv} {
				t.Run(fmt.Sprintf("%s/%s/window=%d", name, path, window), func(t *testing.T) {
					r := newRig(t, name)
					s := r.serve(cores(2))
					for _, busy := range []bool{false, true} {
						testStarted(t, s, session(t, r.dial(remora.WithPath(path)), remora.WithWindow(window), remora.WithBusyPoll(busy)))
					}
				})
			}
		}
	}
}

// testStarted runs rounds of all operations on a few keys. What each must return
// follows from the order on its core.
func testStarted(t *testing.T, s *cache, ss *remora.Session) {
	t.Helper()
	ctx := testContext(t)
	p := &pipeline{t: t, cache: s, session: ss}
	for i := range 20 {
		for core := range 2 {
			key := s.keyOn(core, fmt.Sprint("key ", i%5, " "))
			value := describe(key, uint64(i), i*150) // the longer ones fit neither frames nor herd
			p.start(ctx, core, func(tag uint64) error { return ss.StartDelete(tag, key) }, nil)
			p.start(ctx, core, func(tag uint64) error { return ss.StartGet(tag, key) }, func(r *remora.Result) bool {
				return errors.Is(r.Err, remora.ErrNotFound)
			})
			p.start(ctx, core, func(tag uint64) error {
				return ss.StartPut(tag, key, remora.Entry{Value: value, Flags: uint32(i), TTL: time.Hour}, remora.IfAbsent())
			}, func(r *remora.Result) bool { return r.Err == nil && r.Item.Version != 0 })
			p.start(ctx, core, func(tag uint64) error { return ss.StartTouch(tag, key, time.Minute) }, func(r *remora.Result) bool { return r.Err == nil })
			p.start(ctx, core, func(tag uint64) error { return ss.StartGet(tag, key) }, func(r *remora.Result) bool {
				return r.Err == nil && bytes.Equal(r.Item.Value, value) && r.Item.Flags == uint32(i) && r.Item.TTL == time.Minute
			})
			p.start(ctx, core, func(tag uint64) error {
				return ss.StartPut(tag, key, remora.Entry{Value: []byte("41")}, remora.Always())
			}, nil)
			p.start(ctx, core, func(tag uint64) error { return ss.StartIncr(tag, key, 1) }, func(r *remora.Result) bool { return r.Err == nil && r.Sum == 42 })
		}
	}
	for ss.Pending() > 0 {
		p.take(ctx)
	}
	if _, err := ss.Next(ctx); !errors.Is(err, remora.ErrIdle) {
		t.Errorf("Next without anything started: %v", err)
	}
	if _, ok := ss.Poll(); ok {
		t.Error("Poll has a result of nothing")
	}
}

// pipeline checks results of started operations.
type pipeline struct {
	t       *testing.T
	cache   *cache
	session *remora.Session
	tag     uint64
	open    [2][]expected // by core
}

type expected struct {
	tag uint64
	ok  func(*remora.Result) bool // nil: anything
}

func (p *pipeline) start(ctx context.Context, core int, start func(tag uint64) error, ok func(*remora.Result) bool) {
	p.t.Helper()
	p.tag++
	for {
		err := start(p.tag)
		if err == nil {
			break
		}
		if !errors.Is(err, remora.ErrWindowFull) {
			p.t.Fatal(err)
		}
		p.take(ctx)
	}
	p.open[core] = append(p.open[core], expected{p.tag, ok})
}

func (p *pipeline) take(ctx context.Context) {
	p.t.Helper()
	r, err := p.session.Next(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	for core := range p.open {
		if open := p.open[core]; len(open) != 0 && open[0].tag == r.Tag {
			p.open[core] = open[1:]
			if open[0].ok != nil && !open[0].ok(&r) {
				p.t.Fatalf("operation %d on core %d: %+v", r.Tag, core, r)
			}
			return
		}
	}
	p.t.Fatalf("a result of %d, which is the next on no core", r.Tag)
}

// Batches are what was asked for.
func TestSessionBatches(t *testing.T) {
	r := newRig(t, "loop")
	r.serve()
	ss, ctx := session(t, r.dial(), remora.WithBatch(16), remora.WithWindow(4)), testContext(t)
	before := ss.Counters()
	for i := range 64 {
		if i%2 == 0 {
			want(t, "StartGet", ss.StartGet(uint64(i), "k"), nil)
		} else {
			want(t, "StartPut", ss.StartPut(uint64(i), "k", remora.Entry{}, remora.Always()), nil)
		}
	}
	if err := ss.StartGet(64, "k"); !errors.Is(err, remora.ErrWindowFull) {
		t.Errorf("one more than the window: %v", err)
	}
	if _, err := ss.Get(ctx, "k"); !errors.Is(err, remora.ErrPending) {
		t.Errorf("Get with operations started: %v", err)
	}
	want(t, "Reconnect with operations started", ss.Reconnect(ctx), remora.ErrPending)
	for i := range 64 {
		if res, err := ss.Next(ctx); err != nil || res.Tag != uint64(i) {
			t.Fatalf("result %d: %+v, %v", i, res, err)
		}
	}
	after := ss.Counters()
	if calls, frames := after.Calls-before.Calls, after.Batches-before.Batches; calls != 64 || frames != 4 {
		t.Errorf("%d calls in %d frames", calls, frames)
	}
	want(t, "StartGet", ss.StartGet(1, "k"), nil)
	ss.Flush()
	await(t, "a result", func() bool { _, ok := ss.Poll(); return ok })
	if _, err := ss.Get(ctx, "k"); err != nil {
		t.Errorf("Get when all results were taken: %v", err)
	}
}

// poll returns the next result, without a Flush.
func poll(t *testing.T, ss *remora.Session) (r remora.Result) {
	t.Helper()
	await(t, "a result", func() (ok bool) { r, ok = ss.Poll(); return ok })
	return r
}

// Started operations whose connection breaks are reported, each of them once, and
// the others are not touched.
func TestStartedLost(t *testing.T) {
	r := newRig(t, "loop")
	g := newGate(t, command.Touch)
	s := r.serve(cores(2), before(g.before))
	dev := r.faulty("")
	c := r.dialOn(dev, quick...)
	ss, ctx := session(t, c, remora.WithBatch(2), remora.WithFlushAfter(time.Hour)), testContext(t)
	zero, one := s.keyOn(0, "zero "), s.keyOn(1, "one ")
	want(t, "StartGet", ss.StartGet(1, zero), nil)
	ss.Flush()
	if res, err := ss.Next(ctx); err != nil || res.Tag != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	want(t, "StartTouch", ss.StartTouch(2, one, 0), nil)
	want(t, "StartGet", ss.StartGet(3, one), nil)
	want(t, "StartGet", ss.StartGet(4, one), nil)
	<-g.entered
	dev.Cut()
	for tag := uint64(2); tag <= 4; tag++ {
		res := poll(t, ss)
		outcome := remora.ErrUnknown
		if tag == 4 { // it waited for another one to make a batch
			outcome = remora.ErrUnavailable
		}
		if res.Tag != tag || !errors.Is(res.Err, outcome) || !errors.Is(res.Err, fabric.ErrPeerLost) {
			t.Errorf("%+v", res)
		}
	}
	if err := ss.StartGet(5, one); !errors.Is(err, remora.ErrUnavailable) {
		t.Errorf("StartGet without a connection: %v", err)
	}
	want(t, "StartGet before the loss is noticed", ss.StartGet(6, zero), nil)
	if res := poll(t, ss); res.Tag != 6 || !errors.Is(res.Err, remora.ErrUnavailable) {
		t.Errorf("what was never sent: %+v", res)
	}
	if n := ss.Pending(); n != 0 {
		t.Errorf("%d pending", n)
	}
	g.release()
	dev.Heal()
	want(t, "Reconnect", ss.Reconnect(ctx), nil)
	for i, key := range []string{one, zero} {
		want(t, "StartGet", ss.StartGet(uint64(i), key), nil)
		if res, err := ss.Next(ctx); err != nil || !errors.Is(res.Err, remora.ErrNotFound) {
			t.Errorf("%+v, %v", res, err)
		}
	}
	if n := ss.Counters().Reconnects; n != 2 {
		t.Errorf("%d reconnects", n)
	}
}

// The results of an operation that was given up do not fill the window forever.
func TestStartAfterGivingUp(t *testing.T) {
	r := newRig(t, "loop")
	g := newGate(t, command.Touch)
	r.serve(before(g.before))
	ss := session(t, r.dial(), remora.WithWindow(1))
	ctx, cancel := context.WithCancel(testContext(t))
	go func() { <-g.entered; cancel() }()
	if err := ss.Touch(ctx, "k", 0); !errors.Is(err, remora.ErrUnknown) {
		t.Fatal(err)
	}
	if err := ss.StartGet(1, "k"); !errors.Is(err, remora.ErrWindowFull) {
		t.Fatal(err)
	}
	if _, err := ss.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	g.release()
	if _, err := ss.Next(testContext(t)); !errors.Is(err, remora.ErrIdle) {
		t.Error(err)
	}
	want(t, "StartGet", ss.StartGet(1, "k"), nil)
	if res, err := ss.Next(testContext(t)); err != nil || res.Tag != 1 || !errors.Is(res.Err, remora.ErrNotFound) {
		t.Errorf("%+v, %v", res, err)
	}
}
