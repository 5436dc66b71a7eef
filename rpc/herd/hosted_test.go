package herd_test

import (
	"context"
	"encoding/binary"
	"sync"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/herd"
	"github.com/remora-kv/remora/rpc/rfp"
)

var _ rfp.Guest = (*herd.Core)(nil)

// serveBoth starts an rfp server whose cores serve herd as well, at one address.
func (r *rig) serveBoth(cores int) *rfp.Server {
	r.t.Helper()
	r.device = r.newDevice()
	var host *rfp.Server
	s, err := herd.NewServer(herd.ServerConfig{
		Devices: []fabric.Device{r.device}, Serve: r.mux.Serve, Cores: cores,
		Wake: func(core int) { host.Wake(core) },
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = s.Close() })
	guests := make([]rfp.Guest, cores)
	for i := range guests {
		guests[i] = s.Core(i)
	}
	host, err = rfp.NewServer(rfp.ServerConfig{
		Device: r.device, Serve: r.mux.Serve, Cores: cores, Guests: guests, Admit: s.Admit,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = host.Close() })
	if r.addr, err = host.Listen(r.listenAddr(), fabric.ListenConfig{}); err != nil {
		r.t.Fatal(err)
	}
	r.server = s
	return host
}

// Clients of both paths count with the same counters, which only the goroutine of their
// core may touch: the race detector would see another.
func TestTwoPathsOnOneCore(t *testing.T) {
	calls := scaled(2000)
	if testing.Short() || raceBuild {
		calls = 300
	}
	eachFabric(t, func(t *testing.T, r *rig) {
		handleCount(r)
		r.serveBoth(2)
		var wg sync.WaitGroup
		for i := range 2 {
			c := r.dial(herd.ConnConfig{})
			wg.Go(func() {
				if err := countUp(c, uint32(i), calls, 0); err != nil {
					t.Errorf("herd: %v; %+v", err, c.Stats())
				}
			})
			f, err := rfp.DialClient(context.Background(), r.addr, rfp.ConnConfig{Device: r.newDevice(), Core: i})
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

// A host that sleeps is woken for its guest.
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
		if n := c.Stats(); n.Retries != 0 || n.Rings == 0 {
			t.Errorf("%+v; %+v", n, r.server.Stats())
		}
	})
}

// The host ends first, then its guest; clients are told.
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
