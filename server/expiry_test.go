package server_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/test/cachetest"
)

// An item is there up to its last millisecond and not a millisecond longer, for
// every operation, by the clock of the device.
func TestExpiry(t *testing.T) {
	eachServer(t, func(t *testing.T, r *rig, cfg server.Config) {
		cfg, clock := stopped(cfg)
		r.start(cfg)
		c := r.dial()
		kinds := []cachetest.Kind{
			cachetest.Get, cachetest.Replace, cachetest.CAS, cachetest.Delete, cachetest.DeleteVersion, cachetest.Incr, cachetest.Touch, cachetest.Add,
		}
		versions := map[cachetest.Kind]uint64{}
		for _, kind := range kinds {
			versions[kind] = mustSet(t, c, kind.String(), "1", 100*time.Millisecond)
		}
		advance(t, clock, c, 99*time.Millisecond)
		for _, kind := range kinds {
			item, err := c.GetItem(testContext(t), kind.String())
			if err != nil || item.TTL != time.Millisecond || item.Version != versions[kind] {
				t.Errorf("%v, a millisecond before its end: %+v, %v", kind, item, err)
			}
		}
		advance(t, clock, c, time.Millisecond)
		for _, kind := range kinds {
			call := cachetest.Call{Kind: kind, Key: kind.String(), Version: versions[kind], Value: "2"}
			want := cachetest.NotFound
			if kind == cachetest.Add {
				want = cachetest.OK
			}
			o := adapter{operations: c}.Do(testContext(t), &call)
			if o.Status != want {
				t.Errorf("%v at its end: %v", call, o)
			}
		}
		items := int64(0)
		for _, s := range stats(t, c) {
			items += s.Store.Items - int64(s.Store.Expired)
		}
		if items > int64(len(kinds)) {
			t.Errorf("%d items", items)
		}
	})
}

// A touch makes an item live longer, shorter or without end; a change sets the
// time anew; the rest leaves it as it is.
func TestTimesToLive(t *testing.T) {
	r := newRig(t, fabrics[0])
	cfg, clock := stopped(r.config())
	r.start(cfg)
	c, ctx := r.dial(), testContext(t)
	left := func(key string, want time.Duration) {
		t.Helper()
		item, err := c.GetItem(ctx, key)
		if err != nil || item.TTL != want {
			t.Errorf("%s lives for %v, %v instead of %v", key, item.TTL, err, want)
		}
	}
	for _, key := range []string{"longer", "shorter", "forever", "set", "counted"} {
		mustSet(t, c, key, "1", time.Minute)
	}
	advance(t, clock, c, 30*time.Second)
	for key, ttl := range map[string]time.Duration{"longer": time.Hour, "shorter": time.Second, "forever": 0} {
		if err := c.Touch(ctx, key, ttl); err != nil {
			t.Error(err)
		}
		left(key, ttl)
	}
	mustSet(t, c, "set", "2", 0)
	left("set", 0)
	if _, err := c.Incr(ctx, "counted", 1); err != nil {
		t.Error(err)
	}
	left("counted", 30*time.Second)
	advance(t, clock, c, 40*time.Second)
	left("longer", time.Hour-40*time.Second)
	left("forever", 0)
	left("set", 0)
	for _, key := range []string{"shorter", "counted"} {
		if _, err := c.Get(ctx, key); !errors.Is(err, remora.ErrNotFound) {
			t.Errorf("%s: %v", key, err)
		}
	}
	// The longest time there is, and one that is shorter than the clock can tell.
	mustSet(t, c, "very long", "1", 1<<63-1)
	mustSet(t, c, "very short", "1", 1)
	left("very short", time.Millisecond)
	advance(t, clock, c, 1000*time.Hour)
	if item, err := c.GetItem(ctx, "very long"); err != nil || item.TTL < 100*365*24*time.Hour {
		t.Errorf("the longest time: %v, %v", item.TTL, err)
	}
	if _, err := c.Get(ctx, "very short"); !errors.Is(err, remora.ErrNotFound) {
		t.Errorf("the shortest time: %v", err)
	}
}

// With the clock that servers really have, an item disappears some time.
func TestExpiryByTheRealClock(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.start(r.config())
		c, ctx := r.dial(), testContext(t)
		for i := range 20 {
			mustSet(t, c, fmt.Sprint(i), "1", time.Duration(1+i)*time.Millisecond)
		}
		mustSet(t, c, "stays", "1", time.Hour)
		for i := range 20 {
			cachetest.Await(t, "an item to expire", func() bool {
				_, err := c.Get(ctx, fmt.Sprint(i))
				if err != nil && !errors.Is(err, remora.ErrNotFound) {
					t.Fatal(err)
				}
				return err != nil
			})
		}
		if item, err := c.GetItem(ctx, "stays"); err != nil || item.TTL > time.Hour {
			t.Errorf("an item that has not expired: %v left, %v", item.TTL, err)
		}
	})
}

// mustSet stores a value and returns its version.
func mustSet(t testing.TB, c *remora.Client, key, value string, ttl time.Duration) uint64 {
	t.Helper()
	version, err := c.Set(testContext(t), key, []byte(value), ttl)
	if err != nil {
		t.Fatal(err)
	}
	return version
}
