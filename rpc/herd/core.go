package herd

import (
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/internal/serving"
)

// core serves the chunks of one core. It is what a host polls (rpc.Poller).
type core struct {
	serving.Core
	server  *Server
	outlets []*outlet

	chunks  serving.List[chunk]
	hot     serving.List[chunk] // whose requests are looked for
	retired []*chunk            // let go, with SENDs that are not known to be complete
	pipe    pipeline

	stats coreStats
}

var _ rpc.Poller = (*core)(nil)

func newCore(s *Server, index int) (*core, error) {
	cfg := &s.cfg
	c := &core{server: s}
	c.Init(s.acceptor, index, cfg.Devices[0].Clock(), cfg.Wake)
	c.pipe.init(cfg)
	for _, r := range s.registries {
		o, err := newOutlet(r, cfg.Inline)
		if err != nil {
			c.closeOutlets()
			return nil, fmt.Errorf("herd: core %d: %w", index, err)
		}
		c.outlets = append(c.outlets, o)
	}
	if cfg.Wake == nil {
		w := fabric.WaitConfig{Policy: cfg.Policy, Doze: c.Doze, Undoze: c.Undoze, CQs: []fabric.CQ{c.outlets[0].cq}}
		var err error
		if c.Waiter, err = cfg.Devices[0].NewWaiter(w); err != nil {
			c.closeOutlets()
			return nil, fmt.Errorf("herd: core %d: %w", index, err)
		}
	}
	return c, nil
}

// start runs a core that has no host.
func (c *core) start() {
	c.Start(c.server.cfg.CPUs, serving.Moves{
		Work: c.work, Poll: func() bool { return c.Step() || c.Stopping() }, Close: c.Close,
	})
}

func (c *core) work() {
	for c.More(c.Step()) {
	}
}

func (c *core) closeOutlets() {
	for _, o := range c.outlets {
		o.close()
	}
}

// outletOn returns the outlet on a device, nil when there is none.
func (c *core) outletOn(dev fabric.Device) *outlet {
	for _, o := range c.outlets {
		if o.registry.dev == dev {
			return o
		}
	}
	return nil
}

// Step looks at everything once, and reports whether there was work.
func (c *core) Step() bool {
	worked := false
	for _, ch := range c.hot.All {
		if fence.Observe64(ch.slots[ch.slot].stamp) == ch.stamp {
			c.take(ch)
			worked = true // also when it has to wait: that is not long, and nothing wakes for it
		}
	}
	if !worked && c.pipe.busy() {
		worked = c.idle()
	}
	if c.Sweep++; c.Sweep%serving.TickEvery == 0 {
		c.Tick()
	}
	if c.Sweep%serving.LookEvery == 0 && (c.HasMail() || len(c.retired) != 0) {
		c.look()
		worked = true
	}
	if c.Sweep%serving.ParkEvery == 0 {
		c.parkIdle()
		c.mendOutlets()
	}
	return worked
}

// Empty reports whether there are no clients.
func (c *core) Empty() bool { return len(c.chunks.All) == 0 && len(c.retired) == 0 && !c.HasMail() }

// look takes what others have left for the core.
func (c *core) look() {
	c.mendOutlets()
	c.Attend()
	c.retire()
}

// Close ends the core: it lets go of all chunks. A second Close does nothing.
func (c *core) Close() {
	if !c.End(c.dropAll) {
		return
	}
	if c.Waiter != nil {
		_ = c.Waiter.Close()
	}
}

func (c *core) dropAll() {
	c.closeOutlets()
	for len(c.chunks.All) != 0 {
		c.drop(c.chunks.All[len(c.chunks.All)-1])
	}
	c.retire()
}
