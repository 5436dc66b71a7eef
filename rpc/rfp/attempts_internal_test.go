package rfp

import (
	"math/rand/v2"
	"testing"
)

// caller makes calls of one class, one at a time, in a world in which only polls take
// time. It does what a Conn does when its READs end.
type caller struct {
	attempts
	class
	p   Params
	rng *rand.Rand
	now int64

	reads, misses, switches, fetched int
}

const (
	pollNanos = 13  // of one poll
	wayNanos  = 400 // of a request and its answer, of which the server does not know
)

func newCaller(retries int) *caller {
	c := &caller{rng: rand.New(rand.NewPCG(1, 2))}
	c.p.Retries = retries
	c.p.setDefaults()
	c.allow(c.p.Retries)
	return c
}

// calls makes n calls that take about nanos, and forgets what was counted before.
func (c *caller) calls(n int, nanos int64) {
	c.reads, c.misses, c.switches, c.fetched = 0, 0, 0, 0
	for range n {
		c.call(nanos + c.rng.Int64N(nanos/10+1))
	}
}

// call makes a call for which the server takes so long.
func (c *caller) call(nanos int64) {
	began := c.now
	if c.mode == Fetch {
		c.fetched++
		c.fetch(began, nanos+wayNanos)
	}
	c.now = max(c.now, began+nanos+wayNanos)
	told := nanos
	if c.mode == Fetch {
		told = 0
	}
	if c.answered(&c.p, c.tries, 1, told) {
		c.lower(int(told * int64(c.overdue) / c.hybrid.limit))
		c.change(Fetch, &c.p)
		c.switches++
	}
	c.attempts.reset()
}

func (c *caller) fetch(began, due int64) {
	c.attempts.begin(&c.patience, alone)
	for here := false; !here && c.mode == Fetch; {
		c.now += int64(c.pausing) * pollNanos
		here = c.now >= began+due
		c.now += int64(c.readPolls) * pollNanos
		c.reads++
		had := c.tries
		if here {
			if c.attempts.hit(&c.patience) {
				c.tries = c.saved()
			}
		} else {
			c.misses++
			c.tries = c.attempts.missed(&c.patience)
		}
		if c.class.failed(&c.p, had, c.tries, 1, began, func() int64 { return c.now }) {
			c.change(Reply, &c.p)
			c.switches++
		}
	}
}

// slowNanos is what a server takes at least for a call that is slow.
func (c *caller) slowNanos() int64 { return int64(c.overdue)*pollNanos - wayNanos }

func TestQuickCallsAreFetched(t *testing.T) {
	c := newCaller(0)
	for _, percent := range []int64{10, 30, 60, 80} {
		c.calls(20_000, c.slowNanos()*percent/100)
		if c.fetched != 20_000 || c.switches != 0 {
			t.Errorf("calls that take %d %% of what is slow: %d fetched, %d switches", percent, c.fetched, c.switches)
		}
		if c.misses > 20_000/10 {
			t.Errorf("calls that take %d %% of what is slow: %d READs failed, patience %d", percent, c.misses, c.polls(alone))
		}
	}
}

// A client that has become patient as calls became slower sees hardly any READ fail.
// They are slow all the same.
func TestPatienceDoesNotHideSlowCalls(t *testing.T) {
	for _, retries := range []int{2, 4, 5} {
		c := newCaller(retries)
		for percent := int64(20); c.mode == Fetch && percent < 300; percent++ {
			c.calls(2_000, c.slowNanos()*percent/100)
			if c.switches == 0 && c.misses > 2_000/2 {
				t.Errorf("R = %d: %d READs of %d calls failed, and the mode is still %v", retries, c.misses, 2_000, c.mode)
			}
			if percent > 115 && c.switches == 0 {
				t.Fatalf("R = %d: calls that take %d %% of what is slow are fetched, with patience %d of %d", retries, percent, c.polls(alone), c.overdue)
			}
		}
	}
}

func TestServerThatBecomesQuickIsFetchedFrom(t *testing.T) {
	c := newCaller(0)
	for range 3 {
		c.calls(2_000, 2*c.slowNanos())
		if c.mode != Reply || c.fetched > 100 {
			t.Fatalf("slow calls: mode %v, %d fetched, %d switches", c.mode, c.fetched, c.switches)
		}
		c.calls(2_000, c.slowNanos()/2)
		if c.mode != Fetch || c.fetched < 2_000-10 {
			t.Fatalf("quick calls: mode %v, %d fetched, %d switches", c.mode, c.fetched, c.switches)
		}
	}
}

// Whatever calls take, the mode does not go to and fro: between slow and quick there
// is a distance. Where R READs cover little more than the ways of request and answer
// take, it is too short, and returns become seldom.
func TestBorderIsCrossedSeldom(t *testing.T) {
	for retries, most := range map[int]int{2: 200, 3: 200, 5: 4, 7: 4, 20: 4} {
		for percent := int64(20); percent <= 200; percent += 2 {
			c := newCaller(retries)
			if c.calls(10_000, c.slowNanos()*percent/100); c.switches > most {
				t.Errorf("R = %d, calls that take %d %% of what is slow: %d switches", retries, percent, c.switches)
			}
		}
	}
}

// With R = 1 READs cover less than the ways of request and answer take. All calls are
// slow, and all answers seem to be quick.
func TestLimitThatDoesNotFitCostsLittle(t *testing.T) {
	c := newCaller(1)
	if c.calls(10_000, 50); c.switches < 2 || c.switches > 100 || c.fetched > 100 {
		t.Errorf("%d switches, %d fetched", c.switches, c.fetched)
	}
}

// A machine that is busy now and then makes calls slow which are not, and makes the
// time that READs cover seem long.
func TestStallsDoNotDecide(t *testing.T) {
	for percent, want := range map[int64]Mode{50: Fetch, 130: Reply} {
		c := newCaller(0)
		of := map[Mode]int{}
		nanos := c.slowNanos() * percent / 100
		for i := range 20_000 {
			of[c.mode]++
			if i%200 < c.p.SlowCalls {
				c.call(100 * nanos)
			} else {
				c.call(nanos)
			}
		}
		if of[want] < 18_000 {
			t.Errorf("calls that take %d %% of what is slow: %v", percent, of)
		}
	}
}

func TestReadsInPatience(t *testing.T) {
	for _, readPolls := range []int{leastReadPolls, 80} {
		for n := 1; pollsOf(n, readPolls) <= maxPatience; n++ {
			polls := pollsOf(n, readPolls)
			if got := readsIn(polls, readPolls); got != n {
				t.Errorf("%d READs of %d polls fail in %d polls, and in these %d", n, readPolls, polls, got)
			}
			if got := readsIn(polls-1, readPolls); got != n-1 {
				t.Errorf("a poll less than for %d READs of %d polls, and %d fail", n, readPolls, got)
			}
		}
	}
}

// Where READs take long, patience stands for fewer of them.
func TestLongReadsAreLearned(t *testing.T) {
	c := newCaller(0)
	had := c.overdue
	for range 100 {
		c.took(80, c.p.Retries)
	}
	if c.readPolls < 72 || readsIn(had, c.readPolls) > c.p.Retries || c.overdue <= had {
		t.Errorf("READs of 80 polls are taken for %d; overdue are %d polls, before %d", c.readPolls, c.overdue, had)
	}
}
