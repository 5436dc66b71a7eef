package server_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/test/cachetest"
)

// eachServer runs a test on every fabric, engine and mode.
func eachServer(t *testing.T, f func(t *testing.T, r *rig, cfg server.Config)) {
	eachFabric(t, func(t *testing.T, r *rig) {
		for _, engine := range realEngines {
			for name, mode := range modes {
				t.Run(engine+"/"+name, func(t *testing.T) {
					r := newRig(t, r.fabric)
					cfg := r.config()
					cfg.Engine, cfg.Mode = "kept "+engine, mode
					f(t, r, cfg)
				})
			}
		}
	})
}

// Every operation, and every status that it can have, by every way to a server.
func TestOperations(t *testing.T) {
	eachServer(t, func(t *testing.T, r *rig, cfg server.Config) {
		cfg, _ = stopped(cfg)
		s := r.start(cfg)
		c := r.dial()
		if info := c.Info(); info.Engine != cfg.Engine || info.Cores != 2 || info.MaxValue != cfg.MaxValue ||
			info.Version != "test" || (info.Mode == "store") != (cfg.Mode == modes["store"]) {
			t.Errorf("the server says that it is %+v", info)
		}
		for core := range cfg.Cores {
			for name, o := range map[string]operations{"client": c, "session": session(t, c)} {
				testOperations(t, o, keyOn(s, core, name+" "))
			}
		}
		if err := c.Ping(testContext(t)); err != nil {
			t.Errorf("Ping: %v", err)
		}
		_ = s.Close()
		if k := keptBy(s.Seed()); k.broken != nil || k.open != 0 || len(k.items) != 4 {
			t.Errorf("the server left %d items, %d partitions, %v", len(k.items), k.open, k.broken)
		}
	})
}

// testOperations goes through all operations on one key, and leaves it there.
func testOperations(t *testing.T, o operations, key string) {
	t.Helper()
	ctx := testContext(t)
	do := func(want cachetest.Outcome, kind cachetest.Kind, c cachetest.Call) cachetest.Outcome {
		t.Helper()
		c.Kind, c.Key = kind, key
		got := adapter{operations: o}.Do(ctx, &c)
		version := got.Version
		if got.Text = ""; want.Version == anyVersion && got.Version != 0 {
			got.Version = anyVersion
		}
		if got != want {
			t.Errorf("%v: %v instead of %v", c, got, want)
		}
		got.Version = version
		return got
	}
	of := func(s cachetest.Status) cachetest.Outcome { return cachetest.Outcome{Status: s} }
	some := cachetest.Outcome{Version: anyVersion}

	for _, kind := range []cachetest.Kind{cachetest.Get, cachetest.Replace, cachetest.Delete, cachetest.Incr, cachetest.Touch} {
		do(of(cachetest.NotFound), kind, cachetest.Call{})
	}
	do(of(cachetest.NotFound), cachetest.CAS, cachetest.Call{Version: 1})
	do(of(cachetest.NotFound), cachetest.DeleteVersion, cachetest.Call{Version: 1})
	v1 := do(some, cachetest.Add, cachetest.Call{Value: "one", Flags: 7, TTL: time.Hour}).Version
	do(cachetest.Outcome{Value: "one", Version: v1, Flags: 7, TTL: time.Hour}, cachetest.Get, cachetest.Call{})
	do(of(cachetest.Exists), cachetest.Add, cachetest.Call{Value: "two"})
	do(of(cachetest.NotNumber), cachetest.Incr, cachetest.Call{Delta: 1})
	v2 := do(some, cachetest.Replace, cachetest.Call{Value: "40"}).Version
	do(of(cachetest.Changed), cachetest.CAS, cachetest.Call{Value: "three", Version: v1})
	do(of(cachetest.Changed), cachetest.DeleteVersion, cachetest.Call{Version: v1})
	do(cachetest.Outcome{Value: "40", Version: v2}, cachetest.Get, cachetest.Call{})
	v3 := do(some, cachetest.CAS, cachetest.Call{Value: "41", Version: v2, Flags: 9}).Version
	do(of(cachetest.OK), cachetest.Touch, cachetest.Call{TTL: time.Minute})
	do(cachetest.Outcome{Value: "41", Version: v3, Flags: 9, TTL: time.Minute}, cachetest.Get, cachetest.Call{})
	do(cachetest.Outcome{Sum: 39}, cachetest.Incr, cachetest.Call{Delta: -2})
	v4 := do(cachetest.Outcome{Value: "39", Version: anyVersion, Flags: 9, TTL: time.Minute}, cachetest.Get, cachetest.Call{}).Version
	if v1 >= v2 || v2 >= v3 || v3 >= v4 {
		t.Errorf("versions %d, %d, %d, %d", v1, v2, v3, v4)
	}
	do(of(cachetest.OK), cachetest.Touch, cachetest.Call{})
	do(cachetest.Outcome{Value: "39", Version: v4, Flags: 9}, cachetest.Get, cachetest.Call{})
	do(of(cachetest.OK), cachetest.DeleteVersion, cachetest.Call{Version: v4})
	do(of(cachetest.NotFound), cachetest.Get, cachetest.Call{})
	do(some, cachetest.Set, cachetest.Call{Value: fmt.Sprint(int64(1<<63 - 1))})
	do(of(cachetest.NotNumber), cachetest.Incr, cachetest.Call{Delta: 1})
	do(of(cachetest.OK), cachetest.Delete, cachetest.Call{})
	do(some, cachetest.Set, cachetest.Call{})
	do(cachetest.Outcome{Version: anyVersion}, cachetest.Get, cachetest.Call{})
}

// anyVersion stands for a version that the test does not know.
const anyVersion = 1 << 60

// All items come from all cores.
func TestGetMulti(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.start(r.config())
		c, ctx := r.dial(), testContext(t)
		var keys []string
		for i := range 100 {
			key := fmt.Sprint("key ", i)
			if keys = append(keys, key); i%3 != 0 {
				if _, err := c.Set(ctx, key, []byte(strings.Repeat(key, i)), 0); err != nil {
					t.Fatal(err)
				}
			}
		}
		items, err := c.GetMulti(ctx, keys)
		if err != nil {
			t.Fatal(err)
		}
		for i, key := range keys {
			item, ok := items[key]
			if ok != (i%3 != 0) || ok && string(item.Value) != strings.Repeat(key, i) {
				t.Errorf("%s: there %v, %d bytes", key, ok, len(item.Value))
			}
		}
	})
}

// A key that belongs to another core is refused by every procedure, and nothing
// happens (V2).
func TestWrongCore(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.start(r.config())
		c, ctx := r.dial(), testContext(t)
		key := keyOn(s, 1, "key ")
		version, err := c.Set(ctx, key, []byte("7"), 0)
		if err != nil {
			t.Fatal(err)
		}
		conn := r.raw(0)
		for op, arg := range map[command.Proc][]byte{
			command.Get:    []byte(key),
			command.Put:    command.AppendPut(nil, key, []byte("8"), &command.Store{}),
			command.Delete: command.AppendDelete(nil, key, 0),
			command.Touch:  command.AppendTouch(nil, key, 1),
			command.Incr:   command.AppendIncr(nil, key, 1),
		} {
			if got := askStatus(t, conn, op, arg); got != command.WrongCore {
				t.Errorf("%v at the wrong core: %v", op, got)
			}
		}
		item, err := c.GetItem(ctx, key)
		if err != nil || string(item.Value) != "7" || item.Version != version || item.TTL != 0 {
			t.Errorf("the item has become %+v, %v", item, err)
		}
		if n := stats(t, c)[0].Store.Items; n != 0 {
			t.Errorf("core 0 has %d items", n)
		}
	})
}

// A client of another protocol is told so.
func TestHelloOfAnotherProtocol(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.start(r.config())
		conn := r.raw(0)
		for _, protocol := range []uint16{0, command.Protocol + 1, 0xFFFF} {
			_, err := ask(t, conn, request(command.Hello, []byte{byte(protocol), byte(protocol >> 8)}))
			if !refusedAs(err, rpc.CodeFailed) || !strings.Contains(err.Error(), fmt.Sprintf("protocol %d, the server %d", protocol, command.Protocol)) {
				t.Errorf("protocol %d: %v", protocol, err)
			}
		}
		if result, err := ask(t, conn, request(command.Hello, command.AppendHello(nil))); err != nil || !strings.Contains(string(result), `"core":0`) {
			t.Errorf("our own protocol: %q, %v", result, err)
		}
	})
}

// Two starts of a server have other seeds, instances and versions, so that
// nothing that a client remembers fits the second one by chance.
func TestStartsDiffer(t *testing.T) {
	r := newRig(t, fabrics[0])
	cfg, ctx := r.config(), testContext(t)
	seen := map[uint64]bool{}
	seeds := map[uint64]bool{}
	for range 20 {
		s, err := server.Start(cfg)
		if err != nil {
			t.Fatal(err)
		}
		c, err := remora.Dial(ctx, s.Addrs()[0].String(), remora.WithDevice(r.device()), unhurried)
		if err != nil {
			t.Fatal(err)
		}
		version, err := c.Set(ctx, "k", nil, 0)
		if err != nil || version > 1<<47 {
			t.Errorf("version %d, %v", version, err)
		}
		seen[version], seen[c.Info().Instance], seeds[uint64(s.Seed())] = true, true, true
		_ = c.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(seen) != 40 || len(seeds) != 20 {
		t.Errorf("%d versions and instances, %d seeds", len(seen), len(seeds))
	}
}

// A context that ends ends an operation, whatever the server does.
func TestContextEnds(t *testing.T) {
	r := newRig(t, fabrics[0])
	r.start(r.config())
	c := r.dial()
	ctx, cancel := context.WithCancel(testContext(t))
	cancel()
	if _, err := c.Get(ctx, "k"); !errors.Is(err, context.Canceled) || !errors.Is(err, remora.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}
