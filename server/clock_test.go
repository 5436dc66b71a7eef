package server_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric/fabrictest"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/test/cachetest"
)

// stopped gives a server a clock that stands still.
func stopped(cfg server.Config) (server.Config, *fabrictest.HandClock) {
	clock := fabrictest.NewHandClock()
	return cfg.Behind(clock.Device), clock
}

// advance lets time pass, and waits until every core has noticed.
func advance(t testing.TB, clock *fabrictest.HandClock, client *remora.Client, d time.Duration) {
	t.Helper()
	clock.Advance(d)
	want := (clock.Now() - int64(time.Hour)) / int64(time.Millisecond)
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
