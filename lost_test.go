package remora_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc/wire"
)

// quick are the options of clients that are expected to reconnect.
var quick = []remora.Option{remora.WithBackoff(time.Millisecond, 4*time.Millisecond), remora.WithReconnectWait(watchdog)}

// eachPath runs f on the paths that connections differ in.
func eachPath(t *testing.T, f func(t *testing.T, via remora.Option)) {
	for _, path := range []remora.Path{remora.PathRFP, remora.PathHerd, remora.PathSendRecv} {
		t.Run(string(path), func(t *testing.T) { f(t, remora.WithPath(path)) })
	}
}

// An operation on a connection that breaks ends with the error that says what
// became of it, as the server knows.
func TestOutcomes(t *testing.T) {
	for op := 1; op < 400; op += 23 {
		for _, how := range []string{"break", "lose"} {
			t.Run(fmt.Sprintf("%s at %d", how, op), func(t *testing.T) {
				testOutcomes(t, fmt.Sprintf("rc.%s@qp=0,op=%d", how, op))
			})
		}
	}
}

func testOutcomes(t *testing.T, plan string) {
	r := newRig(t, "loop")
	s := r.serve(cores(2))
	ctx := testContext(t)
	c, err := remora.Dial(ctx, r.addr.String(), append(quick, remora.WithDevice(r.faulty(plan)))...)
	if errors.Is(err, remora.ErrUnavailable) {
		return // it broke already
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const workers, writes = 6, 12
	errs := make([][]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		errs[w] = make([]error, writes)
		wg.Go(func() {
			for i := range writes {
				_, errs[w][i] = c.Set(ctx, fmt.Sprint(w, "/", i), []byte("x"), 0)
			}
		})
	}
	wg.Wait()
	if err := c.Ping(ctx); err != nil {
		t.Errorf("after the break: %v", err)
	}
	unknown := 0
	for w := range workers {
		for i, err := range errs[w] {
			_, there := c.Get(ctx, fmt.Sprint(w, "/", i))
			switch {
			case err == nil && there != nil:
				t.Errorf("a write that was acknowledged: %v", there)
			case err == nil:
			case errors.Is(err, remora.ErrUnknown):
				unknown++
			case !errors.Is(err, remora.ErrUnavailable):
				t.Errorf("neither unknown nor unavailable: %v", err)
			case !errors.Is(there, remora.ErrNotFound):
				t.Errorf("a write that has not happened is there: %v", err)
			}
		}
	}
	if unknown > workers {
		t.Errorf("%d writes unknown, at most one of each goroutine was in flight", unknown)
	}
	again := c.Counters().Reconnects
	if again > 1 || unknown > 0 && again == 0 {
		t.Errorf("%d connections were made anew, %d writes unknown", again, unknown)
	}
	if n := s.count(command.Hello); n > 5+int(again) { // two at first, two by Ping, one of which may have been repeated
		t.Errorf("%d hellos", n)
	}
}

// Exactly the calls in flight over the broken connection fail, reads are
// repeated, and what comes later waits for the next connection.
func TestCallsUnderWay(t *testing.T) {
	r := newRig(t, "loop")
	g := newGate(t, command.Touch)
	s := r.serve(cores(2), before(g.before))
	dev := r.faulty("")
	log := &logbook{}
	c, ctx := r.dialOn(dev, append(quick, remora.WithLogger(log.logger(slog.LevelInfo)))...), testContext(t)
	zero, one := s.keyOn(0, "secret zero "), s.keyOn(1, "secret one ")
	for _, key := range []string{zero, one} {
		if _, err := c.Set(ctx, key, []byte(key), 0); err != nil {
			t.Fatal(err)
		}
	}
	touch, get := make(chan error, 1), make(chan error, 1)
	go func() { touch <- c.Touch(ctx, one, time.Hour) }()
	<-g.entered
	go func() {
		value, err := c.Get(ctx, one) // behind the touch, on the same core
		if err == nil && string(value) != one {
			err = errors.New("another value")
		}
		get <- err
	}()
	await(t, "the get to be sent", func() bool { return c.Counters().Calls >= 6 })
	dev.Cut()
	err := <-touch
	var lost *remora.LostError
	if !errors.Is(err, remora.ErrUnknown) || errors.Is(err, remora.ErrUnavailable) || !errors.Is(err, fabric.ErrPeerLost) ||
		!errors.As(err, &lost) || lost.Op != "touch" || lost.Addr != r.addr.String() {
		t.Errorf("a write under way: %v", err)
	}
	dev.Heal()
	g.release()
	if err := <-get; err != nil {
		t.Errorf("a read under way: %v", err)
	}
	for _, key := range []string{zero, one} {
		if _, err := c.Get(ctx, key); err != nil {
			t.Errorf("a read afterwards: %v", err)
		}
	}
	if n := c.Counters(); n.Reconnects != 2 || n.Retries == 0 {
		t.Errorf("%d reconnects of two connections, %d retries", n.Reconnects, n.Retries)
	}
	if text := log.String(); strings.Contains(text, "secret") || !strings.Contains(text, "connection lost") || !strings.Contains(text, "connected again") {
		t.Errorf("the log says:\n%s", text)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error shows the key: %v", err)
	}
}

// A server that is gone is an error in the end, and at once from then on; one that
// comes back is found.
func TestServerGone(t *testing.T) {
	eachPath(t, func(t *testing.T, via remora.Option) {
		for _, name := range fabrics {
			t.Run(name, func(t *testing.T) {
				r := newRig(t, name)
				s := r.serve(cores(2))
				c := r.dial(via, remora.WithBackoff(time.Millisecond, 2*time.Millisecond), remora.WithReconnectWait(30*time.Millisecond))
				ss := session(t, c)
				ctx := testContext(t)
				s.close()
				for _, o := range []ops{c, ss} {
					testGone(ctx, t, o, s)
				}
				if err := c.Ping(ctx); !errors.Is(err, remora.ErrUnavailable) {
					t.Errorf("Ping: %v", err)
				}
				var failed *remora.MultiError
				if _, err := c.GetMulti(ctx, []string{"a", "b", "c"}); !errors.As(err, &failed) || len(failed.Keys) != 3 ||
					!errors.Is(err, remora.ErrUnavailable) {
					t.Errorf("GetMulti: %v", err)
				}
				r.serve(cores(2))
				for _, o := range []ops{c, ss} {
					await(t, "the server to be found again", func() bool {
						_, err := o.Set(ctx, "k", nil, 0)
						return err == nil
					})
				}
			})
		}
	})
}

// The same where what is long has a connection of its own, and that one is over.
func TestIdleLossOfTheLongWay(t *testing.T) {
	eachPath(t, func(t *testing.T, via remora.Option) {
		r := newRig(t, "loop")
		r.serve(cores(2))
		dev := &rfpDevice{Device: r.device()}
		c := r.dialOn(dev, append(quick, via)...)
		dev.forget()
		ss, ctx := session(t, c), testContext(t)
		for i := range 10 {
			dev.disconnect(t)
			if _, err := ss.Set(ctx, fmt.Sprint(i), make([]byte, 100_000), 0); err != nil {
				t.Errorf("Set: %v", err)
			}
		}
	})
}

// rfpDevice knows the connections of rfp that were made on it.
type rfpDevice struct {
	fabric.Device
	mu  sync.Mutex
	qps []fabric.QP
}

func (d *rfpDevice) Dial(ctx context.Context, addr fabric.Addr, cfg fabric.QPConfig, private []byte) (fabric.QP, error) {
	qp, err := d.Device.Dial(ctx, addr, cfg, private)
	if _, other := wire.ParseHello(private); err == nil && other == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.qps = append(d.qps, qp)
	}
	return qp, err
}

func (d *rfpDevice) forget() []fabric.QP {
	d.mu.Lock()
	defer d.mu.Unlock()
	qps := d.qps
	d.qps = nil
	return qps
}

// disconnect ends the connections that were made since the last call.
func (d *rfpDevice) disconnect(t *testing.T) {
	t.Helper()
	qps := d.forget()
	if len(qps) != 2 {
		t.Errorf("%d connections of rfp were made, want one with each core", len(qps))
	}
	for _, qp := range qps {
		if err := qp.Disconnect(); err != nil {
			t.Error(err)
		}
	}
}

// A session finds out that an idle connection is over before it sends anything.
func TestIdleLoss(t *testing.T) {
	eachPath(t, func(t *testing.T, via remora.Option) {
		r := newRig(t, "loop")
		s := r.serve(cores(2))
		ss, ctx := session(t, r.dial(via), remora.WithReconnectWait(0)), testContext(t)
		s.close()
		for i := range 10 {
			if _, err := ss.Set(ctx, fmt.Sprint(i), nil, 0); !errors.Is(err, remora.ErrUnavailable) {
				t.Errorf("Set: %v", err)
			}
		}
	})
}

func testGone(ctx context.Context, t *testing.T, o ops, s *cache) {
	t.Helper()
	// On a busy machine the reconnect wait may be over before the first attempt to connect is.
	for core := range s.welcome.Cores {
		key := s.keyOn(core, "secret ")
		await(t, "the refusal to be known", func() bool {
			_, err := o.Get(ctx, key)
			if !errors.Is(err, remora.ErrUnavailable) || errors.Is(err, remora.ErrUnknown) {
				t.Fatalf("Get: %v", err)
			}
			return errors.Is(err, fabric.ErrRefused)
		})
	}
	for i := range 100 {
		_, err := o.Get(ctx, fmt.Sprint("secret ", i))
		if !errors.Is(err, remora.ErrUnavailable) || errors.Is(err, remora.ErrUnknown) || !errors.Is(err, fabric.ErrRefused) {
			t.Fatalf("Get: %v", err)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Fatalf("the error shows the key: %v", err)
		}
		_, err = o.Set(ctx, fmt.Sprint("secret ", i), nil, 0)
		if !errors.Is(err, remora.ErrUnavailable) {
			t.Fatalf("Set: %v", err)
		}
	}
}

// A server that was restarted has another seed, other items and perhaps another
// number of cores.
func TestRestart(t *testing.T) {
	eachPath(t, func(t *testing.T, via remora.Option) {
		for _, name := range fabrics {
			t.Run(name, func(t *testing.T) {
				r := newRig(t, name)
				s := r.serve(cores(2))
				c, ctx := r.dial(append(quick, via)...), testContext(t)
				ss := session(t, c)
				for _, n := range []int{3, 1, 2, 2, 4} {
					s.close()
					s = r.serve(cores(n))
					for i := range 40 {
						key := fmt.Sprint(i)
						for _, o := range []ops{c, ss} {
							if _, err := o.Get(ctx, key); i == 0 && errors.Is(err, remora.ErrNotFound) {
								continue
							}
							if err := roundTrip(ctx, o, key); err != nil {
								t.Fatalf("%d cores, %T: %v", n, o, err)
							}
						}
					}
					if info := c.Info(); info.Cores != n || info.Instance != s.welcome.Instance {
						t.Errorf("%+v, want %d cores", info, n)
					}
				}
			})
		}
	})
}

// roundTrip sets a key, which may be of unknown outcome, and gets it.
func roundTrip(ctx context.Context, o ops, key string) error {
	if _, err := o.Set(ctx, key, []byte(key), 0); err != nil && !errors.Is(err, remora.ErrUnknown) {
		return err
	}
	value, err := o.Get(ctx, key)
	if err == nil && string(value) != key {
		err = fmt.Errorf("%q", value)
	}
	return err
}

// Goroutines work while the server is restarted again and again.
func TestRestartUnderLoad(t *testing.T) {
	eachPath(t, func(t *testing.T, via remora.Option) {
		r := newRig(t, "loop")
		s := r.serve(cores(2))
		c, ctx := r.dial(append(quick, via)...), testContext(t)
		var stop atomic.Bool
		var wg sync.WaitGroup
		var good, unknown atomic.Int64
		for w := range 8 {
			o := ops(c)
			if w < 2 {
				o = session(t, c)
			}
			wg.Go(func() {
				for i := 0; !stop.Load(); i++ {
					key := fmt.Sprint(w, "/", i)
					switch _, err := o.Set(ctx, key, describe(key, uint64(i), 100), 0); {
					case err == nil:
						good.Add(1)
					case errors.Is(err, remora.ErrUnknown):
						unknown.Add(1)
					default:
						t.Errorf("Set: %v", err)
					}
					value, err := o.Get(ctx, key)
					if err == nil {
						_, err = numberOf(key, value)
					}
					if err != nil && !errors.Is(err, remora.ErrNotFound) && !errors.Is(err, remora.ErrUnknown) {
						t.Errorf("Get: %v", err)
					}
				}
			})
		}
		for i := range 8 {
			before := good.Load()
			await(t, "work", func() bool { return good.Load() > before+50 || t.Failed() })
			s.close()
			s = r.serve(cores(1 + i%3))
		}
		stop.Store(true)
		wg.Wait()
		t.Logf("%d sets, %d unknown, %+v", good.Load(), unknown.Load(), c.Counters().Reconnects)
	})
}

// A server that drains has done nothing, and the operation is done by the next.
func TestDraining(t *testing.T) {
	eachPath(t, func(t *testing.T, via remora.Option) {
		for name, op := range map[string]func(ctx context.Context, c *remora.Client, s *remora.Session) error{
			"set": func(ctx context.Context, c *remora.Client, _ *remora.Session) error {
				_, err := c.Set(ctx, "k", nil, 0)
				return err
			},
			"session set": func(ctx context.Context, _ *remora.Client, s *remora.Session) error {
				_, err := s.Set(ctx, "k", nil, 0)
				return err
			},
			"ping": func(ctx context.Context, c *remora.Client, _ *remora.Session) error { return c.Ping(ctx) },
			"multi": func(ctx context.Context, c *remora.Client, _ *remora.Session) error {
				_, err := c.GetMulti(ctx, []string{"x", "y"})
				return err
			},
		} {
			t.Run(name, func(t *testing.T) {
				var draining atomic.Bool
				drain := before(func(_ int, _ command.Proc, _, out []byte) ([]byte, error, bool) {
					return command.AppendStatus(out, command.Draining), nil, draining.Load()
				})
				r := newRig(t, "loop")
				s := r.serve(cores(2), drain)
				c, ctx := r.dial(append(quick, via)...), testContext(t)
				ss := session(t, c)
				hellos := s.count(command.Hello)
				draining.Store(true)
				done := make(chan error, 1)
				go func() { done <- op(ctx, c, ss) }()
				// The first attempts to connect follow the refusal.
				await(t, "the refusal to be known", func() bool { return s.count(command.Hello) > hellos+3 })
				s.close()
				r.serve()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		}
	})
}

// A caller that does not want to wait for the next server gets an error.
func TestDrainingWithoutReconnectWait(t *testing.T) {
	eachPath(t, func(t *testing.T, via remora.Option) {
		r := newRig(t, "loop")
		r.serve(before(func(_ int, op command.Proc, _, out []byte) ([]byte, error, bool) {
			return command.AppendStatus(out, command.Draining), nil, op != command.Hello
		}))
		c, ctx := r.dial(via, remora.WithReconnectWait(0)), testContext(t)
		for _, o := range []ops{c, session(t, c)} {
			_, err := o.Set(ctx, "a", nil, 0)
			if !errors.Is(err, remora.ErrUnavailable) || !strings.Contains(err.Error(), "shutting down") {
				t.Errorf("a server that drains: %v", err)
			}
		}
	})
}

// A map that changes while the server runs is asked for and taken over.
func TestNewMap(t *testing.T) {
	eachPath(t, func(t *testing.T, via remora.Option) {
		r := newRig(t, "loop")
		s := r.serve(cores(4))
		c, ctx := r.dial(append(quick, via)...), testContext(t)
		ss := session(t, c)
		for i := range 3 {
			s.seed.Add(12345)
			for j := range 20 {
				for _, o := range []ops{c, ss} {
					key := fmt.Sprint(i, "/", j)
					if _, err := o.Set(ctx, key, []byte(key), 0); err != nil {
						t.Fatal(err)
					}
					if err := roundTrip(ctx, o, key); err != nil {
						t.Fatal(err)
					}
				}
			}
			s.seed.Add(12345)
			if items, err := c.GetMulti(ctx, []string{"a", "b", "c", "d", "e"}); err != nil || len(items) != 0 {
				t.Fatalf("%d items, %v", len(items), err)
			}
		}
		if n := c.Counters().Reconnects; n != 6 {
			t.Errorf("the map was taken over %d times, it changed 6 times", n)
		}
	})
}

// A server that disowns a key by its own map is asked twice, not forever.
func TestWrongCore(t *testing.T) {
	eachPath(t, func(t *testing.T, via remora.Option) {
		r := newRig(t, "loop")
		var moved atomic.Bool
		s := r.serve(cores(2), before(func(_ int, op command.Proc, _, out []byte) ([]byte, error, bool) {
			return command.AppendStatus(out, command.WrongCore), nil, op != command.Hello && moved.Load()
		}))
		c, ctx := r.dial(via), testContext(t)
		ss := session(t, c)
		moved.Store(true)
		for _, o := range []ops{c, ss} {
			before := s.count(command.Put)
			_, err := o.Set(ctx, "k", nil, 0)
			if !errors.Is(err, remora.ErrUnavailable) || !errors.Is(err, remora.ErrProtocol) {
				t.Errorf("a server that has no key: %v", err)
			}
			if n := s.count(command.Put) - before; n > 2 {
				t.Errorf("it was asked %d times", n)
			}
		}
		moved.Store(false)
		for _, o := range []ops{c, ss} {
			if err := roundTrip(ctx, o, "k"); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		}
	})
}

// A read is tried twice, a change once.
func TestRepetition(t *testing.T) {
	r := newRig(t, "loop")
	dev := r.faulty("")
	s := r.serve(before(func(_ int, op command.Proc, _, out []byte) ([]byte, error, bool) {
		if op == command.Get || op == command.Put {
			dev.Cut()
			dev.Heal()
		}
		return out, nil, false
	}))
	c, ctx := r.dialOn(dev, quick...), testContext(t)
	ss := session(t, c)
	for i, o := range []ops{c, ss} {
		if _, err := o.Get(ctx, "k"); !errors.Is(err, remora.ErrUnknown) {
			t.Errorf("Get: %v", err)
		}
		if n := s.count(command.Get); n != 2*(i+1) {
			t.Errorf("%d gets were served", n)
		}
		// The connection may be found broken before the change is sent, which is
		// then sent over another one.
		if _, err := o.Set(ctx, "k", nil, 0); !errors.Is(err, remora.ErrUnknown) {
			t.Errorf("Set: %v", err)
		}
		if n := s.count(command.Put); n != i+1 {
			t.Errorf("%d puts were served", n)
		}
	}
	if n := c.Counters().Retries + ss.Counters().Retries; n != 2 {
		t.Errorf("%d retries", n)
	}
}

// A server that has no place for a client says so, and lets it in when there is
// one.
func TestNoPlace(t *testing.T) {
	r := newRig(t, "loop")
	s := r.serve(clients(1))
	dev := r.faulty("")
	first := r.dialOn(dev, remora.WithBackoff(time.Millisecond, time.Millisecond), remora.WithReconnectWait(10*time.Millisecond))
	ctx := testContext(t)
	_, err := remora.Dial(ctx, r.addr.String(), remora.WithDevice(r.device()), remora.WithDialTimeout(watchdog))
	if !errors.Is(err, remora.ErrUnavailable) || !strings.Contains(err.Error(), "has its 1 clients already") {
		t.Errorf("a client too many: %v", err)
	}
	_, err = first.Session(ctx)
	if !errors.Is(err, remora.ErrUnavailable) {
		t.Errorf("a session too many: %v", err)
	}
	dev.Cut()
	await(t, "the loss to be noticed", func() bool { return first.Delete(ctx, "k") != nil && s.srv.Stats().Clients == 0 })
	second := r.dial()
	dev.Heal()
	await(t, "the refusal", func() bool {
		_, err := first.Get(ctx, "k")
		return strings.Contains(err.Error(), "has its 1 clients already")
	})
	_ = second.Close()
	await(t, "a place", func() bool {
		_, err := first.Get(ctx, "k")
		return errors.Is(err, remora.ErrNotFound)
	})
}
