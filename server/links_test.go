package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric/faults"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/test/cachetest"
	"github.com/remora-kv/remora/test/scale"
)

// eachSeen runs a test on every fabric on which clients read the memory of a server. The
// race detector takes offence at that where it sees both: what is read meanwhile is
// judged by its checksum.
func eachSeen(t *testing.T, f func(t *testing.T, r *rig)) {
	if scale.Race {
		t.Run(provider.Shm, func(t *testing.T) { f(t, newRig(t, provider.Shm)) })
		return
	}
	eachFabric(t, f)
}

// linked is a configuration with links.
func (r *rig) linked() server.Config {
	cfg := r.config()
	cfg.Links = true
	return cfg
}

// An item that was got is read where it is, until it is another one.
func TestLinks(t *testing.T) {
	eachSeen(t, func(t *testing.T, r *rig) {
		cfg, clock := stopped(r.linked())
		r.start(cfg)
		ctx := testContext(t)
		client := dialOn(t, r.url, clock.Device(r.device()), remora.WithLinks(100))
		if !client.Info().Links {
			t.Error("the server says that it has no links")
		}
		s := session(t, client)
		for name, c := range map[string]interface {
			operations
			Counters() remora.Counters
		}{"client": client, "session": s} {
			seen := func() uint64 { return c.Counters().OneSidedHits }
			get := func(key, want string, direct bool) {
				t.Helper()
				before := seen()
				item, err := c.GetItem(ctx, key)
				if want == "" && !errors.Is(err, remora.ErrNotFound) || want != "" && (err != nil || string(item.Value) != want) {
					t.Errorf("%s: %s is %q, %v; it should be %q", name, key, item.Value, err, want)
				}
				if got := seen() != before; got != direct {
					t.Errorf("%s: %s: seen %v", name, key, got)
				}
			}
			set := func(key, value string, ttl time.Duration) {
				t.Helper()
				if _, err := c.Put(ctx, key, remora.Entry{Value: []byte(value), Flags: 5, TTL: ttl}, remora.Always()); err != nil {
					t.Fatal(err)
				}
			}
			other := r.dial()
			set("a", "one", 0)
			get("a", "one", false)
			get("a", "one", true)
			get("a", "one", true)
			set("a", "two", 0) // in place
			get("a", "two", true)
			set("a", "two, and longer than that", 0) // elsewhere
			get("a", "two, and longer than that", false)
			get("a", "two, and longer than that", true)
			if _, err := other.Set(ctx, "a", []byte("three of another length, and of another client"), 0); err != nil {
				t.Fatal(err)
			}
			get("a", "three of another length, and of another client", false)
			get("a", "three of another length, and of another client", true)
			if err := other.Delete(ctx, "a"); err != nil {
				t.Fatal(err)
			}
			get("a", "", false)
			get("a", "", false)

			set("b", "for a while", 10*time.Second)
			get("b", "for a while", false)
			item, err := c.GetItem(ctx, "b")
			if err != nil || item.Flags != 5 || item.TTL <= 0 || item.TTL > 10*time.Second {
				t.Errorf("%s: %+v, %v", name, item, err)
			}
			advance(t, clock, client, 11*time.Second)
			get("b", "", false)
			if err := other.Delete(ctx, "b"); !errors.Is(err, remora.ErrNotFound) {
				t.Error(err)
			}
		}
	})
}

// The memory of a server is that of its first address. A client of another one is served
// without links, though they were asked for; so are sessions.
func TestLinksThatCannotBeHad(t *testing.T) {
	for _, name := range []string{provider.Shm, provider.TCP} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name)
			other := map[string]string{provider.Shm: provider.TCP, provider.TCP: provider.Shm}[name]
			cfg := r.linked()
			cfg.Listen = []string{listenURL(t, other), cfg.Listen[0]}
			r.url = r.start(cfg).Addrs()[1].String()
			c := r.dial(remora.WithLinks(10))
			if c.Info().Links {
				t.Error("there are no links here, and the client does not know")
			}
			unseen(t, c)
		})
	}
}

// unseen gets items through a client, and a session of it, that cannot read them.
func unseen(t *testing.T, c *remora.Client) {
	t.Helper()
	ctx := testContext(t)
	s := session(t, c)
	for name, o := range map[string]operations{"client": c, "session": s} {
		if _, err := o.Put(ctx, "k", remora.Entry{Value: []byte("v")}, remora.Always()); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if item, err := o.GetItem(ctx, "k"); err != nil || string(item.Value) != "v" {
				t.Fatalf("%s: %q, %v", name, item.Value, err)
			}
		}
	}
	if n := c.Counters().OneSidedHits + s.Counters().OneSidedHits; n != 0 {
		t.Errorf("%d items were read where they are not", n)
	}
	_, l, err := c.GetLink(ctx, "k")
	if err == nil {
		_, err = c.Follow(ctx, l)
	}
	if !errors.Is(err, remora.ErrUnsupported) {
		t.Errorf("a link was followed: %v", err)
	}
}

// A long put waits for gets by links that were started before it, also while the server is asked
// for the first of them: results are in the order of the operations.
func TestLongPutBehindLinksThatLeadNowhere(t *testing.T) {
	eachSeen(t, func(t *testing.T, r *rig) {
		cfg := r.linked()
		cfg.Cores = 1
		r.start(cfg)
		ctx := testContext(t)
		s, other := session(t, r.dial(remora.WithLinks(100)), remora.WithWindow(4)), r.dial()
		long := bytes.Repeat([]byte("long "), 4000)
		for round := range 20 {
			for _, key := range []string{"a", "b"} {
				value := fmt.Sprintf("%s of round %d", key, round)
				if _, err := other.Set(ctx, key, []byte(value), 0); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if v, err := s.Get(ctx, key); err != nil || string(v) != value {
						t.Fatalf("%q, %v", v, err)
					}
				}
				if _, err := other.Set(ctx, key, []byte(value+", changed"), 0); err != nil {
					t.Fatal(err)
				}
			}
			for i, key := range []string{"a", "b"} {
				if err := s.StartGet(uint64(i), key); err != nil {
					t.Fatal(err)
				}
			}
			results := map[uint64]string{}
			note := func(res remora.Result) {
				if res.Err != nil {
					t.Fatal(res.Err)
				}
				results[res.Tag] = string(res.Item.Value)
			}
			for started := false; len(results) < 3; {
				if !started {
					if res, ok := s.Poll(); ok { // asks for the first, which is mostly not there yet
						note(res)
					}
					err := s.StartPut(2, "c", remora.Entry{Value: long}, remora.Always())
					if err != nil && !errors.Is(err, remora.ErrWindowFull) {
						t.Fatal(err)
					}
					if started = err == nil; started {
						continue
					}
				}
				res, err := s.Next(ctx)
				if err != nil {
					t.Fatal(err)
				}
				note(res)
			}
			for i, key := range []string{"a", "b"} {
				if want := fmt.Sprintf("%s of round %d, changed", key, round); results[uint64(i)] != want {
					t.Fatalf("get of %s: %.40q, want %q", key, results[uint64(i)], want)
				}
			}
		}
	})
}

// While the server is being asked, a get whose item could be read waits for nobody: it is
// asked for, too.
func TestLinksDoNotHoldUpABatch(t *testing.T) {
	eachSeen(t, func(t *testing.T, r *rig) {
		cfg := r.linked()
		cfg.Cores = 1
		r.start(cfg)
		ctx := testContext(t)
		s := session(t, r.dial(remora.WithLinks(100)), remora.WithBatch(4))
		if _, err := s.Set(ctx, "k", []byte("v"), 0); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := s.Get(ctx, "k"); err != nil {
				t.Fatal(err)
			}
		}
		before := s.Counters().OneSidedHits
		if before == 0 {
			t.Fatal("no link was followed")
		}
		if err := s.StartPut(1, "other", remora.Entry{Value: []byte("x")}, remora.Always()); err != nil {
			t.Fatal(err)
		}
		for tag := range uint64(3) {
			if err := s.StartGet(2+tag, "k"); err != nil {
				t.Fatalf("get %d behind a put: %v", tag, err)
			}
		}
		for tag := range uint64(4) {
			res, err := s.Next(ctx)
			if err != nil || res.Err != nil || res.Tag != 1+tag || tag > 0 && string(res.Item.Value) != "v" {
				t.Errorf("result %d: %+v, %v", tag, res, err)
			}
		}
		if after := s.Counters().OneSidedHits; after != before {
			t.Errorf("%d links were followed in the batch", after-before)
		}
	})
}

// A client that was told nothing about links follows them on shared memory when operations
// come one by one, and not when several are on their way.
func TestLinksAuto(t *testing.T) {
	eachSeen(t, func(t *testing.T, r *rig) {
		cfg := r.linked()
		cfg.Cores = 1
		r.start(cfg)
		ctx := testContext(t)
		client, writer := r.dial(), r.dial()
		one, batches, off := session(t, client), session(t, client, remora.WithBatch(4)), session(t, client, remora.WithLinks(0))
		set := func(i, n int) {
			t.Helper()
			if _, err := writer.Set(ctx, fmt.Sprint("key ", i), fmt.Appendf(nil, "%d of %d", n, i), 0); err != nil {
				t.Fatal(err)
			}
		}
		const keys = 5
		for i := range keys {
			set(i, 0)
		}
		for name, c := range map[string]interface {
			operations
			Counters() remora.Counters
		}{"client": client, "one": one, "batches": batches, "off": off} {
			get := func(i, n int) {
				t.Helper()
				if item, err := c.GetItem(ctx, fmt.Sprint("key ", i)); err != nil || string(item.Value) != fmt.Sprintf("%d of %d", n, i) {
					t.Fatalf("%s: %q, %v", name, item.Value, err)
				}
			}
			const gets = 300
			for n := range gets {
				get(n%keys, 0)
			}
			set(3, 1)
			get(3, 1)
			set(3, 0)
			get(3, 0)
			if seen, want := c.Counters().OneSidedHits, r.fabric == provider.Shm && (name == "client" || name == "one"); (seen > gets/2) != want || !want && seen != 0 {
				t.Errorf("%s: %d gets of %d by links", name, seen, gets)
			}
		}
		before := one.Counters().OneSidedHits
		ahead(t, one, 300, 4, func(n int) string { return fmt.Sprint("key ", n%keys) },
			func(n int) string { return fmt.Sprintf("0 of %d", n%keys) })
		if n := one.Counters().OneSidedHits - before; n > 100 {
			t.Errorf("%d gets of 300 by links, when several were on their way", n)
		}
	})
}

// A client whose link policy follows links, and that cannot any more, goes on without, and loses nothing.
func TestPolicyLosesLinks(t *testing.T) {
	for how, faulty := range map[string]string{
		"read": "rc.break=access@qp=1,op=100; rc.break=access@qp=3,op=60", "lost": "rc.break=lost@qp=1,op=50; rc.break=lost@qp=3,op=50",
		"dial": "dial.refuse@op=1; dial.refuse@op=3",
	} {
		t.Run(how, func(t *testing.T) {
			r := newRig(t, provider.Shm)
			cfg := r.linked()
			cfg.Cores = 1
			r.start(cfg)
			plan, err := faults.ParsePlan(faulty)
			if err != nil {
				t.Fatal(err)
			}
			ctx := testContext(t)
			client := dialOn(t, r.url, faults.Wrap(r.device(), plan))
			s := session(t, client) // its queue pairs are 2 and 3
			for name, c := range map[string]interface {
				operations
				Counters() remora.Counters
				Follow(ctx context.Context, l remora.Link) (remora.Item, error)
			}{"client": client, "session": s} {
				if _, err := c.Put(ctx, "k", remora.Entry{Value: []byte("v")}, remora.Always()); err != nil {
					t.Fatal(err)
				}
				for n := range 500 {
					if item, err := c.GetItem(ctx, "k"); err != nil || string(item.Value) != "v" {
						t.Fatalf("%s: get %d: %q, %v", name, n, item.Value, err)
					}
				}
				// Links of programs lead nowhere then, and that is no loss either.
				_, l, err := client.GetLink(ctx, "k")
				if err != nil || l.IsZero() {
					t.Fatal(l, err)
				}
				if item, err := c.Follow(ctx, l); !errors.Is(err, remora.ErrUnsupported) {
					t.Errorf("%s: followed %q, %v", name, item.Value, err)
				}
				if n := c.Counters(); n.Reconnects != 0 || n.OneSidedHits > 150 || (n.OneSidedHits < 20) != (how == "dial") {
					t.Errorf("%s: %+v", name, n)
				}
			}
		})
	}
}

// ahead starts gets with so many on their way, and checks that they come in order.
func ahead(t *testing.T, s *remora.Session, gets, window int, key, value func(n int) string) {
	t.Helper()
	ctx := testContext(t)
	taken := 0
	take := func() {
		t.Helper()
		r, err := s.Next(ctx)
		if err != nil || r.Err != nil || r.Tag != uint64(taken) || string(r.Item.Value) != value(taken) {
			t.Fatalf("%v, %v: result %d is that of %d, %q", err, r.Err, taken, r.Tag, r.Item.Value)
		}
		taken++
	}
	for n := range gets {
		for s.Pending() >= window {
			take()
		}
		err := s.StartGet(uint64(n), key(n))
		for errors.Is(err, remora.ErrWindowFull) {
			take()
			err = s.StartGet(uint64(n), key(n))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for taken < gets {
		take()
	}
}

// A link that a program keeps leads to the item, or says that it is another.
func TestFollow(t *testing.T) {
	eachSeen(t, func(t *testing.T, r *rig) {
		cfg, clock := stopped(r.linked())
		r.start(cfg)
		ctx := testContext(t)
		dev := clock.Device(r.device())
		client := dialOn(t, r.url, dev, remora.WithLinks(1))
		type follower interface {
			Follow(ctx context.Context, l remora.Link) (remora.Item, error)
		}
		link := func(key, value string, ttl time.Duration) remora.Link {
			t.Helper()
			if _, err := client.Set(ctx, key, []byte(value), ttl); err != nil {
				t.Fatal(err)
			}
			item, l, err := client.GetLink(ctx, key)
			if err != nil || string(item.Value) != value || l.IsZero() || l.Key() != key {
				t.Fatalf("%+v, %+v, %v", item, l, err)
			}
			return l
		}
		for name, c := range map[string]follower{"client": client, "session": session(t, client)} {
			a := link("a", "one", 0)
			b := link("b", "two", 10*time.Second)
			for range 3 {
				if item, err := c.Follow(ctx, a); err != nil || string(item.Value) != "one" {
					t.Errorf("%s: %+v, %v", name, item, err)
				}
			}
			if item, err := c.Follow(ctx, b); err != nil || string(item.Value) != "two" || item.TTL <= 0 {
				t.Errorf("%s: %+v, %v", name, item, err)
			}
			advance(t, clock, client, 11*time.Second)
			if item, err := c.Follow(ctx, b); !errors.Is(err, remora.ErrChanged) {
				t.Errorf("%s: expired, and %+v, %v", name, item, err)
			}
			next := link("a", "six", 0)
			if item, err := c.Follow(ctx, a); !errors.Is(err, remora.ErrChanged) {
				t.Errorf("%s: changed, and %+v, %v", name, item, err)
			}
			if item, err := c.Follow(ctx, next); err != nil || string(item.Value) != "six" {
				t.Errorf("%s: %+v, %v", name, item, err)
			}
			if err := client.Delete(ctx, "a"); err != nil {
				t.Fatal(err)
			}
			if item, err := c.Follow(ctx, next); !errors.Is(err, remora.ErrChanged) {
				t.Errorf("%s: deleted, and %+v, %v", name, item, err)
			}
			if _, err := c.Follow(ctx, remora.Link{}); !errors.Is(err, remora.ErrInvalid) {
				t.Errorf("%s: nowhere: %v", name, err)
			}
		}
		l := link("c", "three", 0)
		if _, err := r.dial(remora.WithLinks(0)).Follow(ctx, l); !errors.Is(err, remora.ErrUnsupported) {
			t.Errorf("without links: %v", err)
		}
		if _, _, err := client.GetLink(ctx, "nothing"); !errors.Is(err, remora.ErrNotFound) {
			t.Errorf("of nothing: %v", err)
		}
		large := bytes.Repeat([]byte("large "), 10_000)
		if _, err := client.Set(ctx, "large", large, 0); err != nil {
			t.Fatal(err)
		}
		if item, l, err := client.GetLink(ctx, "large"); err != nil || !l.IsZero() || !bytes.Equal(item.Value, large) {
			t.Errorf("of a large item: %d bytes, %+v, %v", len(item.Value), l, err)
		}
		other := newRig(t, r.fabric)
		other.start(other.linked())
		if _, err := other.dial(remora.WithLinks(1)).Follow(ctx, l); !errors.Is(err, remora.ErrChanged) {
			t.Errorf("of another server: %v", err)
		}
	})
}

// An evicted item is not found by its link, whatever has taken its memory.
func TestLinksOfEvicted(t *testing.T) {
	eachSeen(t, func(t *testing.T, r *rig) {
		cfg := r.linked()
		keys := 3000
		if r.fabric == provider.TCP {
			keys = 1500 // both ends are in one process, and spin
		}
		cfg.Cores, cfg.Memory = 1, int64(keys)<<6
		r.start(cfg)
		ctx := testContext(t)
		c := session(t, r.dial(remora.WithLinks(10_000)))
		value := func(i, round int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%d of %d,", i, round), 10) }
		rounds := scale.Times(3)
		hits := 0
		for round := range rounds {
			for i := range keys {
				key := fmt.Sprint("key ", i)
				if _, err := c.Set(ctx, key, value(i, round), 0); err != nil {
					t.Fatal(err)
				}
				old := rand.IntN(keys)
				got, err := c.Get(ctx, fmt.Sprint("key ", old))
				switch {
				case errors.Is(err, remora.ErrNotFound):
				case err != nil:
					t.Fatal(err)
				case old > i && round > 0 && bytes.Equal(got, value(old, round-1)), old <= i && bytes.Equal(got, value(old, round)):
					hits++
				default:
					t.Fatalf("round %d, key %d: key %d is %q", round, i, old, got[:20])
				}
			}
		}
		if n := c.Counters(); hits == 0 || n.OneSidedHits == 0 || n.OneSidedReads == n.OneSidedHits {
			t.Errorf("%d hits, %d of %d by links", hits, n.OneSidedHits, n.OneSidedReads)
		}
	})
}

// What is read by links, a few times in each turn of the log, is kept while others come
// and go: also where all items are of one size, so that those that are spared stay where
// they are and their links stay good.
func TestLinksKeepWhatIsRead(t *testing.T) {
	for _, policy := range []remora.Recency{remora.RecencyBatched, remora.RecencyAtomic, remora.RecencyNone} {
		t.Run(string(policy), func(t *testing.T) {
			r := newRig(t, provider.Shm)
			cfg := r.linked()
			cfg.Cores, cfg.Memory = 1, 1<<17
			r.start(cfg)
			ctx := testContext(t)
			c := session(t, r.dial(remora.WithLinks(10_000), remora.WithRecency(policy)))
			value := make([]byte, 100)
			set := func(key string) {
				if _, err := c.Set(ctx, key, value, 0); err != nil {
					t.Fatal(err)
				}
			}
			has := func(key string) bool {
				_, err := c.Get(ctx, key)
				if err != nil && !errors.Is(err, remora.ErrNotFound) {
					t.Fatal(err)
				}
				return err == nil
			}
			const hot, turns, items = 20, 6, 900 // as many as fit, about
			for i := range hot {
				set(fmt.Sprintf("hot %4d", i))
			}
			lost := 0
			for i := range turns * items {
				if fresh := fmt.Sprintf("new %4d", i); !has(fresh) {
					set(fresh)
				}
				if key := fmt.Sprintf("hot %4d", i/4%hot); i%4 == 0 && !has(key) {
					lost++
					set(key)
				}
			}
			switch n := c.Counters(); {
			case policy != remora.RecencyNone && lost > hot/2: // of what is told in batches some comes too late
				t.Errorf("items that were read were lost %d times", lost)
			case policy == remora.RecencyNone && lost <= hot:
				t.Errorf("nobody has told, and only %d were lost: this proves nothing of the others", lost)
			case n.OneSidedHits < turns*items/8:
				t.Errorf("only %d were read by links", n.OneSidedHits)
			}
		})
	}
}

// Those who follow links see one order with all others.
func TestHistoryOfLinks(t *testing.T) {
	eachSeen(t, func(t *testing.T, r *rig) {
		r.start(r.linked())
		c := newCrowd(t, 3, scale.Times(150))
		links := func(opts ...remora.Option) *remora.Client {
			return r.dial(append(append(patient(), remora.WithLinks(8)), opts...)...)
		}
		shared, reply := links(), links(remora.WithPath(remora.PathReply))
		c.join(shared)
		c.join(shared)
		c.join(sessionPatiently(t, shared))
		c.joinAhead(sessionPatiently(t, reply, remora.WithWindow(8)), 5)
		c.joinAhead(sessionPatiently(t, shared, remora.WithWindow(4), remora.WithBatch(4)), 8)
		c.join(r.dial(patient()...))
		c.start()
		c.check(r.dial)
	})
}

// The same operations have the same outcomes with links as without.
func TestSameOutcomesOfLinks(t *testing.T) {
	seed := scale.Seed(t)
	program := cachetest.Program(seed, scale.Times(160), 1<<16)
	want, err := cachetest.Renumber(program, way{fabrics[0], "mica", "cache", remora.PathRFP, "session"}.run(t, program))
	if err != nil {
		t.Fatal(err)
	}
	eachSeen(t, func(t *testing.T, r *rig) {
		for _, how := range []string{"client", "session", "batches", "window"} {
			w := way{r.fabric, "mica", "cache", remora.PathRFP, how}
			got, err := cachetest.Renumber(program, w.run(t, program, remora.WithLinks(16)))
			if err != nil {
				t.Fatal(err)
			}
			if d := cachetest.Difference(want, got); d != "" {
				t.Errorf("%s, seed %d: %s", how, seed, d)
			}
		}
	})
}

// Values that say what they are change as fast as possible, and clients that read them by links
// sees none that is older than what was there before, and none of another key.
func TestHammerLinks(t *testing.T) {
	eachSeen(t, func(t *testing.T, r *rig) {
		r.hammer(r.linked(), remora.WithLinks(16))
	})
}

// The same for clients whose link policy follows links.
func TestHammerPolicy(t *testing.T) {
	r := newRig(t, provider.Shm)
	r.hammer(r.linked())
}

// hammer has readers with these options read values that a writer changes.
func (r *rig) hammer(cfg server.Config, opts ...remora.Option) {
	t, _ := r.t.(*testing.T)
	const hot, readers = 4, 2
	cfg.Cores = 1
	r.start(cfg)
	ctx, stop := context.WithCancel(testContext(t))
	var current [hot]atomic.Uint64
	var writers, all sync.WaitGroup
	defer writers.Wait()
	defer stop()
	writer := session(t, r.dial())
	var sessions [readers]*remora.Session
	for i := range sessions { // before anything keeps the server busy
		sessions[i] = session(t, r.dial(opts...))
	}
	put := func(i int, n uint64) error {
		_, err := writer.Set(ctx, fmt.Sprint("key ", i), told(i, n), 0)
		return err
	}
	for i := range hot {
		if err := put(i, 1); err != nil {
			t.Fatal(err)
		}
		current[i].Store(1)
	}
	writers.Go(func() {
		for n := uint64(2); ctx.Err() == nil; n++ {
			i := rand.IntN(hot)
			if err := put(i, n); err != nil {
				if ctx.Err() == nil {
					t.Error(err)
				}
				return
			}
			current[i].Store(n)
		}
	})
	reads := scale.Times(8_000)
	if r.fabric == provider.TCP {
		reads /= 10 // both ends are in one process, and spin
	}
	var seen atomic.Uint64
	for _, s := range sessions {
		all.Go(func() {
			for range reads {
				i := rand.IntN(hot)
				before := current[i].Load()
				got, err := s.Get(ctx, fmt.Sprint("key ", i))
				if err != nil {
					t.Error(err)
					return
				}
				var key int
				var n uint64
				if _, err := fmt.Sscanf(string(got), "%d:%d;", &key, &n); err != nil || key != i || n < before || !bytes.Equal(got, told(i, n)) {
					t.Errorf("key %d, after %d: %q", i, before, got)
					return
				}
			}
			seen.Add(s.Counters().OneSidedHits)
		})
	}
	all.Wait()
	stop()
	writers.Wait()
	if seen.Load() == 0 {
		t.Error("nothing was read without the server")
	}
	t.Logf("%d reads without the server", seen.Load())
}

// told is a value that tells its key and its number. It is of several lengths, so that
// items are overwritten and moved.
func told(key int, n uint64) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%d:%020d;", key, n), 1+int(n%3))
}
