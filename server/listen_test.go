package server_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/test/cachetest"
	"github.com/remora-kv/remora/test/scale"
)

// manyURLs are addresses on all fabrics, two on each.
func manyURLs(t *testing.T) []string {
	var urls []string
	for _, name := range fabrics {
		first, second := listenURL(t, name), listenURL(t, name)
		if name == provider.Loop {
			second = "loop:second"
		}
		urls = append(urls, first, second)
	}
	return urls
}

// dialAll connects a client at each address of a server.
func dialAll(t testing.TB, set *provider.Set, s *server.Server, opts ...remora.Option) []*remora.Client {
	t.Helper()
	var clients []*remora.Client
	for _, addr := range s.Addrs() {
		dev, err := set.Open(addr.Fabric)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = dev.Close() })
		clients = append(clients, dialOn(t, addr.String(), dev, opts...))
	}
	return clients
}

// One cache is reached at several addresses, on several fabrics, at the same time.
func TestSeveralAddresses(t *testing.T) {
	r := newRig(t, fabrics[0])
	cfg := r.config()
	cfg.Listen = manyURLs(t)
	s := r.start(cfg)
	if len(s.Addrs()) != len(cfg.Listen) {
		t.Fatalf("it listens on %v", s.Addrs())
	}
	clients := dialAll(t, r.set, s)
	ctx := testContext(t)
	for i, c := range clients {
		mustSet(t, c, fmt.Sprint("of ", i), fmt.Sprint(i), 0)
	}
	for _, c := range clients {
		for i := range clients {
			if value, err := c.Get(ctx, fmt.Sprint("of ", i)); err != nil || string(value) != fmt.Sprint(i) {
				t.Errorf("over %s: %q, %v", c.Info().Fabric, value, err)
			}
		}
	}
	st := stats(t, clients[0])[0]
	if len(st.Listen) != len(cfg.Listen) || len(st.Fabrics) != len(fabrics) || len(st.Sessions) != len(clients) {
		t.Errorf("%d addresses, %d fabrics, %d clients", len(st.Listen), len(st.Fabrics), len(st.Sessions))
	}
	peers := map[string]int{}
	for _, ss := range st.Sessions {
		peers[ss.Fabric]++
	}
	for name, n := range peers {
		if n != 2 {
			t.Errorf("%d clients over %s", n, name)
		}
	}
	// At the end all of them are told.
	drained, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.Drain(drained); err != nil {
		t.Error(err)
	}
	for _, c := range clients {
		if _, err := c.Set(ctx, "k", nil, 0); !errors.Is(err, remora.ErrUnavailable) && !errors.Is(err, remora.ErrUnknown) {
			t.Errorf("after the end, over %s: %v", c.Info().Fabric, err)
		}
	}
}

// Clients of all fabrics together see one order of what they do.
func TestHistoryOverSeveralFabrics(t *testing.T) {
	r := newRig(t, fabrics[0])
	cfg := r.config()
	cfg.Listen = manyURLs(t)
	s := r.start(cfg)
	seed := scale.Seed(t)
	h := &cachetest.History{}
	var wg sync.WaitGroup
	for i, c := range dialAll(t, r.set, s) {
		wg.Go(func() {
			cachetest.Work(testContext(t), adapter{operations: c}, h, cachetest.NewSource(seed, i, cachetest.Keys(3)), scale.Times(120))
		})
	}
	wg.Wait()
	cachetest.Linearizable(t, h.Operations())
}

// isError is errors.Is for an error that may be nil.
func isError(err, want error) bool { return errors.Is(err, want) }
