package fabrictest

import (
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// HandClock is a clock that a test moves. It stands at one hour when it is made.
type HandClock struct {
	now  atomic.Int64
	left atomic.Int64 // readings until it jumps; 0: it does not
	jump atomic.Int64
}

// NewHandClock returns a clock that stands still.
func NewHandClock() *HandClock {
	c := &HandClock{}
	c.now.Store(int64(time.Hour))
	return c
}

// Now implements fabric.Clock.
func (c *HandClock) Now() int64 {
	if c.left.Load() > 0 && c.left.Add(-1) == 0 {
		c.now.Add(c.jump.Load())
	}
	return c.now.Load()
}

// Advance moves the clock.
func (c *HandClock) Advance(d time.Duration) { c.now.Add(int64(d)) }

// JumpAt moves the clock with its nth reading from now on.
func (c *HandClock) JumpAt(n int64, d time.Duration) {
	c.jump.Store(int64(d))
	c.left.Store(n)
}

// Device returns d with this clock for its users. What the device does itself goes by its
// own clock.
func (c *HandClock) Device(d fabric.Device) fabric.Device { return handDevice{d, c} }

type handDevice struct {
	fabric.Device
	clock fabric.Clock
}

// Clock implements fabric.Device.
func (d handDevice) Clock() fabric.Clock { return d.clock }
