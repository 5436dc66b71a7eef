package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/test/cachetest"
)

// The server offers sendrecv, says what it did, and counts it as traffic. Both ways show
// the same items.
func TestSendRecvIsOffered(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.start(r.config())
		ctx := testContext(t)
		c, other := r.dial(remora.WithPath(remora.PathSendRecv)), r.dial()
		before, _ := s.Traffic()
		const items = 50
		for i := range items {
			key := fmt.Sprint("key ", i)
			if _, err := c.Set(ctx, key, []byte(key), 0); err != nil {
				t.Fatal(err)
			}
			if got, err := other.Get(ctx, key); err != nil || string(got) != key {
				t.Fatalf("%q, %v", got, err)
			}
		}
		n := s.SendRecvStats()
		if cores := s.Config().Cores; n.Clients != cores || n.Calls != uint64(items+cores) || n.Failures+n.Cut+n.Lost != 0 {
			t.Errorf("%d cores: %+v", cores, n)
		}
		if v := c.Counters().Verbs; v.Out[0] < items {
			t.Errorf("%+v", v)
		}
		var sum uint64
		for core, text := range statsOf(t, other) {
			if sum += text.SendRecv.Calls; text.SendRecv.Memory == 0 {
				t.Errorf("core %d: %+v", core, text.SendRecv)
			}
		}
		if sum != n.Calls {
			t.Errorf("the cores tell of %d calls, there were %d", sum, n.Calls)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		cachetest.Await(t, "the client to be gone", func() bool {
			after, _ := s.Traffic()
			return after == before-2*s.Config().Cores && s.SendRecvStats().Clients == 0
		})
	})
}

// statsOf asks all cores.
func statsOf(t *testing.T, c *remora.Client) (all []server.Stats) {
	t.Helper()
	texts, err := c.Stats(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		var st server.Stats
		if err := json.Unmarshal(text, &st); err != nil {
			t.Fatal(err)
		}
		all = append(all, st)
	}
	return all
}

// The limit of clients holds for sendrecv, and can be changed.
func TestSendRecvLimit(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		cfg := r.config()
		cfg.Cores, cfg.MaxClients = 1, 3
		s := r.start(cfg)
		if err := s.SetMaxClients(2); err != nil {
			t.Fatal(err)
		}
		r.dial(remora.WithPath(remora.PathSendRecv))
		r.dial(remora.WithPath(remora.PathSendRecv))
		_, err := remora.Dial(testContext(t), r.url, remora.WithDevice(r.device()), unhurried, remora.WithPath(remora.PathSendRecv))
		if err == nil || errors.Is(err, remora.ErrUnsupported) {
			t.Errorf("a client too many: %v", err)
		}
		if n := s.SendRecvStats().Clients; n != 2 {
			t.Errorf("%d clients", n)
		}
	})
}
