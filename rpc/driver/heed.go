package driver

// How many callers are looked after when there were results, and when there were none
// for a while: so that it costs little beside a call, and a thousand take a few
// milliseconds.
const (
	heedBusy = 8
	heedIdle = 256
)

// heed wakes callers whose contexts have ended, among the next n of those that wait (D6).
func (c *Client) heed(n int) {
	if c.parked.Load() == 0 {
		return
	}
	total := c.count + len(c.waiting)
	for range min(n, total) {
		if c.heeded >= total {
			c.heeded = 0
		}
		if p := c.unfinished(c.heeded); p.ended() {
			p.wake()
		}
		c.heeded++
	}
}

// unfinished is one of the calls that have no result, by its place among them.
func (c *Client) unfinished(i int) *Pending {
	if i < c.count {
		return c.sent[(c.first+i)%len(c.sent)]
	}
	return c.waiting[i-c.count]
}

// ended reports whether the driver is to wake the caller, since its context has ended.
func (p *Pending) ended() bool {
	if p.end == nil {
		return false
	}
	select {
	case <-p.end:
		return true
	default:
		return false
	}
}
