package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/faults"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/test/cachetest"
	"github.com/remora-kv/remora/test/scale"
)

// crowd is clients of all kinds that work on a server and write down what they do.
type crowd struct {
	t       *testing.T
	seed    uint64
	keys    []string
	each    int
	large   bool // values
	history cachetest.History
	members []func()
	wg      sync.WaitGroup
	next    int
}

func newCrowd(t *testing.T, keys, each int) *crowd {
	seed := scale.Seed(t)
	return &crowd{t: t, seed: seed, keys: cachetest.Keys(keys), each: each}
}

func (c *crowd) source() *cachetest.Source {
	s := cachetest.NewSource(c.seed, c.next, c.keys)
	s.Words = c.large
	c.next++
	return s
}

// join adds a goroutine that uses a client or a session.
func (c *crowd) join(o operations) { c.joinAs(adapter{o, c.large}) }

func (c *crowd) joinAs(cache cachetest.Cache) {
	ctx, s := testContext(c.t), c.source()
	c.members = append(c.members, func() { cachetest.Work(ctx, cache, &c.history, s, c.each) })
}

// joinAhead adds a session with up to depth operations on their way.
func (c *crowd) joinAhead(ss *remora.Session, depth int) {
	ctx, s := testContext(c.t), c.source()
	c.members = append(c.members, func() { cachetest.WorkAhead(ctx, &pipe{Session: ss, large: c.large}, &c.history, s, c.each, depth) })
}

// start has all of them begin.
func (c *crowd) start() {
	for _, work := range c.members {
		c.wg.Go(work)
	}
}

// joinAll adds some of each.
func (c *crowd) joinAll(dial func(...remora.Option) *remora.Client) {
	shared := dial(patient()...)
	c.join(shared)
	c.join(shared)
	reply := dial(append(patient(), remora.WithPath(remora.PathReply))...)
	c.join(reply)
	c.join(sessionPatiently(c.t, reply))
	c.join(sessionPatiently(c.t, shared, remora.WithPath(remora.PathFetch)))
	c.joinAhead(sessionPatiently(c.t, shared, remora.WithWindow(4), remora.WithBatch(4)), 8)
	c.joinAhead(sessionPatiently(c.t, reply, remora.WithWindow(8)), 5)
	c.joinBy(remora.PathHerd, dial)
	c.joinBy(remora.PathSendRecv, dial)
}

// joinBy adds some that travel by another path than rfp.
func (c *crowd) joinBy(path remora.Path, dial func(...remora.Option) *remora.Client) {
	client := dial(append(patient(), remora.WithPath(path))...)
	c.join(client)
	if c.large { // which takes rfp, and long: an order of many more is hard to find
		return
	}
	c.join(sessionPatiently(c.t, client))
	c.joinAhead(sessionPatiently(c.t, client, remora.WithWindow(8)), 6)
}

// check waits for all and checks the history, with a last look at every key by a client
// that is made then: where that fails, nobody is at work any more.
func (c *crowd) check(dial func(...remora.Option) *remora.Client) {
	c.t.Helper()
	c.wg.Wait()
	look := cachetest.Cache(adapter{dial(), c.large})
	for _, key := range c.keys {
		call := cachetest.Call{Kind: cachetest.Get, Key: key}
		n := c.history.Begin(c.next, &call)
		o := look.Do(testContext(c.t), &call)
		c.history.End(n, &o)
	}
	c.t.Logf("%d operations, %d unknown, %d unavailable", len(c.history.Operations()),
		c.history.Count(cachetest.Unknown), c.history.Count(cachetest.Unavailable))
	cachetest.Linearizable(c.t, c.history.Operations())
}

// What all clients of a server see has one order, on every fabric and engine.
func TestHistory(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		for _, engine := range append(realEngines, "shared-lru") {
			t.Run(engine, func(t *testing.T) {
				r := newRig(t, r.fabric)
				cfg := r.config()
				cfg.Engine = engine
				r.start(cfg)
				c := newCrowd(t, 4, scale.Times(100))
				c.joinAll(r.dial)
				c.start()
				c.check(r.dial)
			})
		}
	})
}

// Values that do not fit a frame are whole, though they are stored in place of each
// other while they are read.
func TestHistoryOfLargeValues(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		for _, engine := range realEngines {
			for name, mode := range modes {
				t.Run(engine+"/"+name, func(t *testing.T) {
					r := newRig(t, r.fabric)
					cfg := r.config()
					cfg.Engine, cfg.Mode = engine, mode
					r.start(cfg)
					c := newCrowd(t, 2, scale.Times(60))
					c.large = true
					c.joinAll(r.dial)
					c.start()
					c.check(r.dial)
				})
			}
		}
	})
}

// So it has while connections break at either end: operations are unknown or
// unavailable then, and that is true.
func TestHistoryOfBrokenConnections(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		for _, engine := range realEngines {
			t.Run(engine, func(t *testing.T) {
				r := newRig(t, r.fabric)
				cfg := r.config()
				cfg.Engine = engine
				c := newCrowd(t, 5, scale.Times(100))
				n := uint64(0)
				// Where there are fewer operations, more of them fail.
				often := fmt.Sprintf("rc.break=%.1[1]f%%; rc.lose=%.1[1]f%%; uc.break=%.1[1]f%%", 10/float64(scale.Times(100)))
				plan := func(text string) *faults.Plan {
					n++
					p, err := faults.ParsePlan(fmt.Sprintf("seed=%d; %s; %s", c.seed+n, often, text))
					if err != nil {
						t.Fatal(err)
					}
					return p
				}
				cfg = cfg.Behind(func(d fabric.Device) fabric.Device {
					return faults.Wrap(d, plan("accept.refuse=10%"))
				})
				r.start(cfg)
				var clients []*remora.Client
				c.joinAll(func(opts ...remora.Option) *remora.Client {
					dev := faults.Wrap(r.device(), plan(fmt.Sprintf("rc.lose@op=%d; dial.refuse=10%%", scale.Times(400))))
					clients = append(clients, dialPatiently(t, r.url, dev, opts...))
					return clients[len(clients)-1]
				})
				c.start()
				c.check(func(...remora.Option) *remora.Client {
					return dialPatiently(t, r.url, r.device(), patient()...)
				})
				again := uint64(0)
				for _, client := range clients {
					again += client.Counters().Reconnects
				}
				t.Logf("%d connections were made anew", again)
			})
		}
	})
}

// So it has while messages of herd are lost, come twice or in another order, on both
// ways: each change is made once, and none is answered with what belongs to another.
func TestHistoryUnderLoss(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		// TestLoss of rpc/herd has each kind of loss by itself.
		for name, text := range map[string]string{
			"bursts": "uc.drop=4%,burst=8; ud.drop=4%,burst=8",
			"mixed":  "uc.drop=5%; uc.delay=2%,1ms; ud.drop=5%; ud.dup=10%,1ms; ud.reorder=10%,by=3",
			"breaks": "ud.break=1%; ud.drop=1%", // of reply QPs
		} {
			t.Run(name, func(t *testing.T) {
				r := newRig(t, r.fabric)
				c := newCrowd(t, 4, scale.Times(100))
				var devices []*faults.Device
				bad := func(d fabric.Device) fabric.Device {
					plan, err := faults.ParsePlan(fmt.Sprintf("seed=%d; ud.drop@op=10..14; %s", c.seed+uint64(len(devices)), text))
					if err != nil {
						t.Fatal(err)
					}
					devices = append(devices, faults.Wrap(d, plan))
					return devices[len(devices)-1]
				}
				r.start(r.config().Behind(bad))
				dial := func(opts ...remora.Option) *remora.Client { return dialOn(t, r.url, bad(r.device()), opts...) }
				c.joinBy(remora.PathHerd, dial)
				c.joinBy(remora.PathHerd, dial)
				c.join(r.dial(patient()...))
				c.start()
				c.check(r.dial)
				if lost := c.history.Count(cachetest.Unknown) + c.history.Count(cachetest.Unavailable); lost != 0 {
					t.Errorf("%d operations have no outcome, though no connection broke", lost)
				}
				struck := 0
				for _, dev := range devices {
					struck += len(dev.Struck())
				}
				if struck == 0 {
					t.Error("there were no faults")
				}
			})
		}
	})
}

// dialPatiently is dialOn on a network that refuses now and then.
func dialPatiently(t *testing.T, url string, dev fabric.Device, opts ...remora.Option) *remora.Client {
	t.Helper()
	ctx := testContext(t)
	c, err := insist(ctx, func() (*remora.Client, error) {
		return remora.Dial(ctx, url, append([]remora.Option{remora.WithDevice(dev)}, opts...)...)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// sessionPatiently is session on such a network.
func sessionPatiently(t *testing.T, c *remora.Client, opts ...remora.Option) *remora.Session {
	t.Helper()
	ctx := testContext(t)
	s, err := insist(ctx, func() (*remora.Session, error) { return c.Session(ctx, opts...) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// canceling is a cache for a caller who gives up now and then, at any moment.
type canceling struct {
	cachetest.Cache
	rng *rand.Rand
}

// Do implements cachetest.Cache.
func (h canceling) Do(ctx context.Context, c *cachetest.Call) cachetest.Outcome {
	if h.rng.IntN(10) != 0 {
		return h.Cache.Do(ctx, c)
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	turns := h.rng.IntN(1 << h.rng.IntN(12))
	wg.Go(func() {
		for range turns {
			runtime.Gosched()
		}
		cancel()
	})
	return h.Cache.Do(ctx, c)
}

// Callers give up while their operations are on their way. What is answered later
// is nobody else's answer.
func TestHistoryOfCancelingCallers(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.start(r.config())
		c := newCrowd(t, 6, scale.Times(120))
		shared := r.dial(patient()...)
		reply := r.dial(append(patient(), remora.WithPath(remora.PathReply))...)
		narrow := r.dial(append(patient(), remora.WithWindow(1), remora.WithBatch(1))...)
		for i, o := range []operations{shared, shared, reply, narrow, narrow, session(t, shared), session(t, reply, remora.WithWindow(1))} {
			c.joinAs(canceling{adapter{operations: o}, rand.New(rand.NewPCG(c.seed, uint64(i)))})
		}
		c.join(shared)
		c.join(session(t, shared))
		c.start()
		c.check(r.dial)
	})
}

// Links are cut and healed while all work, so that whole clients lose their
// connections again and again.
func TestHistoryOfCutLinks(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.start(r.config())
		c := newCrowd(t, 5, scale.Times(120))
		var devices []*faults.Device
		c.joinAll(func(opts ...remora.Option) *remora.Client {
			dev := faults.Wrap(r.device(), nil)
			devices = append(devices, dev)
			return dialOn(t, r.url, dev, opts...)
		})
		c.start()
		var stop atomic.Bool
		var saboteur sync.WaitGroup
		saboteur.Go(func() {
			for i := 0; i < 8 && !stop.Load(); i++ {
				before := len(c.history.Operations())
				dev := devices[i%len(devices)]
				dev.Cut()
				dev.Heal()
				cachetest.Await(t, "more operations", func() bool { return len(c.history.Operations()) > before+30 || stop.Load() })
			}
		})
		c.wg.Wait()
		stop.Store(true)
		saboteur.Wait()
		c.check(r.dial)
	})
}

// Processes with clients are killed in the middle of their work; the server is a
// process too, or this one.
func TestHistoryOfKilledClients(t *testing.T) {
	for _, name := range across {
		for _, where := range []string{"server here", "server elsewhere"} {
			t.Run(name+"/"+where, func(t *testing.T) {
				r := newRig(t, name)
				if where == "server here" {
					r.start(r.config())
				} else {
					r.url = startServer(t, serverTask{URL: listenURL(t, name), Cores: 2}).url
				}
				testKilledClients(t, r)
			})
		}
	}
}

func testKilledClients(t *testing.T, r *rig) {
	c := newCrowd(t, 6, scale.Times(100))
	const processes = 4
	var wg sync.WaitGroup
	for i := range processes {
		task := clientsTask{URL: r.url, Seed: c.seed, First: 100 + i*clientsOf, Each: c.each, Keys: len(c.keys)}
		kill := -1 // not at all
		if i%2 == 0 {
			lines := 2 * clientsOf * c.each // a beginning and an end each
			kill = lines/12 + rand.New(rand.NewPCG(c.seed, uint64(i))).IntN(lines/4)
			task.Each = math.MaxInt // a process may be done before its first lines are read
		} else {
			task.Faults = fmt.Sprintf("seed=%d; rc.lose=0.05%%; rc.break=0.05%%; uc.break=0.05%%; ud.drop=1%%", c.seed)
		}
		text, err := json.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		p := cachetest.Play(t, "clients", string(text))
		wg.Go(func() {
			lines := 0
			err := c.history.Read(p.Out, func() {
				if lines++; lines == kill {
					p.Kill()
				}
			})
			if code := p.Exit(); err != nil || (kill < 0) != (code == 0) {
				t.Errorf("process %d: exit code %d, %v; it said %s", i, code, err, &p.Said)
			}
		})
	}
	here := r.dial(patient()...)
	c.join(here)
	c.join(session(t, here))
	c.start()
	wg.Wait()
	c.check(func(...remora.Option) *remora.Client { return here })
}

// The checker notices servers that lose an acknowledged write, apply a CAS twice,
// or return what was there before.
func TestFlawedServersAreNoticed(t *testing.T) {
	for _, flaw := range flaws {
		t.Run(flaw.engine, func(t *testing.T) {
			for range 5 {
				r := newRig(t, provider.Loop)
				cfg := r.config()
				cfg.Engine = flaw.engine
				r.start(cfg)
				c := newCrowd(t, 3, 100)
				c.joinAll(r.dial)
				c.start()
				c.wg.Wait()
				if err := cachetest.Check(c.history.Operations()); err != nil {
					return
				}
			}
			t.Error("not noticed")
		})
	}
}
