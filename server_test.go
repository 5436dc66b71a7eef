package remora_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/slots"
)

// start starts a real server at the rig's address.
func (r *rig) start(cfg server.Config) *server.Server {
	r.t.Helper()
	cfg.Listen, cfg.Providers = []string{r.addr.String()}, r.set
	if cfg.Memory == 0 {
		cfg.Memory = 64 << 20
	}
	s, err := server.Start(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = s.Close() })
	r.addr = s.Addrs()[0]
	return s
}

func TestServerOperations(t *testing.T) {
	for _, name := range fabrics {
		for _, engine := range server.Engines() {
			t.Run(name+"/"+engine, func(t *testing.T) {
				r := newRig(t, name)
				r.start(server.Config{Cores: 2, Engine: engine, MaxValue: 100_000, Version: "v0"})
				c, ctx := r.dial(), testContext(t)
				for i, o := range []ops{c, session(t, c), session(t, c, remora.WithBatch(8))} {
					testServerKey(t, o, fmt.Sprint("key ", i))
					testServerKey(t, o, "")
					value := bytes.Repeat([]byte{byte(i)}, largest(engine))
					if _, err := o.Set(ctx, "large", value, 0); err != nil {
						t.Fatal(err)
					}
					if got, err := o.Get(ctx, "large"); err != nil || !bytes.Equal(got, value) {
						t.Errorf("a large value: %d bytes, %v", len(got), err)
					}
				}
				testServerInfo(t, c, engine)
			})
		}
	}
}

// largest is the length of a value that an engine takes.
func largest(engine string) int {
	if engine == "slots" {
		return slots.MaxValue
	}
	return 100_000
}

// testServerKey does everything with a key, and lets it expire.
func testServerKey(t *testing.T, o ops, key string) {
	t.Helper()
	ctx := testContext(t)
	_, err := o.Get(ctx, key)
	want(t, "Get of nothing", err, remora.ErrNotFound)
	want(t, "Delete of nothing", o.Delete(ctx, key), remora.ErrNotFound)
	v1, err := o.Add(ctx, key, []byte("1"), 0)
	want(t, "Add", err, nil)
	_, err = o.Add(ctx, key, nil, 0)
	want(t, "second Add", err, remora.ErrExists)
	_, err = o.CAS(ctx, key, remora.Item{Version: v1 + 1}, nil, 0)
	want(t, "CAS of another version", err, remora.ErrChanged)
	v2, err := o.CAS(ctx, key, remora.Item{Version: v1, Flags: 9}, []byte("41"), time.Hour)
	want(t, "CAS", err, nil)
	if sum, err := o.Incr(ctx, key, 1); err != nil || sum != 42 {
		t.Errorf("Incr: %d, %v", sum, err)
	}
	want(t, "DeleteVersion of an old one", o.DeleteVersion(ctx, key, v2), remora.ErrChanged)
	item, err := o.GetItem(ctx, key)
	if err != nil || string(item.Value) != "42" || item.TTL <= 0 || item.TTL > time.Hour || item.Flags != 9 || item.Version <= v2 {
		t.Errorf("GetItem: %+v, %v", item, err)
	}
	_, err = o.Put(ctx, key, remora.Entry{Value: []byte("word"), Flags: 7}, remora.IfPresent())
	want(t, "Put", err, nil)
	_, err = o.Incr(ctx, key, 1)
	want(t, "Incr of a word", err, remora.ErrNotNumber)
	want(t, "Touch", o.Touch(ctx, key, time.Nanosecond), nil)
	await(t, "the item to expire", func() bool {
		_, err := o.Get(ctx, key)
		return errors.Is(err, remora.ErrNotFound)
	})
}

func testServerInfo(t *testing.T, c *remora.Client, engine string) {
	t.Helper()
	info := c.Info()
	if info.Cores != 2 || info.Engine != engine || info.MaxValue != 100_000 || info.Version != "v0" || info.Mode != "cache" {
		t.Errorf("%+v", info)
	}
	docs, err := c.Stats(testContext(t))
	if err != nil || len(docs) != 2 {
		t.Fatalf("stats: %s, %v", docs, err)
	}
	puts := uint64(0)
	for core, doc := range docs {
		var s server.Stats
		if err := json.Unmarshal(doc, &s); err != nil || s.Core != core {
			t.Errorf("stats of core %d: %s, %v", core, doc, err)
		}
		puts += s.Ops["put"]
	}
	if puts == 0 {
		t.Errorf("the stats tell of no put: %s", docs)
	}
}

// A store that is full says so, and keeps what it has.
func TestServerFull(t *testing.T) {
	r := newRig(t, "loop")
	r.start(server.Config{Memory: store.MinMemory, Mode: store.Store})
	c, ctx := r.dial(), testContext(t)
	n := 0
	var err error
	for ; err == nil; n++ {
		_, err = c.Set(ctx, fmt.Sprint(n), make([]byte, 500), 0)
	}
	want(t, "Set", err, remora.ErrOutOfMemory)
	for i := range n - 1 {
		if _, err := c.Get(ctx, fmt.Sprint(i)); err != nil {
			t.Fatalf("item %d of %d: %v", i, n-1, err)
		}
	}
}

// Servers that drain and come back lose nobody's operation, and nobody is left in
// doubt about one.
func TestServerDrain(t *testing.T) {
	r := newRig(t, "loop")
	s := r.start(server.Config{Cores: 2})
	c, ctx := r.dial(quick...), testContext(t)
	var done atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for w := range 6 {
		o := ops(c)
		if w == 0 {
			o = session(t, c)
		}
		wg.Go(func() {
			for i := 0; !stop.Load(); i++ {
				key := fmt.Sprint(w, "/", i)
				if _, err := o.Set(ctx, key, []byte(key), 0); err != nil {
					t.Errorf("Set: %v", err)
					return
				}
				if value, err := o.Get(ctx, key); err != nil && !errors.Is(err, remora.ErrNotFound) || err == nil && string(value) != key {
					t.Errorf("Get: %q, %v", value, err)
					return
				}
				done.Add(1)
			}
		})
	}
	for i := range 3 {
		before := done.Load()
		await(t, "work", func() bool { return done.Load() > before+50 || t.Failed() })
		if err := s.Drain(ctx); err != nil {
			t.Error(err)
		}
		s = r.start(server.Config{Cores: 1 + i})
	}
	before := done.Load()
	await(t, "work", func() bool { return done.Load() > before+50 || t.Failed() })
	stop.Store(true)
	wg.Wait()
}
