package herd

import (
	"math/bits"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc/internal/serving"
)

// heat puts a chunk among those whose requests are looked for. What the client wrote before it
// sent a wake-up is there (G3).
func (c *core) heat(ch *chunk) {
	c.hot.Add(ch, &ch.hotAt)
	ch.doubt.Clear()
	ch.lastSeen, ch.parked = c.Sweep, false
}

// requested reports whether the next request is there. Of one that does not fit its checksum, a
// wake-up will say when it is.
func (ch *chunk) requested() bool {
	return fence.Observe64(ch.slots[ch.slot].stamp) == ch.stamp && !ch.doubt.Any()
}

// park tells the client that its chunk is ignored (H9); the caller looks once
// more.
func (c *core) park(ch *chunk) {
	if !ch.parked {
		ch.parked = true
		c.stats.parks.Add(1)
		c.notify(ch, kindParked)
	}
}

// parkIdle parks chunks that have been silent for long.
func (c *core) parkIdle() {
	c.hot.RemoveIf(func(ch *chunk) bool {
		if len(c.hot.All) == 1 || c.Sweep-ch.lastSeen <= serving.ParkAfter {
			return false
		}
		c.park(ch)
		return !ch.requested()
	})
}

// BeforeSleep is called before the core sleeps; Pending, the last look, follows.
func (c *core) BeforeSleep() {
	c.Flush()
	for _, q := range c.replyQPs {
		q.reap()
	}
	for _, ch := range c.hot.All {
		c.park(ch)
	}
}

// Pending reports whether there is something to do. It does nothing itself.
func (c *core) Pending() bool {
	if c.HasMail() || len(c.retired) != 0 {
		return true
	}
	for _, ch := range c.hot.All {
		if ch.requested() {
			return true
		}
	}
	return false
}

// Queue returns the completion queue of the reply QP on a device, nil where there is none,
// for the host to sleep at.
func (c *core) Queue(dev fabric.Device) fabric.CQ {
	if q := c.replyQPOn(dev); q != nil {
		return q.cq
	}
	return nil
}

// Reap takes the completions in it, for which no thread has to wake. Between BeforeSleep and AfterSleep
// the goroutine that has the queues of the device may call it.
func (c *core) Reap(dev fabric.Device) bool {
	if q := c.replyQPOn(dev); q != nil {
		q.reap()
	}
	return false
}

// AfterSleep is called after the sleep: a client whose chunk is still parked will send a wake-up.
func (c *core) AfterSleep() {
	c.Tick()
	c.hot.RemoveIf(func(ch *chunk) bool { return ch.parked && !ch.requested() })
}

// answerWakeup looks at a chunk again, and sends the replies again that the client has
// not got (H2).
func (c *core) answerWakeup(ch *chunk) {
	ch.mu.Lock()
	r := ch.wakeup
	ch.hasWakeup = false
	ch.mu.Unlock()
	if ch.gone {
		return
	}
	fence.Count(&c.stats.wakeups, 1)
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
