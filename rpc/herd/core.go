package herd

import (
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/internal/serving"
)

// core serves the chunks of one core. It is what a host polls (rpc.Poller).
type core struct {
	serving.Core
	server   *Server
	replyQPs []*replyQP

	chunks  serving.List[chunk]
	hot     serving.List[chunk] // whose requests are looked for
	retired []*chunk            // let go, with SENDs that are not known to be complete
	pipe    pipeline

	stats coreStats
}

var _ rpc.Poller = (*core)(nil)

func (s *Server) newCore(index int) (*core, error) {
	c := &core{server: s}
	c.Init(s.base.Acceptor, index)
	c.pipe.init(&s.cfg)
	for _, r := range s.registries {
		q, err := newReplyQP(r, s.cfg.Inline)
		if err != nil {
			c.closeReplyQPs()
			return nil, err
		}
		c.replyQPs = append(c.replyQPs, q)
	}
	if err := c.InitWaiter(c.replyQPs[0].cq, c); err != nil {
		c.closeReplyQPs()
		return nil, err
	}
	return c, nil
}

// Moves returns what a core without a host does.
func (c *core) Moves() serving.Moves {
	return serving.Moves{Work: c.work, Poll: func() bool { return c.Step() || c.Waiter.Crowded() && c.Flush() || c.Stopping() }, Close: c.Close}
}

func (c *core) work() {
	for c.More(c.Step()) {
	}
}

func (c *core) closeReplyQPs() {
	for _, q := range c.replyQPs {
		q.close()
	}
}

// replyQPOn returns the reply QP on a device, nil when there is none.
func (c *core) replyQPOn(dev fabric.Device) *replyQP {
	return serving.On(c.server.base.Acceptor, c.replyQPs, dev)
}

// Step looks at everything once, and reports whether there was work. A handler that panics ends
// the look: the next one goes on.
func (c *core) Step() bool {
	worked := c.step()
	if c.Panic != nil {
		c.goOn()
		return true
	}
	return worked
}

func (c *core) step() (worked bool) {
	defer c.Catch()
	for _, ch := range c.hot.All {
		if fence.Observe64(ch.slots[ch.slot].stamp) == ch.stamp && !ch.doubt.Waits(c.Sweep) && c.take(ch) {
			worked = true
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
		c.renewReplyQPs()
	}
	return worked
}

// Empty reports whether there are no clients.
func (c *core) Empty() bool { return len(c.chunks.All) == 0 && len(c.retired) == 0 && !c.HasMail() }

// look takes the work that other goroutines left for the core.
func (c *core) look() {
	c.renewReplyQPs()
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
	c.closeReplyQPs()
	for len(c.chunks.All) != 0 {
		c.drop(c.chunks.All[len(c.chunks.All)-1])
	}
	c.retire()
}
