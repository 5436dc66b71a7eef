package herd_test

import (
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/herd"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/test/rpctest"
	"github.com/remora-kv/remora/test/scale"
)

// serveBoth starts an rfp server whose cores serve herd as well, at one address of its
// last device.
func (r *rig) serveBoth(cores int, before ...fabric.Device) (host *rfp.Server) {
	r.Helper()
	host, r.server = rpctest.Host(r.Rig, cores, before, func(devices []fabric.Device, wake func(core int)) (*herd.Server, error) {
		return herd.NewServer(herd.ServerConfig{Devices: devices, Serve: r.Mux.Serve, Cores: cores, Wake: wake})
	}, nil)
	return host
}

// Clients of both paths are served by the same goroutine.
func TestTwoPathsOnOneCore(t *testing.T) {
	calls := scale.Times(2000)
	if testing.Short() || scale.Race {
		calls = 300
	}
	eachFabric(t, func(t *testing.T, r *rig) {
		r.HandleCount()
		r.serveBoth(2)
		r.CountBeside(calls, func(i int) func() error {
			c := r.dial(herd.ConnConfig{})
			return func() error { return countUp(c, uint32(i), calls, 0) }
		})
	})
}

// A host that sleeps is woken for its poller.
func TestSleepingHostIsWoken(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serveBoth(2)
		c := r.dial(herd.ConnConfig{RetryAfter: patience, GiveUp: 2 * patience})
		for range 5 {
			await(t, "the cores to park the client", func() bool {
				c.Poll()
				return r.server.Stats().Hot == 0
			})
			for core := range 2 {
				if got, err := call(c, core, procEcho, []byte("up")); err != nil || string(got) != "up" {
					t.Fatalf("%q, %v", got, err)
				}
			}
		}
		if n := c.Stats(); n.Retries != 0 || n.Wakeups == 0 {
			t.Errorf("%+v; %+v", n, r.server.Stats())
		}
	})
}

// The host ends first, then its poller; clients see it.
func TestHostGoes(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		host := r.serveBoth(1)
		c := r.dial(herd.ConnConfig{})
		if _, err := call(c, 0, procEcho, nil); err != nil {
			t.Fatal(err)
		}
		if err := host.Close(); err != nil {
			t.Error(err)
		}
		if err := r.server.Close(); err != nil {
			t.Error(err)
		}
		await(t, "the end", func() bool { c.Poll(); return c.Err() != nil })
		if n := r.server.Stats().Clients; n != 0 {
			t.Errorf("%d clients are left", n)
		}
	})
}

// A reply that the fabric holds back goes out though the host sleeps: nothing but time
// moves it on, as the client neither sends again nor sends a wake-up.
func TestSleepingHostSendsWhatIsLate(t *testing.T) {
	for _, which := range []string{"the only device", "the second device"} {
		t.Run(which, func(t *testing.T) {
			eachFabric(t, func(t *testing.T, r *rig) { testSleepingHostSends(t, r, which == "the second device") })
		})
	}
}

func testSleepingHostSends(t *testing.T, r *rig, second bool) {
	var before []fabric.Device
	if second {
		before = append(before, r.NewDevice())
	}
	r.Plan = "seed=1; ud.delay=100%,3ms"
	r.serveBoth(1, before...)
	r.Plan = ""
	c := r.dial(herd.ConnConfig{RetryAfter: 2 * patience, GiveUp: 4 * patience})
	for range scale.Times(20) {
		if got, err := call(c, 0, procEcho, []byte("late")); err != nil || string(got) != "late" {
			t.Fatalf("%q, %v; %+v", got, err, c.Stats())
		}
	}
	if n := c.Stats(); n.Retries != 0 {
		t.Errorf("%+v; %+v", n, r.server.Stats())
	}
}
