package herd

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/internal/fence"
)

// timer watches the oldest request to a core that has no reply.
type timer struct {
	number uint64 // which it is; 0 when there is none
	seen   int64  // when it was last seen to have none
	spent  int64  // how long it has been tried, while the program polled
	next   int64  // when it is sent again
	pause  time.Duration
	tries  int
}

// slowest is how much longer than the first the pauses between retries become.
const slowest = 32

// idleWait bounds a wait while nothing is to be sent again.
const idleWait = 100 * time.Millisecond

// watch sends again what is late (H4), and returns how long it is until something else
// is. The time of a request counts from the first look at the clock that finds it
// without a reply, so that sending costs none.
func (c *Conn) watch() time.Duration {
	now, limit := c.end.Clock.Now(), idleWait
	for i := range c.coreConns {
		if cc := &c.coreConns[i]; cc.first != cc.next {
			cc.watch(now)
			if cc.timer.number != 0 {
				limit = min(limit, max(time.Duration(cc.timer.next-now), time.Nanosecond))
			}
		}
	}
	return limit
}

func (cc *CoreConn) watch(now int64) {
	c, t := cc.conn, &cc.timer
	number, mask := cc.mask()
	if mask == 0 {
		number = 0
	}
	if number != t.number {
		*t = timer{number: number, seen: now, next: now + int64(c.cfg.RetryAfter), pause: c.cfg.RetryAfter}
		return
	}
	// A client that was stopped, or does not look, has not tried meanwhile.
	t.spent += min(now-t.seen, int64(slowest*c.cfg.RetryAfter))
	t.seen = now
	if number == 0 || now < t.next {
		return
	}
	if t.spent > int64(c.cfg.GiveUp) {
		c.end.Fail(fmt.Errorf("%w: core %d has not answered for %v, asked %d times", ErrNoAnswer, cc.core, c.cfg.GiveUp, t.tries+1))
		return
	}
	t.tries++
	t.pause = min(2*t.pause, slowest*c.cfg.RetryAfter)
	t.next = now + int64(t.pause)
	cc.retry(number, mask)
}

// retry writes all requests without a reply again, and sends a wake-up.
func (cc *CoreConn) retry(number, mask uint64) {
	c := cc.conn
	for ; mask != 0; mask, number = mask>>1, number+1 {
		if mask&1 == 0 {
			continue
		}
		if !c.sender.room(c) {
			break
		}
		n := c.write(cc, number, true)
		if n == 0 {
			return
		}
		cc.entries[cc.at(number)].again = n
		fence.Count(&c.stats.retries, 1)
	}
	cc.sendWakeup()
}

// connStats are counts of a connection.
type connStats struct {
	calls, replies, retries, wakeups, unexpected atomic.Uint64
}

// ConnStats are counts since the connection was made. They may be read from any
// goroutine.
type ConnStats struct {
	Calls      uint64 // requests sent
	Replies    uint64 // results taken
	Retries    uint64 // of them that were sent again, each time
	Wakeups    uint64 // wake-ups of the server, and requests for replies
	Unexpected uint64 // datagrams that were no reply to anything outstanding
}

// Stats returns the counts.
func (c *Conn) Stats() ConnStats {
	s := &c.stats
	return ConnStats{
		Calls: s.calls.Load(), Replies: s.replies.Load(), Retries: s.retries.Load(), Wakeups: s.wakeups.Load(), Unexpected: s.unexpected.Load(),
	}
}
