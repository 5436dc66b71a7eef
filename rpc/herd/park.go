package herd

import (
	"math/bits"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

// heat puts a chunk among those whose requests are looked for.
func (c *Core) heat(ch *chunk) {
	if ch.hotAt < 0 {
		ch.hotAt = len(c.hot)
		c.hot = append(c.hot, ch)
	}
	ch.lastSeen, ch.parked = c.sweep, false
}

// cool takes it out.
func (c *Core) cool(ch *chunk) {
	if at := ch.hotAt; at >= 0 {
		last := c.hot[len(c.hot)-1]
		c.hot[at], last.hotAt = last, at
		c.hot[len(c.hot)-1] = nil
		c.hot = c.hot[:len(c.hot)-1]
		ch.hotAt = -1
	}
}

// requested reports whether the next request is there.
func (ch *chunk) requested() bool {
	return fence.Observe64(ch.slots[ch.slot].stamp) == ch.stamp
}

// park tells the client that its chunk is not looked at (H9); the caller looks once
// more.
func (c *Core) park(ch *chunk) {
	if !ch.parked {
		ch.parked = true
		c.stats.parks.Add(1)
		c.notify(ch, kindParked)
	}
}

// parkIdle parks chunks that have been silent for long.
func (c *Core) parkIdle() {
	for i := len(c.hot) - 1; i >= 0 && len(c.hot) > 1; i-- {
		if ch := c.hot[i]; c.sweep-ch.lastSeen > parkAfter {
			if c.park(ch); !ch.requested() {
				c.cool(ch)
			}
		}
	}
}

// Doze is called before the core sleeps; Pending, the last look, follows.
func (c *Core) Doze() {
	c.flush()
	for _, o := range c.outlets {
		o.reap()
	}
	for _, ch := range c.hot {
		c.park(ch)
	}
}

// Pending reports whether there is something to do. It does nothing itself.
func (c *Core) Pending() bool {
	if c.attention.Load() || len(c.retired) != 0 {
		return true
	}
	for _, ch := range c.hot {
		if ch.requested() {
			return true
		}
	}
	return false
}

// Queue returns the completion queue of the outlet on a device, nil where there is none,
// for the host to sleep at.
func (c *Core) Queue(dev fabric.Device) fabric.CQ {
	if o := c.outletOn(dev); o != nil {
		return o.cq
	}
	return nil
}

// Reap takes what is in it, which nobody has to wake for. Between Doze and Undoze whoever
// has the queues of the device may call it.
func (c *Core) Reap(dev fabric.Device) bool {
	if o := c.outletOn(dev); o != nil {
		o.reap()
	}
	return false
}

// Undoze is called after the sleep: who is still parked will ring.
func (c *Core) Undoze() {
	c.tick()
	for i := len(c.hot) - 1; i >= 0; i-- {
		if ch := c.hot[i]; ch.parked && !ch.requested() {
			c.cool(ch)
		}
	}
}

// answerRing looks at a chunk again, and sends the replies again that the client has
// not got (H2).
func (c *Core) answerRing(ch *chunk) {
	c.mu.Lock()
	r := ch.ring
	ch.hasRing = false
	c.mu.Unlock()
	if ch.gone {
		return
	}
	fence.Count(&c.stats.rings, 1)
	c.heat(ch)
	if r.mask == 0 {
		c.notify(ch, kindWelcome)
		return
	}
	for mask := r.mask; mask != 0; mask &= mask - 1 {
		number := r.number + uint64(bits.TrailingZeros64(mask))
		at := &ch.replies[(number-1)%uint64(len(ch.replies))]
		if at.size != 0 && at.number == number {
			c.reply(ch, at, true)
		}
	}
}
