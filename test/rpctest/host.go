package rpctest

import (
	"context"
	"encoding/binary"
	"sync"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

// Hosted is a server of another path whose cores those of an rfp server poll.
type Hosted interface {
	Poller(core int) rpc.Poller
	TryAdmit(dev fabric.Device, req fabric.ConnRequest) bool
	Close() error
}

// Host starts an rfp server whose cores serve another path as well, at one address of its last
// device, which it opens. newServer makes the other server; wrap, when not nil, stands between its
// cores and those of rfp.
func Host[S Hosted](r *Rig, cores int, before []fabric.Device, newServer func(devices []fabric.Device, wake func(core int)) (S, error),
	wrap func(rpc.Poller) rpc.Poller,
) (host *rfp.Server, hosted S) {
	r.Helper()
	r.Device = r.NewDevice()
	devices := append(append([]fabric.Device(nil), before...), r.Device)
	s, err := newServer(devices, func(core int) { host.Wake(core) })
	hosted = Opened(r, s, err)
	pollers := make([][]rpc.Poller, cores)
	for i := range pollers {
		p := hosted.Poller(i)
		if wrap != nil {
			p = wrap(p)
		}
		pollers[i] = []rpc.Poller{p}
	}
	h, err := rfp.NewServer(rfp.ServerConfig{
		Device: devices[0], Others: devices[1:], Serve: r.Mux.Serve, Cores: cores, Pollers: pollers, Admit: hosted.TryAdmit,
	})
	host = Opened(r, h, err)
	if r.Addr, err = host.ListenOn(r.Device, r.Listen, fabric.ListenConfig{}); err != nil {
		r.Fatal(err)
	}
	return host, hosted
}

// CountBeside counts on each of two cores by two clients at the same time: one of rfp, and one of
// another path, for which count does. All use the same counters, which only the goroutine of their
// core may touch: the race detector would see another.
func (r *Rig) CountBeside(calls int, count func(core int) func() error) {
	r.Helper()
	var wg sync.WaitGroup
	for core := range 2 {
		other := count(core)
		wg.Go(func() {
			if err := other(); err != nil {
				r.Error(err)
			}
		})
		c, err := rfp.DialClient(context.Background(), r.Addr, rfp.ConnConfig{Device: r.NewDevice(), Core: core})
		c = Opened(r, c, err)
		wg.Go(func() {
			arg := binary.LittleEndian.AppendUint32(nil, uint32(100+core))
			for n := range calls {
				out, err := c.Call(context.Background(), Count, arg, nil)
				if err != nil || binary.LittleEndian.Uint32(out[4:]) != uint32(n) {
					r.Errorf("rfp: call %d: %v, %v", n, out, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// Visit connects on a device, makes calls, leaves some in flight if inFlight is set, and returns the
// connection.
type Visit func(dev fabric.Device, which uint32, inFlight bool) (interface{ Close() error }, error)

// ComeAndGo has four clients come and go (ComeAndGoOnce), rounds times each, at the same time.
func (r *Rig) ComeAndGo(t *testing.T, rounds int, visit Visit) *sync.WaitGroup {
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range rounds {
				if err := r.ComeAndGoOnce(uint32(1000*g+i), i%3, visit); err != nil {
					t.Errorf("client %d: %v", 1000*g+i, err)
					return
				}
			}
		})
	}
	return &wg
}

// ComeAndGoOnce has a client come and go: after all results (how is 0), with results in flight (1), or
// by the end of its device (2).
func (r *Rig) ComeAndGoOnce(which uint32, how int, visit Visit) error {
	dev, err := r.Set.Open(r.Fabric)
	if err != nil {
		return err
	}
	defer func() { _ = dev.Close() }()
	c, err := visit(dev, which, how > 0)
	if err != nil {
		return err
	}
	if how > 1 {
		return dev.Close()
	}
	return c.Close()
}
