package server_test

import (
	"errors"
	"testing"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/server"
)

// While a server drains, its successor may take writes already. Nobody reads the old memory then, by a
// link or by a search.
func TestDrainEndsDirectReads(t *testing.T) {
	t.Run("links", func(t *testing.T) {
		eachSeen(t, func(t *testing.T, r *rig) { testSuccession(t, r, r.linked(), remora.WithLinks(100)) })
	})
	t.Run("link policy", func(t *testing.T) {
		eachSeen(t, func(t *testing.T, r *rig) { testSuccession(t, r, r.linked()) })
	})
	eachSearch(t, func(t *testing.T, r *rig, path remora.Path, cfg server.Config) {
		testSuccession(t, r, cfg, remora.WithPath(path))
	})
}

func testSuccession(t *testing.T, r *rig, cfg server.Config, opts ...remora.Option) {
	cfg.Cores = 1
	old := r.start(cfg)
	ctx := testContext(t)
	reader := r.dial(append(patient(), opts...)...) // the successor may be slow to accept it
	mustSet(t, reader, "k", "old", 0)
	for range 100 { // until a link policy follows links, too
		if _, err := reader.Get(ctx, "k"); err != nil {
			t.Fatal(err)
		}
	}
	_, link, err := reader.GetLink(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	drained := keepDraining(t, r, old)
	defer func() {
		drained.enough()
		if err := drained.wait(); err != nil {
			t.Errorf("Drain: %v", err)
		}
	}()

	cfg.Listen = []string{old.Addrs()[0].String()}
	r.start(cfg)
	mustSet(t, r.dial(), "k", "new", 0)
	if item, err := reader.Follow(ctx, link); err == nil {
		t.Errorf("a link into the old server leads to %q", item.Value)
	}
	if value, err := reader.Get(ctx, "k"); err != nil || string(value) != "new" {
		t.Errorf("the old client gets %q, %v", value, err)
	}
}

// keepDraining drains a server that a client does not leave, so that it does not end. It returns when
// the server refuses requests.
func keepDraining(t *testing.T, r *rig, s *server.Server) *drain {
	t.Helper()
	client := &stubborn{conn: r.raw(0), acked: map[string]string{}, refused: map[string]bool{}, unknown: map[string]bool{}}
	refused := make(chan struct{})
	errs := make(chan error, 1)
	go func() {
		for first := true; ; {
			status, ok, err := client.put("by the stubborn client", "v")
			if !ok {
				errs <- err
				return
			}
			if status == command.Draining && first {
				first = false
				close(refused)
			}
		}
	}()
	t.Cleanup(func() {
		if err := <-errs; err != nil && !errors.Is(err, remora.ErrClosed) {
			t.Errorf("the stubborn client: %v", err)
		}
	})
	d := startDrain(s)
	select {
	case <-refused:
	case <-d.done: // the machine gave the client no time, so that it seemed to be quiet
	}
	return d
}
