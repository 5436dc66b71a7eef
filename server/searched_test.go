package server_test

import (
	"bytes"
	"testing"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/test/cachetest"
	"github.com/remora-kv/remora/test/scale"
)

// searches are the paths on which clients find items by themselves.
var searches = []remora.Path{
	remora.PathPilaf, remora.PathFarm, remora.PathFarmVar, remora.PathOneSided, remora.PathOneSidedFAA,
}

// eachSearch runs a test for every such path, on every fabric.
func eachSearch(t *testing.T, f func(t *testing.T, r *rig, path remora.Path, cfg server.Config)) {
	for _, path := range searches {
		t.Run(string(path), func(t *testing.T) {
			eachSeen(t, func(t *testing.T, r *rig) {
				cfg := r.config()
				if cfg.Engine = server.Engine(string(path)); cfg.Engine == "" {
					t.Fatal("no engine has it")
				}
				f(t, r, path, cfg)
			})
		})
	}
}

// Clients that search get the same outcomes as clients that ask.
func TestSameOutcomesOfSearches(t *testing.T) {
	seed := scale.Seed(t)
	program := cachetest.Program(seed, scale.Times(160), 500)
	for i := range program { // slots take no longer ones
		program[i].Call.Key = program[i].Call.Key[:min(len(program[i].Call.Key), 100)]
	}
	asked, err := cachetest.Renumber(program, way{fabrics[0], "mica", "cache", remora.PathRFP, "session"}.run(t, program))
	if err != nil {
		t.Fatal(err)
	}
	eachSearch(t, func(t *testing.T, r *rig, path remora.Path, cfg server.Config) {
		for _, how := range []string{"client", "session", "batches", "window"} {
			w := way{r.fabric, cfg.Engine, "cache", path, how}
			got, err := cachetest.Renumber(program, w.run(t, program, nil))
			if err != nil {
				t.Fatal(err)
			}
			if d := cachetest.Difference(asked, got); d != "" {
				t.Errorf("%s, seed %d: %s", how, seed, d)
			}
		}
	})
}

// On pilaf changes travel by SEND, and gets by READ; what is too long for a SEND by rfp.
func TestPilafSendsChanges(t *testing.T) {
	eachSeen(t, func(t *testing.T, r *rig) {
		cfg := r.config()
		cfg.Engine, cfg.Cores = server.Engine(string(remora.PathPilaf)), 1
		r.start(cfg)
		ctx := testContext(t)
		client := r.dial(remora.WithPath(remora.PathPilaf))
		for name, c := range map[string]interface {
			operations
			Counters() remora.Counters
		}{"client": client, "session": session(t, client)} {
			before := c.Counters()
			const n = 20
			for i := range n {
				value := bytes.Repeat([]byte{byte(i)}, 30+i)
				if _, err := c.Put(ctx, "k", remora.Entry{Value: value}, remora.Always()); err != nil {
					t.Fatal(err)
				}
				if item, err := c.GetItem(ctx, "k"); err != nil || !bytes.Equal(item.Value, value) {
					t.Fatalf("%s: %q, %v", name, item.Value, err)
				}
			}
			if err := c.Delete(ctx, "k"); err != nil {
				t.Fatal(err)
			}
			now := c.Counters()
			sends, writes := now.Verbs.Out[fabric.OpSend]-before.Verbs.Out[fabric.OpSend], now.Verbs.Out[fabric.OpWrite]-before.Verbs.Out[fabric.OpWrite]
			if sends < n+1 || writes != 0 || now.OneSidedHits-before.OneSidedHits != n {
				t.Errorf("%s: %d SENDs and %d WRITEs for %d changes, %d of %d gets by READs", name, sends, writes, n+1, now.OneSidedHits-before.OneSidedHits, n)
			}
			long := bytes.Repeat([]byte("long "), 5000)
			for range 3 {
				if _, err := c.Put(ctx, "k", remora.Entry{Value: long}, remora.Always()); err != nil {
					t.Fatal(err)
				}
				if item, err := c.GetItem(ctx, "k"); err != nil || !bytes.Equal(item.Value, long) {
					t.Fatalf("%s: %d bytes, %v", name, len(item.Value), err)
				}
			}
		}
	})
}

// What travels by three ways, short changes, long ones and gets, keeps its order.
func TestSameOutcomesOfPilafWithLongValues(t *testing.T) {
	seed := scale.Seed(t)
	program := cachetest.Program(seed, scale.Times(300), 1<<14)
	asked, err := cachetest.Renumber(program, way{fabrics[0], "mica", "cache", remora.PathRFP, "session"}.run(t, program))
	if err != nil {
		t.Fatal(err)
	}
	eachSeen(t, func(t *testing.T, r *rig) {
		for _, how := range []string{"client", "session", "window"} {
			got, err := cachetest.Renumber(program, way{r.fabric, "cuckoo", "cache", remora.PathPilaf, how}.run(t, program, nil))
			if err != nil {
				t.Fatal(err)
			}
			if d := cachetest.Difference(asked, got); d != "" {
				t.Errorf("%s, seed %d: %s", how, seed, d)
			}
		}
	})
}

// Those who search see one order with all others.
func TestHistoryOfSearches(t *testing.T) {
	eachSearch(t, func(t *testing.T, r *rig, path remora.Path, cfg server.Config) {
		r.start(cfg)
		c := newCrowd(t, 3, scale.Times(150))
		shared := r.dial(append(patient(), remora.WithPath(path))...)
		c.join(shared)
		c.join(shared)
		c.join(sessionPatiently(t, shared))
		c.joinAhead(sessionPatiently(t, shared, remora.WithWindow(8)), 5)
		c.join(r.dial(patient()...))
		c.start()
		c.check(r.dial)
	})
}

// Values change as fast as possible while clients search for them.
func TestHammerSearches(t *testing.T) {
	eachSearch(t, func(_ *testing.T, r *rig, path remora.Path, cfg server.Config) {
		r.hammer(cfg, remora.WithPath(path))
	})
}
