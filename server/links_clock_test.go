package server_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric/fabrictest"
	"github.com/remora-kv/remora/server"
)

// expiryReader is a client, or a session, that reads items directly.
type expiryReader interface {
	operations
	Counters() remora.Counters
}

// testExpiryAfter lets a month pass on an open connection, on the client's clock up to 1/8192 more
// slowly or faster than on the server's. Then an item that lives for a minute is read directly, with
// the time that it has left, and not a moment longer than it lives.
func testExpiryAfter(t *testing.T, r *rig, cfg server.Config, opts ...remora.Option) {
	for name, drift := range map[string]time.Duration{"same clock": 0, "slow client": -1, "fast client": 1} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, r.fabric)
			cfg := cfg
			cfg.Listen, cfg.Providers = []string{listenURL(t, r.fabric)}, r.set
			cfg, clock := stopped(cfg)
			r.start(cfg)
			mine := fabrictest.NewHandClock()
			client := dialOn(t, r.url, mine.Device(r.device()), opts...)
			for kind, c := range map[string]expiryReader{"client": client, "session": session(t, client)} {
				key := fmt.Sprint(kind, " ", name)
				pass := func(d time.Duration) {
					t.Helper()
					mine.Advance(d + drift*d/8192)
					advance(t, clock, client, d)
				}
				for range 2 { // the second month begins where the clock was learnt
					pass(30 * 24 * time.Hour)
					mustSet(t, client, key, "value", time.Minute)
					testExpiryOfOne(t, c, key, pass)
				}
			}
		})
	}
}

// testExpiryOfOne gets an item that lives for a minute until it has expired.
func testExpiryOfOne(t *testing.T, c expiryReader, key string, pass func(time.Duration)) {
	t.Helper()
	ctx := testContext(t)
	get := func() (remora.Item, error, bool) {
		before := c.Counters().OneSidedHits
		item, err := c.GetItem(ctx, key)
		return item, err, c.Counters().OneSidedHits != before
	}
	for range 2 { // one to learn the link, one to learn the time
		if _, err, _ := get(); err != nil {
			t.Fatal(err)
		}
	}
	for left, next := time.Minute, 59*time.Second; left > 0; left, next = next, next-58*time.Second {
		item, err, direct := get()
		if err != nil || string(item.Value) != "value" || !direct {
			t.Fatalf("%s, %v before it expires: %q, %v, direct: %v", key, left, item.Value, err, direct)
		}
		if off := item.TTL - left; off > time.Second/10 || off < -time.Second/10 {
			t.Errorf("%s has %v left, the client says %v", key, left, item.TTL)
		}
		pass(left - max(next, 0))
	}
	if item, err, _ := get(); !errors.Is(err, remora.ErrNotFound) {
		t.Errorf("%s has expired, and is %q, %v", key, item.Value, err)
	}
}

func TestExpiryOnOldConnectionsWithLinks(t *testing.T) {
	eachSeen(t, func(t *testing.T, r *rig) { testExpiryAfter(t, r, r.linked(), remora.WithLinks(100)) })
}

func TestExpiryOnOldConnectionsThatSearch(t *testing.T) {
	eachSearch(t, func(t *testing.T, r *rig, path remora.Path, cfg server.Config) {
		testExpiryAfter(t, r, cfg, remora.WithPath(path))
	})
}

// Links that a program keeps itself work on an old connection, too: the get after Follow has failed
// brings the server's time.
func TestFollowOnAnOldConnection(t *testing.T) {
	eachSeen(t, func(t *testing.T, r *rig) {
		cfg, clock := stopped(r.linked())
		r.start(cfg)
		ctx := testContext(t)
		c := dialOn(t, r.url, clock.Device(r.device()), remora.WithLinks(100))
		advance(t, clock, c, 30*24*time.Hour)
		mustSet(t, c, "k", "value", time.Minute)
		_, link, err := c.GetLink(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		if item, err := c.Follow(ctx, link); err == nil {
			t.Errorf("with a clock that may be off by ten minutes a link leads to an item of a minute: %+v", item)
		}
		if _, link, err = c.GetLink(ctx, "k"); err != nil {
			t.Fatal(err)
		}
		if item, err := c.Follow(ctx, link); err != nil || item.TTL != time.Minute {
			t.Errorf("Follow: %+v, %v", item, err)
		}
	})
}
