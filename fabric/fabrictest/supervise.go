package fabrictest

import (
	"hash/fnv"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// outcome is how a case ended.
type outcome int

const (
	caseEnded outcome = iota
	caseHung
)

// runCase runs one case on a fresh world, with a watchdog and a leak check.
func runCase(tb testing.TB, c *testCase, newWorld func(tb testing.TB) *World, opt Options, leaks bool) outcome {
	tb.Helper()
	if opt.Watchdog == 0 {
		opt.Watchdog = DefaultWatchdog
	}
	before := inventory()
	t := &trial{TB: tb, opt: opt, rule: c.rule, seed: seedOf(c.name)}
	work := func() {
		t.world = newWorld(t)
		if t.world == nil || t.world.A == nil || t.world.B == nil || t.world.Listen == nil || t.world.Kill == nil {
			t.Fatalf("fabrictest: the World lacks A, B, Listen or Kill")
		}
		if c.run != nil {
			c.run(t)
		}
	}
	ok := t.supervised("case", work)
	if ok && c.peer != nil && !t.stop.Load() {
		ok = t.runPeers(c)
	}
	ok = ok && t.supervised("its goroutines", t.group.Wait) && t.supervised("clean-up", t.teardown)
	if tb.Failed() && c.rule != "" && c.run != nil {
		tb.Logf("seed %#x; the rule: %s", t.seed, c.rule)
	}
	if !ok {
		return caseHung
	}
	if leaks && !tb.Failed() {
		if msg := before.leaked(t.patience()); msg != "" {
			tb.Errorf("closed everything, and yet:\n%s", msg)
		}
	}
	if why := t.skipped.Load(); why != nil && !tb.Failed() {
		tb.Skip(*why)
	}
	return caseEnded
}

// runPeers runs a case for two peers in this process: A is the device of the
// server, B that of the client. It reports whether both ended in time.
func (t *trial) runPeers(c *testCase) bool {
	var outs [2]outcome // by role
	var conns [2]net.Conn
	conns[Server], conns[Client] = net.Pipe()
	var wait sync.WaitGroup
	for r, dev := range []fabric.Device{Server: t.world.A, Client: t.world.B} {
		wait.Add(1)
		go func() {
			defer wait.Done()
			st, err := newRunner(Side{Role: Role(r), Device: dev, Listen: t.world.Listen, Control: conns[r], Options: t.opt})
			if err != nil {
				t.Errorf("fabrictest: %v", err)
				_ = conns[r].Close()
				return
			}
			st.seq = 1
			var why string
			if outs[r], why = st.try(t.TB, c); why != "" {
				t.skipped.Store(&why)
			}
		}()
	}
	wait.Wait()
	if t.TB.Failed() {
		t.stop.Store(true)
	}
	_, _ = conns[Server].Close(), conns[Client].Close()
	return outs[Server] == caseEnded && outs[Client] == caseEnded
}

// supervised runs f in a goroutine of its own, which may end by Goexit, and
// reports whether it ended in time.
func (t *trial) supervised(what string, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer t.recoverPanic()
		f()
	}()
	dog := time.NewTimer(t.opt.Watchdog)
	defer dog.Stop()
	select {
	case <-done:
		return true
	case <-dog.C:
	}
	t.Errorf("watchdog: %s took more than %v. All goroutines:\n%s", what, t.opt.Watchdog, allStacks())
	t.over.Store(true)
	return false
}

func allStacks() []byte {
	for size := 1 << 20; ; size *= 2 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size || size >= 64<<20 {
			return buf[:n]
		}
	}
}

// seedOf makes the random choices of a case differ from those of the others
// and stay the same from run to run.
func seedOf(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64()
}
