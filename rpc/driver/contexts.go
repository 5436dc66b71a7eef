package driver

// How many contexts a driver checks after results, and how many after a time without any:
// little work beside a call, and a few milliseconds for a thousand callers.
const (
	checkBusy = 8
	checkIdle = 256
)

// checkContexts wakes callers whose contexts have ended, among the next n that wait (D6).
func (c *Client) checkContexts(n int) {
	if c.parked.Load() == 0 {
		return
	}
	total := c.count + len(c.waiting)
	for range min(n, total) {
		if c.checked >= total {
			c.checked = 0
		}
		if p := c.unfinished(c.checked); p.ended() {
			p.wake()
		}
		c.checked++
	}
}

// unfinished is the i-th call without a result.
func (c *Client) unfinished(i int) *Pending {
	if i < c.count {
		return c.sent[(c.first+i)%len(c.sent)]
	}
	return c.waiting[i-c.count]
}

// ended reports whether the context of a caller that the driver watches has ended.
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
