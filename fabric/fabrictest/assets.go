package fabrictest

import (
	"errors"

	"github.com/remora-kv/remora/fabric"
)

// assets are what a case has made, by kind, to be closed in the order that the
// contract asks for. The mutex of the trial guards them.
type assets struct {
	domainOf  map[fabric.Device]fabric.Domain // the usual one
	deviceOf  map[fabric.Domain]fabric.Device
	listen    fabric.Listener
	qps       []asset
	waiters   []asset
	handles   []asset
	listeners []asset
	cqs       []asset
	regions   []asset
	domains   []asset
	devices   []fabric.Device
}

// asset is something to be closed.
type asset struct {
	what  string
	close func() error
	// ofB: the error is ignored when B was killed.
	ofB bool
}

func (t *trial) keep(list *[]asset, what string, ofB bool, closer func() error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*list = append(*list, asset{what: what, close: closer, ofB: ofB})
}

func (t *trial) keepRegion(r *fabric.Region) {
	t.mu.Lock()
	ofB := t.deviceOf[r.Domain()] == t.world.B
	t.mu.Unlock()
	t.keep(&t.regions, "Region", ofB, r.Close)
}

// domain returns the domain of a device that cases use unless they need
// another.
func (t *trial) domain(dev fabric.Device) fabric.Domain {
	t.Helper()
	t.mu.Lock()
	d := t.domainOf[dev]
	t.mu.Unlock()
	if d != nil {
		return d
	}
	d = t.newDomain(dev)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.domainOf == nil {
		t.domainOf = map[fabric.Device]fabric.Domain{}
	}
	t.domainOf[dev] = d
	return d
}

func (t *trial) newDomain(dev fabric.Device) fabric.Domain {
	t.Helper()
	d, err := dev.NewDomain()
	t.must("NewDomain", err)
	t.keep(&t.domains, "Domain", dev == t.world.B, d.Close)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.deviceOf == nil {
		t.deviceOf = map[fabric.Domain]fabric.Device{}
	}
	t.deviceOf[d] = dev
	return d
}

// cq makes a completion queue.
func (t *trial) cq(dev fabric.Device, depth int) fabric.CQ {
	t.Helper()
	cq, err := dev.NewCQ(depth)
	t.must("NewCQ", err)
	t.keep(&t.cqs, "CQ", dev == t.world.B, cq.Close)
	if cq.Depth() < depth {
		t.Fatalf("NewCQ(%d) has depth %d", depth, cq.Depth())
	}
	return cq
}

// listener returns the listener that pairs are connected through.
func (t *trial) listener() fabric.Listener {
	t.Helper()
	if t.listen == nil {
		t.listen = t.newListener(fabric.ListenConfig{})
	}
	return t.listen
}

func (t *trial) newListener(cfg fabric.ListenConfig) fabric.Listener {
	t.Helper()
	l, err := t.world.A.Listen(t.world.Listen(), cfg)
	t.must("Listen", err)
	t.keep(&t.listeners, "Listener", false, l.Close)
	return l
}

// waiter makes a waiter.
func (t *trial) waiter(dev fabric.Device, cfg fabric.WaitConfig) fabric.Waiter {
	t.Helper()
	w, err := dev.NewWaiter(cfg)
	t.must("NewWaiter", err)
	t.keep(&t.waiters, "Waiter", dev == t.world.B, w.Close)
	return w
}

// fresh returns a device other than A and B, or nil when the world has none.
func (t *trial) fresh() fabric.Device {
	if t.world.Fresh == nil {
		return nil
	}
	d := t.world.Fresh()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.devices = append(t.devices, d)
	return d
}

// kill makes B vanish.
func (t *trial) kill() {
	t.mu.Lock()
	t.killed = true
	t.mu.Unlock()
	t.world.Kill()
}

// teardown closes everything, the devices too.
func (t *trial) teardown() {
	if t.world == nil {
		return
	}
	t.release()
	for _, d := range append([]fabric.Device{t.world.B, t.world.A}, t.devices...) {
		err := d.Close()
		if err != nil && !errors.Is(err, fabric.ErrClosed) && !(d == t.world.B && t.killed) && !t.stop.Load() {
			t.Errorf("Device.Close: %v", err)
		}
	}
	t.cleanUp()
}

// release closes all but the devices (T4): queue pairs before the regions they
// use, what has parts after its parts.
func (t *trial) release() {
	for _, list := range [][]asset{t.qps, t.handles, t.waiters, t.listeners, t.cqs, t.regions, t.domains} {
		for _, a := range list {
			err := a.close()
			if err != nil && !errors.Is(err, fabric.ErrClosed) && !(a.ofB && t.killed) && !t.stop.Load() {
				t.Errorf("%s.Close: %v", a.what, err)
			}
		}
	}
}

// cleanUp calls what was registered by Cleanup.
func (t *trial) cleanUp() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
}
