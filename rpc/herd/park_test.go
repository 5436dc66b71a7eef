package herd_test

import (
	"testing"
	"time"

	"github.com/remora-kv/remora/rpc/herd"
)

// A core sleeps when nobody calls, says so, and is woken by the next request long
// before that is late (H9).
func TestSleepingCoreIsRung(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.serve(herd.ServerConfig{Cores: 2})
		c := r.dial(herd.ConnConfig{RetryAfter: patience, GiveUp: 2 * patience})
		for round := range 5 {
			before := s.Stats().Parks
			await(t, "the cores to park the client", func() bool {
				c.Poll()
				return s.Stats().Hot == 0 && (round == 0 || s.Stats().Parks >= before)
			})
			for core := range 2 {
				if got, err := call(c, core, procEcho, []byte("up")); err != nil || string(got) != "up" {
					t.Fatalf("%q, %v", got, err)
				}
			}
		}
		if n := c.Stats(); n.Retries != 0 || n.Wakeups == 0 {
			t.Errorf("%+v; %+v", n, s.Stats())
		}
	})
}

// When word that it sleeps is lost, the timer sends the wake-up (H4, H9).
func TestSleepingCoreIsWokenByTime(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.Plan = "seed=1; ud.drop=30%"
		s := r.serve(herd.ServerConfig{})
		c := r.dial(herd.ConnConfig{RetryAfter: time.Millisecond})
		for range 20 {
			await(t, "the core to park the client", func() bool { return s.Stats().Hot == 0 })
			if got, err := call(c, 0, procEcho, []byte("up")); err != nil || string(got) != "up" {
				t.Fatalf("%q, %v", got, err)
			}
		}
	})
}

// Of many clients only those that call are polled.
func TestIdleClientsAreParked(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.serve(herd.ServerConfig{MaxClients: 64})
		dev := r.NewDevice()
		conns := make([]*herd.Conn, 20)
		for i := range conns {
			conns[i] = r.dial(herd.ConnConfig{Device: dev})
		}
		await(t, "one client to be left", func() bool {
			if _, err := call(conns[0], 0, procEcho, nil); err != nil {
				t.Fatal(err)
			}
			return s.Stats().Hot <= 1
		})
		for i, c := range conns {
			if got, err := call(c, 0, procEcho, []byte{byte(i)}); err != nil || len(got) != 1 || got[0] != byte(i) {
				t.Errorf("client %d: %v, %v", i, got, err)
			}
		}
	})
}
