package server_test

import (
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/test/cachetest"
)

// stillClock is a clock that stands still until it is told to go on.
type stillClock struct{ now atomic.Int64 }

// Now implements fabric.Clock.
func (c *stillClock) Now() int64 { return c.now.Load() }

// stillDevice is a device whose users go by another clock. What it does itself
// goes by its own.
type stillDevice struct {
	fabric.Device
	clock *stillClock
}

// Clock implements fabric.Device.
func (d stillDevice) Clock() fabric.Clock { return d.clock }

// stopped gives a server a clock that stands still.
func stopped(cfg server.Config) (server.Config, *stillClock) {
	clock := &stillClock{}
	clock.now.Store(int64(time.Hour))
	return cfg.Behind(func(d fabric.Device) fabric.Device { return stillDevice{d, clock} }), clock
}

// advance lets time pass, and waits until every core has noticed.
func (c *stillClock) advance(t testing.TB, client *remora.Client, d time.Duration) {
	t.Helper()
	want := (c.now.Add(int64(d)) - int64(time.Hour)) / int64(time.Millisecond)
	cachetest.Await(t, "all cores to see the time", func() bool {
		for _, s := range stats(t, client) {
			if s.UptimeMS < want {
				return false
			}
		}
		return true
	})
}

// stats asks the server for its statistics.
func stats(t testing.TB, c *remora.Client) []server.Stats {
	t.Helper()
	docs, err := c.Stats(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	cores := make([]server.Stats, len(docs))
	for i, doc := range docs {
		if err := json.Unmarshal(doc, &cores[i]); err != nil {
			t.Fatal(err)
		}
	}
	return cores
}
