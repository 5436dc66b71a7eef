package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/store"
)

// Keys and values of any length up to the limit come back as they were, and what
// is one byte longer is refused and changes nothing.
func TestLengths(t *testing.T) {
	eachServer(t, func(t *testing.T, r *rig, cfg server.Config) {
		const most = 1 << 17
		cfg.Memory = 32 << 20
		r.start(cfg)
		c, ctx := r.dial(), testContext(t)
		longest := strings.Repeat("k", store.MaxKey)
		for name, o := range map[string]operations{"client": c, "session": session(t, c)} {
			for _, key := range []string{"", name, "\x00", longest} {
				for _, n := range []int{0, 1, 2000, 2047, 2048, 2049, 8191, 8192, 8193, 65_535, 65_536, most - 1, most} {
					value := []byte(strings.Repeat(fmt.Sprint(n, " "), n/2+1)[:n])
					version, err := o.Put(ctx, key, remora.Entry{Value: value, Flags: uint32(n)}, remora.Always())
					if err != nil {
						t.Fatalf("%s: a key of %d and a value of %d bytes: %v", name, len(key), n, err)
					}
					item, err := o.GetItem(ctx, key)
					if err != nil || !bytes.Equal(item.Value, value) || item.Flags != uint32(n) || item.Version != version {
						t.Fatalf("%s: a key of %d and a value of %d bytes: %d bytes come back, %v", name, len(key), n, len(item.Value), err)
					}
				}
				if _, err := o.Put(ctx, key, remora.Entry{Value: make([]byte, most+1)}, remora.Always()); !errors.Is(err, remora.ErrTooLarge) {
					t.Errorf("%s: a value of one byte too many: %v", name, err)
				}
				if item, err := o.GetItem(ctx, key); err != nil || len(item.Value) != most {
					t.Errorf("%s: %d bytes after a value that was too large, %v", name, len(item.Value), err)
				}
			}
			if _, err := o.Put(ctx, longest+"k", remora.Entry{}, remora.Always()); !errors.Is(err, remora.ErrTooLarge) {
				t.Errorf("%s: a key of one byte too many: %v", name, err)
			}
			if _, err := o.GetItem(ctx, longest+"k"); !errors.Is(err, remora.ErrTooLarge) {
				t.Errorf("%s: a get of a key of one byte too many: %v", name, err)
			}
		}
	})
}

// The server knows its limits without the client's help.
func TestLengthsOfARawClient(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		cfg := r.config()
		cfg.Cores, cfg.MaxValue = 1, 3000
		r.start(cfg)
		c, conn := r.dial(), r.raw(0)
		version := mustSet(t, c, "k", "as it was", 0)
		for n, want := range map[int]command.Status{2999: command.OK, 3000: command.OK, 3001: command.TooLarge, 60_000: command.TooLarge} {
			put := command.AppendPut(nil, fmt.Sprint(n), make([]byte, n), &command.Store{})
			if got := askStatus(t, conn, command.Put, put); got != want {
				t.Errorf("a value of %d bytes: %v", n, got)
			}
			replaced := command.AppendPut(nil, "k", make([]byte, n), &command.Store{Condition: command.IfVersion, Version: version})
			if want != command.TooLarge {
				continue
			}
			if got := askStatus(t, conn, command.Put, replaced); got != want {
				t.Errorf("a value of %d bytes over another: %v", n, got)
			}
		}
		tooLong := make([]byte, store.MaxKey+1)
		for op, arg := range map[command.Proc][]byte{
			command.Get:    tooLong,
			command.Delete: command.AppendDelete(nil, tooLong, 0),
			command.Touch:  command.AppendTouch(nil, tooLong, 1),
			command.Incr:   command.AppendIncr(nil, tooLong, 1),
		} {
			if got := askStatus(t, conn, op, arg); got != command.NotFound && got != command.TooLarge {
				t.Errorf("%v of a key that cannot be: %v", op, got)
			}
		}
		if item, err := c.GetItem(testContext(t), "k"); err != nil || string(item.Value) != "as it was" || item.Version != version {
			t.Errorf("the item has become %q, %v", item.Value, err)
		}
	})
}

// A store that is full refuses, keeps everything that it has acknowledged, and
// has room again when something was deleted.
func TestFullStore(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		for _, engine := range realEngines {
			t.Run(engine, func(t *testing.T) {
				r := newRig(t, r.fabric)
				cfg := r.config()
				cfg.Engine, cfg.Mode, cfg.Memory, cfg.Cores = "kept "+engine, store.Store, 4*store.MinMemory, 2
				s := r.start(cfg)
				testFullStore(t, s, r.dial())
			})
		}
	})
}

func testFullStore(t *testing.T, s *server.Server, c *remora.Client) {
	ctx := testContext(t)
	value := func(i int) []byte { return []byte(strings.Repeat(fmt.Sprint(i, " "), 400)) }
	versions := map[int]uint64{}
	refused := uint64(0)
	for i := 0; refused < 20; i++ {
		version, err := c.Set(ctx, fmt.Sprint("key ", i), value(i), 0)
		switch {
		case errors.Is(err, remora.ErrOutOfMemory):
			refused++
		case err != nil:
			t.Fatal(err)
		default:
			versions[i] = version
		}
		if i > 1<<20 {
			t.Fatal("it never becomes full")
		}
	}
	for i, version := range versions {
		item, err := c.GetItem(ctx, fmt.Sprint("key ", i))
		if err != nil || item.Version != version || !bytes.Equal(item.Value, value(i)) {
			t.Fatalf("key %d, which was acknowledged: %+v, %v", i, item, err)
		}
	}
	var items int64
	var counted, evicted uint64
	for _, st := range stats(t, c) {
		items += st.Store.Items
		counted += st.Store.Refused
		evicted += st.Store.Evicted
	}
	if items != int64(len(versions)) || counted != refused || evicted != 0 {
		t.Errorf("%d items of %d, %d refused of %d, %d evicted", items, len(versions), counted, refused, evicted)
	}
	// Half of them make room for at least a quarter.
	deleted := 0
	for i := range versions {
		if deleted++; deleted > len(versions)/2 {
			break
		}
		if err := c.Delete(ctx, fmt.Sprint("key ", i)); err != nil {
			t.Fatal(err)
		}
	}
	stored := 0
	for i := range deleted {
		if _, err := c.Set(ctx, fmt.Sprint("new ", i), value(i), 0); err == nil {
			stored++
		} else if !errors.Is(err, remora.ErrOutOfMemory) {
			t.Fatal(err)
		}
	}
	if stored < deleted/2 {
		t.Errorf("%d items were deleted, and only %d found room", deleted, stored)
	}
	_ = s.Close()
	if k := keptBy(s.Seed()); k.broken != nil {
		t.Error(k.broken)
	}
}

// A cache that is full loses items, and never serves a wrong one.
func TestFullCache(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		for _, engine := range realEngines {
			t.Run(engine, func(t *testing.T) {
				r := newRig(t, r.fabric)
				cfg := r.config()
				cfg.Engine, cfg.Memory = "kept "+engine, 4*store.MinMemory
				s := r.start(cfg)
				c, ctx := r.dial(), testContext(t)
				value := func(i int) []byte { return []byte(strings.Repeat(fmt.Sprint(i, " "), 800)) }
				n := 300
				for i := range n {
					if _, err := c.Set(ctx, fmt.Sprint("key ", i), value(i), 0); err != nil {
						t.Fatal(err)
					}
				}
				there := 0
				for i := range n {
					got, err := c.Get(ctx, fmt.Sprint("key ", i))
					if err == nil && !bytes.Equal(got, value(i)) || err != nil && !errors.Is(err, remora.ErrNotFound) {
						t.Fatalf("key %d: %q, %v", i, got, err)
					}
					if err == nil {
						there++
					}
				}
				var evicted uint64
				for _, st := range stats(t, c) {
					evicted += st.Store.Evicted
				}
				if there == 0 || there+int(evicted) != n {
					t.Errorf("%d of %d items are there, %d were evicted", there, n, evicted)
				}
				_ = s.Close()
				if k := keptBy(s.Seed()); k.broken != nil || len(k.items) != there {
					t.Errorf("%d items are left, %v", len(k.items), k.broken)
				}
			})
		}
	})
}

// A core takes as many clients as it may, and one more when one has left.
func TestMaxClients(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		cfg := r.config()
		cfg.Cores, cfg.MaxClients = 1, 3
		s := r.start(cfg)
		clients := []*remora.Client{r.dial(), r.dial(), r.dial()}
		ctx := testContext(t)
		_, err := remora.Dial(ctx, r.url, remora.WithDevice(r.device()), unhurried)
		if !errors.Is(err, remora.ErrUnavailable) || !strings.Contains(err.Error(), "3 clients already") {
			t.Errorf("one client too many: %v", err)
		}
		if err := clients[0].Close(); err != nil {
			t.Error(err)
		}
		awaitClients(t, s, 2)
		if err := r.dial().Ping(ctx); err != nil {
			t.Error(err)
		}
	})
}

// A server allows keys of MaxKey bytes, 1 KiB by default. It refuses longer ones by itself, and clients say
// what it allows.
func TestMaxKey(t *testing.T) {
	for most, set := range map[int]int{server.DefaultMaxKey: 0, 20: 20, store.MaxKey: store.MaxKey} {
		eachFabric(t, func(t *testing.T, r *rig) {
			cfg := r.config()
			cfg.MaxKey, cfg.Cores = set, 1
			r.start(cfg)
			c, conn, ctx := r.dial(), r.raw(0), testContext(t)
			if n := c.Info().MaxKey; n != most {
				t.Errorf("clients are told of keys of %d bytes, not of %d", n, most)
			}
			key := strings.Repeat("k", most)
			for name, o := range map[string]operations{"client": c, "session": session(t, c)} {
				if _, err := o.Put(ctx, key, remora.Entry{Value: []byte("v")}, remora.Always()); err != nil {
					t.Errorf("%s: the longest key: %v", name, err)
				}
				_, err := o.GetItem(ctx, key+"k")
				if !errors.Is(err, remora.ErrTooLarge) || !strings.Contains(err.Error(), fmt.Sprint(most)) || !strings.Contains(err.Error(), "--max-key") {
					t.Errorf("%s: a key that is too long: %v", name, err)
				}
			}
			if most == store.MaxKey {
				return // a longer one cannot be sent
			}
			if got := askStatus(t, conn, command.Put, command.AppendPut(nil, key+"k", nil, &command.Store{})); got != command.TooLarge {
				t.Errorf("a put of a longer key: %v", got)
			}
			if got := askStatus(t, conn, command.Get, []byte(key+"k")); got != command.NotFound {
				t.Errorf("a get of a longer key: %v", got)
			}
		})
	}
}
