package rfp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/faults"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/test/cachetest"
	"github.com/remora-kv/remora/test/rpctest"
	"github.com/remora-kv/remora/test/scale"
)

// tryDial connects on a device of its own.
func (r *rig) tryDial(dev fabric.Device, cfg rfp.ConnConfig) (*rfp.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cfg.Device = dev
	return rfp.Dial(ctx, r.Addr, cfg)
}

func TestAdmissionLimit(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		log := &logbook{}
		s := r.serve(rfp.ServerConfig{Cores: 2, MaxClients: 2, Log: log.logger()})
		dev := r.NewDevice()
		var conns []*rfp.Conn
		// Two on core 1 by wish; those without one find the places on core 0.
		for _, core := range []int{1, 1, rfp.AnyCore, rfp.AnyCore} {
			c, err := r.tryDial(dev, rfp.ConnConfig{Core: core})
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, c)
		}
		for _, core := range []int{0, 1, rfp.AnyCore} {
			_, err := r.tryDial(dev, rfp.ConnConfig{Core: core})
			var rejected *fabric.RejectedError
			if !errors.As(err, &rejected) || !strings.Contains(string(rejected.Private), "has its 2 clients already") {
				t.Fatalf("a client too many on core %d: %v", core, err)
			}
		}
		if !log.says("has its 2 clients already") {
			t.Error("the log does not say why clients were refused")
		}
		for i, c := range conns {
			if got, err := call(t, c, procEcho, []byte("x")); err != nil || string(got) != "x" {
				t.Errorf("client %d: %q, %v", i, got, err)
			}
		}
		_ = conns[0].Close()
		await(t, "a place to become free", func() bool { return s.Stats().Clients == 3 })
		c, err := r.tryDial(dev, rfp.ConnConfig{Core: rfp.AnyCore})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range append(conns[1:], c) {
			_ = c.Close()
		}
	})
}

// The limit is changed while the server runs; connected clients stay.
func TestAdmissionLimitChanges(t *testing.T) {
	r := newRig(t, fabrics[0])
	s := r.serve(rfp.ServerConfig{MaxClients: 2})
	dev := r.NewDevice()
	first, err := r.tryDial(dev, rfp.ConnConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Close() }()
	for _, wrong := range []int{-1, 0, 3} {
		if err := s.SetMaxClients(wrong); !errors.Is(err, fabric.ErrInvalid) || !strings.Contains(err.Error(), "between 1 and 2") {
			t.Errorf("%d clients: %v", wrong, err)
		}
	}
	for _, n := range []int{1, 2, 1} {
		if err := s.SetMaxClients(n); err != nil {
			t.Fatal(err)
		}
		c, err := r.tryDial(dev, rfp.ConnConfig{})
		if (err == nil) != (n == 2) {
			t.Fatalf("a second client, when %d are taken: %v", n, err)
		}
		if err == nil {
			defer func() { _ = c.Close() }()
		}
	}
	if got, err := call(t, first, procEcho, []byte("x")); err != nil || string(got) != "x" {
		t.Errorf("a client of before: %q, %v", got, err)
	}
}

// Clients come and go, in order and abruptly, while another one works.
func TestComingAndGoing(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		running := goleak.IgnoreCurrent()
		t.Cleanup(func() { cachetest.NoLeaks(t, running) })
		s := r.serve(rfp.ServerConfig{Cores: 2})
		w := r.witness()
		w.check(t)
		before := s.Stats()
		const threads = 3
		each := scale.Times(100)
		all := uint64(threads * each)
		var wg sync.WaitGroup
		for g := range threads {
			wg.Go(func() {
				var dev fabric.Device
				for i := range each {
					var err error
					if dev, err = r.comeAndGo(dev, g*each+i); err != nil {
						t.Error(err)
						return
					}
				}
				if dev != nil {
					_ = dev.Close()
				}
			})
		}
		done := make(chan struct{})
		go func() { wg.Wait(); close(done) }()
		for busy := true; busy; {
			select {
			case <-done:
				busy = false
			default:
				w.check(t)
			}
		}
		await(t, "all to be gone", func() bool { return s.Stats().Clients == 1 })
		after := s.Stats()
		const kept = 2048 // by the session that stays, if a frame had to wait for a piece (I8)
		if after.Memory < before.Memory || after.Memory > before.Memory+kept || after.Connects-before.Connects != all || after.Disconnects != all || after.Cut != 0 {
			t.Errorf("before %+v, after %+v", before, after)
		}
		w.check(t)
	})
}

// comeAndGo connects, works a little or not at all, and leaves in one of many
// ways. It returns the device if that is still there.
func (r *rig) comeAndGo(dev fabric.Device, i int) (fabric.Device, error) {
	var err error
	if dev == nil {
		if dev, err = r.Set.Open(r.Fabric); err != nil {
			return nil, err
		}
	}
	c, err := r.tryDial(dev, rfp.ConnConfig{Core: rfp.AnyCore, Params: rfp.Params{Mode: rfp.Mode(i & 1)}})
	if err != nil {
		return dev, err
	}
	arg := pattern(i*17%5000, i)
	if i%5 != 0 {
		if err := c.Send(1, request(procEcho, arg)); err != nil {
			return dev, err
		}
	}
	if i%5 > 1 { // some leave without their result
		if !c.Wait(patience) {
			return dev, fmt.Errorf("client %d: %w", i, c.Err())
		}
		if got, err, ok := c.Next(); !ok || err != nil || !bytes.Equal(got, arg) {
			return dev, fmt.Errorf("client %d: %d bytes, %w", i, len(got), err)
		}
	}
	if i%4 == 0 {
		return nil, dev.Close() // it vanishes
	}
	return dev, c.Close()
}

func TestServerClosesWithCallsOutstanding(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		running := goleak.IgnoreCurrent()
		t.Cleanup(func() { cachetest.NoLeaks(t, running) })
		gate := make(chan struct{})
		var entered atomic.Int32
		r.Mux.Handle(50, func(_ *rpc.Call, out []byte) ([]byte, error) {
			entered.Add(1)
			<-gate
			<-time.After(5 * time.Millisecond) // the others are served only if Close does not stop that
			return out, nil
		})
		s := r.serve(rfp.ServerConfig{})
		c := r.client(rfp.ConnConfig{Batch: 1, Window: 16})
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		const calls = 20
		results := make(chan error, calls)
		for range calls {
			go func() {
				_, err := c.Call(ctx, 50, nil, nil)
				results <- err
			}()
		}
		await(t, "a call to be served", func() bool { return entered.Load() == 1 })
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		dev := r.NewDevice()
		await(t, "the server to refuse clients", func() bool {
			c, err := r.tryDial(dev, rfp.ConnConfig{})
			if err == nil {
				_ = c.Close()
			}
			return err != nil
		})
		close(gate)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		failed := 0
		for range calls {
			if err := <-results; err != nil {
				failed++
				if errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*rpc.Error)) {
					t.Errorf("a call without a result: %v", err)
				}
			}
		}
		if failed == 0 {
			t.Error("all calls were answered by a closed server")
		}
		if err := s.Close(); !errors.Is(err, rpc.ErrClosed) {
			t.Errorf("second Close: %v", err)
		}
	})
}

// A queue pair that breaks fails the calls without a result, each of them, and
// no call that has one.
func TestBrokenQueuePair(t *testing.T) {
	for _, plan := range []string{
		"rc.write.break=lost@op=400..", "rc.read.break=access@op=400..", "rc.write.lose@op=400..", "rc.read.lose@op=400..", "rc.break@op=400..",
	} {
		eachFabric(t, func(t *testing.T, r *rig) {
			s := r.serve(rfp.ServerConfig{})
			p, err := faults.ParsePlan(plan)
			if err != nil {
				t.Fatal(err)
			}
			// A connection may break before any answer has come, if the server does not
			// run while the client READs 400 times.
			for !breaks(t, r, p) {
				t.Log("no call succeeded; once more")
			}
			await(t, "the server to notice", func() bool { return s.Stats().Clients == 0 })
			r.witness().check(t)
		})
	}
}

// breaks makes calls through a device that breaks the connection, and reports whether any
// succeeded before.
func breaks(t *testing.T, r *rig, plan *faults.Plan) bool {
	t.Helper()
	c, err := r.tryDial(faults.Wrap(r.NewDevice(), plan), rfp.ConnConfig{Params: rfp.Params{Pinned: true}})
	if err != nil {
		t.Fatal(err)
	}
	client := rfp.NewClient(c)
	defer client.Close()
	good, bad := 0, 0
	for bad == 0 {
		good, bad = callUntilBroken(t, client, good)
	}
	if _, err := client.Call(context.Background(), procEcho, nil, nil); !errors.Is(err, c.Err()) {
		t.Errorf("a call after that: %v", err)
	}
	return good != 0
}

// callUntilBroken makes 40 calls at once: from the first that fails on, all do.
func callUntilBroken(t *testing.T, client *rfp.Client, good int) (succeeded, failed int) {
	var calls []*rfp.Pending
	for i := range 40 {
		calls = append(calls, client.Go(procEcho, fmt.Append(nil, "call ", i), nil))
	}
	for i, p := range calls {
		out, err := p.Wait(context.Background())
		switch {
		case err == nil && string(out) == fmt.Sprint("call ", i) && failed == 0:
			good++
		case err != nil && len(out) == 0 && errors.Is(err, client.Conn().Err()):
			failed++
		default:
			t.Fatalf("call %d after %d failures: %q, %v", i, failed, out, err)
		}
	}
	return good, failed
}

// Idle sessions cost nothing, and are served when they come back.
func TestManySessionsFewActive(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.serve(rfp.ServerConfig{Results: 16, Window: 8})
		dev := r.NewDevice()
		const all, active = 128, 4
		var conns []*rfp.Conn
		for range all {
			c, err := r.tryDial(dev, rfp.ConnConfig{Window: 2})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			conns = append(conns, c)
		}
		echo := func(c *rfp.Conn, i int) {
			if got, err := call(t, c, procEcho, []byte{byte(i)}); err != nil || !bytes.Equal(got, []byte{byte(i)}) {
				t.Fatalf("client %d: %x, %v", i, got, err)
			}
		}
		await(t, "idle sessions to be parked", func() bool {
			for i, c := range conns[:active] {
				echo(c, i)
			}
			return s.Stats().Hot <= active
		})
		for i, c := range conns {
			echo(c, i)
		}
		st := s.Stats()
		t.Logf("hot %d of %d, %d parks, %d bytes for each", st.Hot, st.Clients, st.Parks, st.Memory/all)
	})
}

// A client that expects pushes finds out soon that the server sleeps, and wakes it. How
// soon is counted in polls: others may use the machine.
func TestRepliesFromSleepingServer(t *testing.T) {
	const most = 1 << 16 // polls without a look, by far
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(rfp.ServerConfig{})
		c := r.dial(rfp.ConnConfig{Params: rfp.Params{Pinned: true, Mode: rfp.Reply}})
		polled := func() {
			looks := c.Stats().Fetches
			for polls := 0; !c.Poll() && c.Err() == nil; polls++ {
				if polls == most && c.Stats().Fetches == looks {
					t.Fatalf("the client has not looked in %d polls: %+v", polls, c.Stats())
				}
				runtime.Gosched()
			}
		}
		waited := func() { c.Wait(patience) }
		// Calls that find the server awake prove nothing, and are not counted.
		i := 0
		await(t, "a server that sleeps often", func() bool {
			<-time.After(time.Millisecond) // the server falls asleep
			if err := c.Send(0, request(procEcho, []byte{byte(i)})); err != nil {
				t.Fatal(err)
			}
			[]func(){polled, waited}[i%2]()
			if got, err, ok := c.Next(); !ok || err != nil || !bytes.Equal(got, []byte{byte(i)}) {
				t.Fatalf("%x, %v, %v, %v: %+v", got, err, ok, c.Err(), c.Stats())
			}
			i++
			return c.Stats().Wakeups >= 50
		})
		t.Logf("%+v", c.Stats())
	})
}

// A handler that panics fails its call and no other, and the server goes on.
func TestPanics(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.HandlePanic()
		s := r.serve(rfp.ServerConfig{})
		c := r.client(rfp.ConnConfig{Batch: 8, Window: 4})
		const goroutines, calls = 8, 12
		var wg sync.WaitGroup
		for g := range goroutines {
			wg.Go(func() {
				ctx, cancel := rpctest.Patient()
				defer cancel()
				for i := range calls {
					arg, want := fmt.Sprint("call ", g, i), error(nil)
					if i%3 == 0 {
						arg, want = fmt.Sprint("panic ", g, i), &rpc.Error{Code: rpc.CodePanic}
					}
					if i%4 == 0 {
						arg += string(longPattern(5000, i)) // no frame holds it
					}
					if got, err := c.Call(ctx, rpctest.Panic, []byte(arg), nil); !errors.Is(err, want) || err == nil && string(got) != arg {
						t.Errorf("%s: %q, %v", arg, got, err)
					}
				}
			})
		}
		wg.Wait()
		if st := s.Stats(); st.Calls != goroutines*calls || st.Failures != st.Calls/3 || st.Panics != st.Failures {
			t.Errorf("%+v", st)
		}
	})
}
