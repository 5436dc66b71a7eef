package onesided_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/onesided"
	"github.com/remora-kv/remora/store"
)

// A client that leaves makes room for others, in order or not.
func TestClientsLeave(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(1, onesided.ServerConfig{MaxClients: 2})
		r.toys[0].put(1, 1, value(1, 1))
		for range 5 {
			a, b := r.dial(onesided.ConnConfig{}), r.dial(onesided.ConnConfig{})
			if _, err := r.tryDial(onesided.ConnConfig{}); err == nil || !strings.Contains(err.Error(), "2 clients already") {
				t.Fatalf("a third of two: %v", err)
			}
			if n := r.server.Stats().Clients; n != 2 {
				t.Fatalf("%d clients", n)
			}
			r.search(a, 1)
			if err := a.Close(); err != nil {
				t.Error(err)
			}
			if err := a.Close(); !errors.Is(err, rpc.ErrClosed) {
				t.Errorf("closed twice: %v", err)
			}
			b.Disconnect()
			for !b.Wait(patience) {
			}
			if b.Err() == nil || !errors.Is(b.Start(key(1)), b.Err()) {
				t.Errorf("after Disconnect: %v, %v", b.Err(), b.Start(key(1)))
			}
			_ = b.Close()
			r.eventually("all have left", func() bool { return r.server.Stats().Clients == 0 })
		}
		s := r.server.Stats()
		if s.Connects != 10 || s.Refused != 5 {
			t.Errorf("%+v", s)
		}
		r.eventually("READs are counted", func() bool { return r.server.Stats().In.In[fabric.OpRead] >= 15 })
	})
}

// A server that closes ends the connections of its clients, also in the middle of searches.
func TestServerEnds(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(1, onesided.ServerConfig{})
		c := r.dial(onesided.ConnConfig{Window: 4})
		_ = c.Start(key(1))
		r.end()
		for c.Err() == nil {
			if c.Wait(patience) {
				c.Next()
			}
		}
		if err := c.Start(key(1)); !errors.Is(err, c.Err()) {
			t.Errorf("%v after %v", err, c.Err())
		}
		if _, err := r.tryDial(onesided.ConnConfig{}); err == nil {
			t.Error("connected with nobody")
		}
	})
}

func TestRefusals(t *testing.T) {
	r := newRig(t, fabrics[0])
	r.make(1, onesided.ServerConfig{})
	if _, err := r.tryDial(onesided.ConnConfig{}); err == nil || !strings.Contains(err.Error(), "nothing to read") {
		t.Errorf("before Open: %v", err)
	}
	r.open()
	if _, err := r.tryDial(onesided.ConnConfig{Table: 1}); err == nil || !strings.Contains(err.Error(), "table 1 wanted, there are 1") {
		t.Errorf("no such table: %v", err)
	}
	failed := errors.New("not mine")
	cfg := onesided.ConnConfig{NewFinder: func([]byte) (store.Finder, error) { return nil, failed }}
	if _, err := r.tryDial(cfg); !errors.Is(err, failed) {
		t.Errorf("a layout that is not understood: %v", err)
	}
	if _, err := onesided.Dial(t.Context(), r.addr, onesided.ConnConfig{Window: -1, Buffer: 1, Table: 5000}); err == nil ||
		strings.Count(err.Error(), "\n") != 4 {
		t.Errorf("five faults: %v", err)
	}
	if _, err := onesided.NewServer(onesided.ServerConfig{MaxClients: -1}); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("two faults: %v", err)
	}
	// Memory of others is not exported.
	own, err := store.NewArena(nil).Export("own", 64, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.server.Open([]store.Export{{Areas: []store.Block{own}}}); !errors.Is(err, fabric.ErrInvalid) {
		t.Errorf("memory of another arena: %v", err)
	}
	_ = own.Free()
	r.eventually("all have left", func() bool { return r.server.Stats().Clients == 0 })
}
