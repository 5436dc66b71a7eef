package keli_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/keli"
)

// Clients go on by themselves with a server that was started again. Links of the one before
// are an error that says so.
func TestServerIsStartedAgain(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		g := web()
		r.serve(keli.Config{}, g.build)
		c := r.dial(keli.WithBackoff(time.Millisecond, 10*time.Millisecond), keli.WithReconnectWait(patience))
		s, err := c.Session()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		ctx := r.ctx()
		for range 3 {
			item, link, err := s.Find(ctx, key(5))
			if err != nil {
				t.Fatal(err)
			}
			checkItem(t, s, g, item, 5)
			if err := r.server.Close(); err != nil {
				t.Fatal(err)
			}
			r.serve(keli.Config{}, g.build)
			if _, err := s.Follow(ctx, link); !errors.Is(err, keli.ErrGenerationOver) {
				t.Fatalf("a link of the server before: %v", err)
			}
			if _, err := c.Lookup(ctx, key(7)); err != nil {
				t.Fatal(err)
			}
			if did, err := s.Walk(ctx, keli.WalkConfig{Keys: [][]byte{key(5)}}, func(kvl.Item, int) (bool, error) { return true, nil }); err != nil || did.Items != g.items {
				t.Fatalf("%+v, %v", did, err)
			}
		}
		if n := s.Counters().Connects; n != 4 {
			t.Errorf("%d connections", n)
		}
	})
}

// A server that does not come back is reported after the reconnect wait of the client.
func TestServerIsGone(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(keli.Config{}, ring(10).build)
		s := r.session(keli.WithReconnectWait(time.Millisecond), keli.WithBackoff(1, time.Millisecond))
		ctx := r.ctx()
		_, link, err := s.Find(ctx, key(5))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.server.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Follow(ctx, link); !errors.Is(err, keli.ErrUnavailable) {
			t.Errorf("Follow: %v", err)
		}
		if _, err := s.Lookup(ctx, key(5)); !errors.Is(err, keli.ErrUnavailable) {
			t.Errorf("a lookup: %v", err)
		}
	})
}

// A client that is closed says so, and so do its sessions.
func TestClosed(t *testing.T) {
	r := newRig(t, fabrics[0])
	r.serve(keli.Config{}, ring(10).build)
	c, ctx := r.dial(), r.ctx()
	s, err := c.Session()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lookup(ctx, key(1)); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lookup(ctx, key(1)); !errors.Is(err, keli.ErrClosed) {
		t.Errorf("a session: %v", err)
	}
	if _, err := c.Lookup(ctx, key(1)); !errors.Is(err, keli.ErrClosed) {
		t.Errorf("a client: %v", err)
	}
	if _, err := c.Session(); !errors.Is(err, keli.ErrClosed) {
		t.Errorf("another session: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(s.Close(), c.Close()); !errors.Is(err, keli.ErrClosed) {
		t.Errorf("closed twice: %v", err)
	}
	r.eventually("all have left", func() bool { return r.server.Stats().Readers[0].Clients == 0 })
}

// flip changes a bit of memory that others read.
func flip(mem []byte, bit int) {
	b := &mem[bit/8]
	fence.PublishByte(b, fence.ObserveByte(b)^1<<(bit%8))
}

// Whatever bit of a record is wrong, a reader has kvl.ErrCorrupt and nothing else, and what
// it had before when the bit is right again.
func TestCorruptRecords(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		g := ring(6)
		g.fill = func(int) int { return 20 }
		r.serve(keli.Config{}, g.build)
		s, ctx := r.session(), r.ctx()
		_, link, err := s.Find(ctx, key(5))
		if err != nil {
			t.Fatal(err)
		}
		mem := r.server.AreaBytes()[link.Area()]
		step := 1
		if r.fabric != fabrics[0] || emulated {
			step = 37
		}
		for bit := 8 * int(link.Offset()); bit < 8*(int(link.Offset())+link.Len()); bit += step {
			flip(mem, bit)
			if _, err := s.Follow(ctx, link); !errors.Is(err, kvl.ErrCorrupt) {
				t.Fatalf("bit %d: %v", bit, err)
			}
			did, err := s.Walk(ctx, keli.WalkConfig{Links: []kvl.Link{link}}, func(it kvl.Item, _ int) (bool, error) {
				t.Errorf("bit %d: item %q", bit, it.Key())
				return true, nil
			})
			if !errors.Is(err, kvl.ErrCorrupt) || did.Items != 0 {
				t.Fatalf("bit %d: %+v, %v", bit, did, err)
			}
			flip(mem, bit)
		}
		if _, err := s.Follow(ctx, link); err != nil || s.Counters().Connects != 1 {
			t.Errorf("afterwards: %v, %+v", err, s.Counters())
		}
		if _, err := s.Follow(ctx, kvl.NewLink(link.Area(), int64(len(mem)), link.Len(), s.Generation())); !errors.Is(err, kvl.ErrCorrupt) {
			t.Errorf("a link out of its area: %v", err)
		}
		if _, err := s.Follow(ctx, kvl.NewLink(99, 0, link.Len(), s.Generation())); !errors.Is(err, kvl.ErrCorrupt) {
			t.Errorf("a link to no area: %v", err)
		}
	})
}

// The same is true of the superblock and the directory.
func TestCorruptSuperblockAndDirectory(t *testing.T) {
	r := newRig(t, fabrics[0])
	r.serve(keli.Config{}, ring(6).build)
	step := 29
	if emulated {
		step = 293
	}
	for name, mem := range map[string][]byte{"superblock": r.server.SuperblockBytes(), "directory": r.server.DirectoryBytes()} {
		for bit := 0; bit < 8*len(mem); bit += step {
			s := r.session()
			flip(mem, bit)
			err := s.Refresh(r.ctx())
			flip(mem, bit)
			if !errors.Is(err, kvl.ErrCorrupt) {
				t.Fatalf("bit %d of the %s: %v", bit, name, err)
			}
			if err := s.Refresh(r.ctx()); err != nil {
				t.Fatalf("afterwards: %v", err)
			}
			_ = s.Close()
		}
	}
}

// A server that is stopped while it writes the superblock is waited for, unless the caller gives up.
func TestSuperblockHalfWritten(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		server := r.serve(keli.Config{}, ring(10).build)
		s := r.session()
		end := server.SuperblockBytes()[56:64]
		was := bytes.Clone(end)
		fence.CopyOut(end, []byte("changing"))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := s.Refresh(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while it changes: %v", err)
		}
		done := make(chan error, 1)
		go func() { done <- s.Refresh(t.Context()) }()
		select {
		case err := <-done:
			t.Errorf("it was not waited for: %v", err)
		case <-time.After(50 * time.Millisecond):
			fence.CopyOut(end, was)
			if err := <-done; err != nil {
				t.Errorf("when it is whole: %v", err)
			}
		}
	})
}
