package fabrictest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/test/scale"
)

// defaultPatience is how long a condition may take. It is far above what
// anything here needs and far enough below the watchdog for a better message.
const defaultPatience = 2 * time.Minute

// patience is how long a condition may take in this case.
func (t *trial) patience() time.Duration {
	if t.opt.patience != 0 {
		return t.opt.patience
	}
	return defaultPatience
}

// trial is one run of one case. It is the testing.TB that the case and the
// World's constructor see; unlike *testing.T it may end the case from any of
// the case's goroutines.
type trial struct {
	testing.TB
	world *World
	opt   Options
	rule  string
	seed  uint64

	stop    atomic.Bool // failed or skipped: every loop ends
	over    atomic.Bool // the watchdog has spoken: nothing may be logged any more
	skipped atomic.Pointer[string]
	group   sync.WaitGroup
	// pause, when not nil, is called with the number of times that a condition
	// did not hold, instead of runtime.Gosched.
	pause func(i int)
	// told, when not nil, is called when the case has ended early.
	told func(kind verdict, why string)

	connecting sync.Mutex // pairs are connected one after another

	mu       sync.Mutex
	cleanups []func()
	killed   bool
	assets
}

// Errorf reports a failure and lets the case go on.
func (t *trial) Errorf(format string, args ...any) {
	t.Helper()
	t.Error(fmt.Sprintf(format, args...))
}

// Error reports a failure and lets the case go on.
func (t *trial) Error(args ...any) {
	t.Helper()
	t.stop.Store(true)
	if !t.over.Load() {
		t.TB.Error(args...)
	}
	if t.told != nil {
		t.told(failed, fmt.Sprint(args...))
	}
}

// Fatalf reports a failure and ends the goroutine; the others of the case end
// when they look.
func (t *trial) Fatalf(format string, args ...any) {
	t.Helper()
	t.Error(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

// Fatal is Fatalf.
func (t *trial) Fatal(args ...any) {
	t.Helper()
	t.Error(args...)
	runtime.Goexit()
}

// Fail marks the case as failed.
func (t *trial) Fail() {
	t.stop.Store(true)
	if !t.over.Load() {
		t.TB.Fail()
	}
	if t.told != nil {
		t.told(failed, "without a message")
	}
}

// FailNow is Fail and ends the goroutine.
func (t *trial) FailNow() {
	t.Fail()
	runtime.Goexit()
}

// Skipf ends the case because the provider cannot do what it needs.
func (t *trial) Skipf(format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	t.skipped.CompareAndSwap(nil, &why)
	t.stop.Store(true)
	if t.told != nil {
		t.told(skipped, why)
	}
	runtime.Goexit()
}

// Skip is Skipf.
func (t *trial) Skip(args ...any) { t.Skipf("%s", fmt.Sprint(args...)) }

// SkipNow is Skipf without a reason.
func (t *trial) SkipNow() { t.Skipf("skipped") }

// Cleanup has f called when the case is over, before its leaks are checked.
func (t *trial) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

// check ends the goroutine when the case has failed elsewhere.
func (t *trial) check() {
	if t.stop.Load() {
		runtime.Goexit()
	}
}

// need skips the case when a device has no such transport.
func (t *trial) need(tr fabric.Transport) {
	for _, d := range []fabric.Device{t.world.A, t.world.B} {
		lim := d.Limits()
		if (tr == fabric.UC && !lim.UC) || (tr == fabric.UD && !lim.UD) {
			t.Skipf("device %s has no %v", d.Name(), tr)
		}
	}
}

// needAtomics skips the case when a device has none.
func (t *trial) needAtomics() {
	if !t.world.A.Limits().Atomics || !t.world.B.Limits().Atomics {
		t.Skipf("the devices have no atomics")
	}
}

// inOrder reports whether the devices promise the address order.
func (t *trial) inOrder() bool { return t.world.A.Limits().InOrder && t.world.B.Limits().InOrder }

// needOrder skips the case when they do not.
func (t *trial) needOrder() {
	if !t.inOrder() {
		t.Skipf("the devices do not promise that READs and WRITEs are in order")
	}
}

// must fails on an error, and skips on ErrUnsupported.
func (t *trial) must(what string, err error) {
	t.Helper()
	if errors.Is(err, fabric.ErrUnsupported) {
		t.Skipf("%s: %v", what, err)
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// wantErr fails unless err wraps one of the targets.
func (t *trial) wantErr(what string, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if errors.Is(err, target) {
			return
		}
	}
	t.Fatalf("%s: got error %v, want one of %v", what, err, targets)
}

// times scales the repetitions of a case that hammers.
func (t *trial) times(n int) int {
	if !t.opt.exact {
		n = scale.Times(n)
	}
	return n * max(t.opt.Iterations, 1)
}

// random returns the generator number n of this case.
func (t *trial) random(n int) *rand.Rand { return rand.New(rand.NewPCG(t.seed, uint64(n))) }

// ctx returns a context that ends before the watchdog does.
func (t *trial) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), t.patience())
	t.Cleanup(cancel)
	return ctx
}

// await drives the owners until cond holds.
func (t *trial) await(what string, cond func() bool, owners ...*owner) {
	t.Helper()
	if !t.within(t.patience(), cond, owners...) {
		t.Fatalf("timed out waiting for %s", what)
	}
}

// settle drives the owners until cond holds or a while has passed, and says
// whether it holds. It is for what may be dropped: the time is no measure.
func (t *trial) settle(cond func() bool, owners ...*owner) bool {
	return t.within(150*time.Millisecond, cond, owners...)
}

// insist calls do, which sends something, and drives the owners until cond says
// that it arrived. What may be dropped is sent again and again; it may then
// arrive more than once, for a receiver can be slower than any time to wait.
func (t *trial) insist(what string, tr fabric.Transport, do func(), cond func() bool, owners ...*owner) {
	t.Helper()
	deadline := time.Now().Add(t.patience())
	for do(); tr != fabric.RC && !t.settle(cond, owners...); do() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: sent again and again, and none arrived", what)
		}
	}
	t.await(what, cond, owners...)
}

func (t *trial) within(limit time.Duration, cond func() bool, owners ...*owner) bool {
	deadline := time.Now().Add(limit)
	for i := 1; !cond(); i++ {
		t.check()
		for _, o := range owners {
			o.poll()
		}
		if t.pause != nil {
			t.pause(i)
		} else {
			runtime.Gosched()
		}
		if (i%64 == 0 || i > spins) && time.Now().After(deadline) {
			return cond()
		}
	}
	return true
}

// linger drives the owners for a while in which nothing should happen.
func (t *trial) linger(owners ...*owner) {
	for range 300 {
		for _, o := range owners {
			o.poll()
		}
		runtime.Gosched()
	}
}

// crew are goroutines of a case that are waited for together.
type crew struct {
	t    *trial
	wait sync.WaitGroup
}

// crew returns an empty crew.
func (t *trial) crew() *crew { return &crew{t: t} }

// run runs f as a goroutine of the case. f may fail and skip.
func (c *crew) run(f func()) {
	c.wait.Add(1)
	c.t.group.Add(1)
	go func() {
		defer c.t.group.Done()
		defer c.wait.Done()
		defer c.t.recoverPanic()
		f()
	}()
}

// join waits for all, and ends the case when one of them failed.
func (c *crew) join() {
	c.wait.Wait()
	c.t.check()
}

// recoverPanic makes a panic a failure of the case.
func (t *trial) recoverPanic() {
	if p := recover(); p != nil {
		buf := make([]byte, 64<<10)
		t.Errorf("panic: %v\n%s", p, buf[:runtime.Stack(buf, false)])
	}
}

// contextWithStop returns a context that ends before the watchdog, or by stop.
func (t *trial) contextWithStop() (ctx context.Context, stop context.CancelFunc) {
	return context.WithTimeout(context.Background(), t.patience())
}
