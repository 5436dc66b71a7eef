package herd_test

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/herd"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/test/scale"
)

// serveBoth starts an rfp server whose cores serve herd as well, at one address of its
// last device.
func (r *rig) serveBoth(cores int, before ...fabric.Device) *rfp.Server {
	r.Helper()
	r.Device = r.NewDevice()
	devices := append(slices.Clone(before), r.Device)
	var host *rfp.Server
	s, err := herd.NewServer(herd.ServerConfig{
		Devices: devices, Serve: r.Mux.Serve, Cores: cores,
		Wake: func(core int) { host.Wake(core) },
	})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = s.Close() })
	pollers := make([][]rpc.Poller, cores)
	for i := range pollers {
		pollers[i] = []rpc.Poller{s.Poller(i)}
	}
	host, err = rfp.NewServer(rfp.ServerConfig{
		Device: devices[0], Others: devices[1:], Serve: r.Mux.Serve, Cores: cores, Pollers: pollers, Admit: s.TryAdmit,
	})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = host.Close() })
	if r.Addr, err = host.ListenOn(r.Device, r.Listen, fabric.ListenConfig{}); err != nil {
		r.Fatal(err)
	}
	r.server = s
	return host
}

// Clients of both paths count with the same counters, which only the goroutine of their
// core may touch: the race detector would see another.
func TestTwoPathsOnOneCore(t *testing.T) {
	calls := scale.Times(2000)
	if testing.Short() || scale.Race {
		calls = 300
	}
	eachFabric(t, func(t *testing.T, r *rig) {
		r.HandleCount()
		r.serveBoth(2)
		var wg sync.WaitGroup
		for i := range 2 {
			c := r.dial(herd.ConnConfig{})
			wg.Go(func() {
				if err := countUp(c, uint32(i), calls, 0); err != nil {
					t.Errorf("herd: %v; %+v", err, c.Stats())
				}
			})
			f, err := rfp.DialClient(context.Background(), r.Addr, rfp.ConnConfig{Device: r.NewDevice(), Core: i})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = f.Close() })
			wg.Go(func() {
				arg := binary.LittleEndian.AppendUint32(nil, uint32(100+i))
				for n := range calls {
					out, err := f.Call(context.Background(), procCount, arg, nil)
					if err != nil || binary.LittleEndian.Uint32(out[4:]) != uint32(n) {
						t.Errorf("rfp: call %d: %v, %v", n, out, err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
}

// A host that sleeps is woken for its poller.
func TestSleepingHostIsRung(t *testing.T) {
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

// The host ends first, then its poller; clients are told.
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
