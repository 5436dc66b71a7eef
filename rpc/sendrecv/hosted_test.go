package sendrecv_test

import (
	"sync/atomic"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/rpc/sendrecv"
	"github.com/remora-kv/remora/test/rpctest"
	"github.com/remora-kv/remora/test/scale"
)

// watched is a core whose sleeps are counted.
type watched struct {
	rpc.Poller
	befores, wakes atomic.Int64
}

func (w *watched) BeforeSleep() {
	w.Poller.BeforeSleep()
	w.befores.Add(1)
}

func (w *watched) AfterSleep() {
	w.Poller.AfterSleep()
	w.wakes.Add(1)
}

// serveBoth starts an rfp server whose cores serve sendrecv as well, at one address of
// its last device.
func (r *rig) serveBoth(cores int, before ...fabric.Device) (host *rfp.Server, polled []*watched) {
	r.Helper()
	host, r.server = rpctest.Host(r.Rig, cores, before, func(devices []fabric.Device, wake func(core int)) (*sendrecv.Server, error) {
		return sendrecv.NewServer(sendrecv.ServerConfig{Devices: devices, Serve: r.Mux.Serve, Cores: cores, Wake: wake})
	}, func(p rpc.Poller) rpc.Poller {
		w := &watched{Poller: p}
		polled = append(polled, w)
		return w
	})
	return host, polled
}

// Clients of both paths are served by the same goroutine. Both ask for RC: the greeting
// tells them apart.
func TestTwoPathsOnOneCore(t *testing.T) {
	calls := scale.Times(500)
	if testing.Short() || scale.Race {
		calls = 300
	}
	eachFabric(t, func(t *testing.T, r *rig) {
		r.HandleCount()
		r.serveBoth(2)
		r.CountBeside(calls, func(i int) func() error {
			c := r.dial(sendrecv.ConnConfig{Core: i})
			return func() error { _, _, err := countUp(c, uint32(i), calls, 0); return err }
		})
	})
}

// A host that sleeps is woken by a request for its poller, on any device (S9).
func TestSleepingHostIsWoken(t *testing.T) {
	for _, which := range []string{"the only device", "the second device"} {
		t.Run(which, func(t *testing.T) {
			eachFabric(t, func(t *testing.T, r *rig) {
				var before []fabric.Device
				if which == "the second device" {
					before = append(before, r.NewDevice())
				}
				_, cores := r.serveBoth(2, before...)
				conns := []*sendrecv.Conn{r.dial(sendrecv.ConnConfig{}), r.dial(sendrecv.ConnConfig{Core: 1})}
				for range scale.Times(20) {
					for core, c := range conns {
						w := cores[core]
						await(t, "the core to sleep", func() bool { c.Poll(); return w.befores.Load() > w.wakes.Load() })
						if got, err := call(c, procEcho, []byte("up")); err != nil || string(got) != "up" {
							t.Fatalf("%q, %v", got, err)
						}
					}
				}
			})
		})
	}
}

// So is a core without a host.
func TestSleepingCoreIsWoken(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.serve(sendrecv.ServerConfig{})
		c := r.dial(sendrecv.ConnConfig{})
		for n := range uint64(scale.Times(20)) {
			await(t, "the core to sleep", func() bool { c.Poll(); return s.Sleeps(0) > n })
			if got, err := call(c, procEcho, []byte("up")); err != nil || string(got) != "up" {
				t.Fatalf("%q, %v", got, err)
			}
		}
	})
}

// The host ends first, then its poller; clients see it.
func TestHostGoes(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		host, _ := r.serveBoth(1)
		c := r.dial(sendrecv.ConnConfig{})
		if _, err := call(c, procEcho, nil); err != nil {
			t.Fatal(err)
		}
		if err := host.Close(); err != nil {
			t.Error(err)
		}
		if err := r.server.Close(); err != nil {
			t.Error(err)
		}
		await(t, "the end", func() bool { c.Poll(); return c.Err() != nil })
		if st := r.server.Stats(); st.Clients != 0 || st.Memory != 0 {
			t.Errorf("left behind: %+v", st)
		}
	})
}
