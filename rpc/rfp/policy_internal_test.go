package rfp

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// event is what a receiver reports, and want what the policy answers.
type event struct {
	do     func(p *fetchPolicy) bool
	wait   int64 // before the next READ; -1: not looked at
	change bool
}

func missAfter(took int64) func(*fetchPolicy) bool {
	return func(p *fetchPolicy) bool { return p.missed(took) }
}

func takes(nanos int64) func(*fetchPolicy) bool {
	return func(p *fetchPolicy) bool {
		change := p.answered(nanos)
		if change {
			p.change(Fetch)
		}
		p.await(0, 1, alone, false)
		return change
	}
}

func batchOf(n int) func(*fetchPolicy) bool {
	return func(p *fetchPolicy) bool { p.await(0, n, alone, false); return false }
}

var (
	hit    = (*fetchPolicy).hit
	missed = missAfter(0)
	parked = (*fetchPolicy).parked
	read   = func(p *fetchPolicy) bool { p.reading(); return false }
	ready  = func(p *fetchPolicy) bool { p.await(0, 1, following, true); return false }
	sleeps = func(p *fetchPolicy) bool { p.beforeSleep(); return false }
	wakes  = func(p *fetchPolicy) bool { p.readNow(); return false }
)

// with sets a delay before the answer is awaited.
func with(delay int64) func(*fetchPolicy) bool {
	return func(p *fetchPolicy) bool {
		p.classes[0].delay[alone] = delay
		p.await(0, 1, alone, false)
		return false
	}
}

// fails are the READs of a call that is nearly slow.
var fails = []event{
	{missed, 80, false}, {missed, 160 + 40, false}, {missed, 320 + 140, false}, {missed, 640 + 370, false}, {missed, 1280 + 875, false},
}

var policyCases = []struct {
	name   string
	params Params
	events []event
}{
	{"P1 the delay grows and shrinks", Params{}, []event{
		{with(1024), 1024, false},
		{hit, -1, false},
		{takes(0), 1024 - 2, false},
		{with(640), 640, false},
		{missed, -1, false},
		{hit, -1, false},
		{takes(0), 660 + 20, false},
		{with(0), 0, false},
		{missed, 80, false},
		{hit, -1, false},
		{with(20), 0, false},
	}},
	{"P1 an answer that is there already is not waited for", Params{}, []event{{with(1024), 1024, false}, {ready, 0, false}}},
	{"P2 pauses double", Params{Pinned: true}, append(fails[:5:5],
		event{missed, 2560 + 1952, false}, event{missed, 5120 + 4208, false}, event{missed, 13_000, false}, event{missed, 13_000, false})},
	{"P2 pauses grow with the delay", Params{}, []event{{with(1000), 1000, false}, {missed, 80 + 500, false}, {missed, 160 + 790, false}}},
	{"P2 long READs make long pauses", Params{Pinned: true}, []event{{func(p *fetchPolicy) bool {
		for range 200 {
			p.missed(20_000)
		}
		return false
	}, 2 * 19_993, false}}},
	{"P3 P5 two slow calls", Params{}, slices.Concat(
		fails, []event{{missed, -1, false}, {missed, -1, false}, {takes(0), -1, false}},
		[]event{{missed, -1, false}, {missed, -1, false}, {missed, -1, false}, {missed, -1, false}, {missed, -1, false}, {missed, -1, true}},
	)},
	{"P3 delays count", Params{SlowCalls: 1}, []event{{with(5_000), 5_000, false}, {hit, -1, true}}},
	{"P3 but not those that are short", Params{SlowCalls: 1}, []event{{with(4_000), 4_000, false}, {hit, -1, false}}},
	{"P3 a miss after a long delay", Params{SlowCalls: 1}, []event{{with(5_000), 5_000, false}, {missed, -1, true}}},
	{"P4 batches", Params{SlowCalls: 1, Retries: 1}, []event{
		{batchOf(4), -1, false}, {missed, -1, false}, {missed, -1, false}, {missed, -1, false}, {missed, -1, true},
	}},
	{"P5 slow calls that are not consecutive", Params{}, slices.Concat(
		fails, []event{{missed, -1, false}, {takes(0), -1, false}, {with(0), 0, false}}, fails, []event{{takes(0), -1, false}, {with(0), 0, false}},
		fails, []event{{missed, -1, false}, {takes(0), -1, false}, {with(0), 0, false}}, fails, []event{{takes(0), -1, false}, {with(0), 0, false}},
	)},
	{"P6 pinned", Params{Pinned: true, Mode: Reply, SlowCalls: 1}, []event{{takes(1), -1, false}, {takes(1), -1, false}, {takes(1), -1, false}}},
	{"P5 pinned", Params{Pinned: true, Retries: 1, SlowCalls: 1}, []event{{missed, -1, false}, {missed, -1, false}, {missed, -1, false}}},
	{"P6 quick pushes in a row", Params{Mode: Reply}, []event{
		{takes(3_000), -1, false}, {takes(4_000), -1, false}, {takes(3_000), -1, false}, {takes(0), -1, false}, {takes(3_000), 0, true},
	}},
	{"P6 bounds the delay", Params{Mode: Reply, SlowCalls: 1}, []event{{with(5_000), minProbe, false}, {takes(3_000), 3_000, true}}},
	{"P6 for each message", Params{Mode: Reply, SlowCalls: 1}, []event{{takes(10_000), -1, false}, {batchOf(4), -1, false}, {takes(10_000), -1, true}}},
	{"P7 probes", Params{Mode: Reply}, []event{
		{with(0), 6_500, false},
		{read, 13_000, false},
		{missed, 13_000, false},
		{read, 26_000, false},
		{parked, 13_000, true},
		{read, 52_000, false},
		{sleeps, 0, false},
		{read, 104_000, false},
		{sleeps, 104_000, false},
		{wakes, 0, false},
		{takes(0), 4 * 78_000 / 8, false},
	}},
	{"P8 wakes", Params{}, []event{
		{parked, 13_000, true},
		{parked, 13_000, false},
		{parked, 13_000, true},
		{parked, -1, false},
		{parked, -1, false},
		{parked, -1, false},
		{parked, 13_000, true},
		{missed, 80, false},
		{takes(0), -1, false},
		{parked, 13_000, true},
	}},
}

func TestFetchPolicy(t *testing.T) {
	for _, test := range policyCases {
		t.Run(test.name, func(t *testing.T) {
			test.params.setDefaults()
			var p fetchPolicy
			p.init(&test.params)
			p.await(0, 1, alone, false)
			for i, e := range test.events {
				if change := e.do(&p); change != e.change {
					t.Errorf("event %d: %v, want %v", i, change, e.change)
				}
				if e.wait >= 0 && p.timer.left != e.wait {
					t.Errorf("event %d: the next READ after %d ns, want %d", i, p.timer.left, e.wait)
				}
			}
		})
	}
}

// P4: a batch that is 16 times as long may fail four READs more.
func TestBatchesMayTakeLonger(t *testing.T) {
	for messages, more := range map[int]int{0: 0, 1: 0, 2: 1, 4: 2, 16: 4} {
		params := Params{SlowCalls: 1}
		params.setDefaults()
		var p fetchPolicy
		p.init(&params)
		p.await(0, messages, alone, false)
		n := 1
		for ; !p.missed(0); n++ {
		}
		if n != params.Retries+1+more {
			t.Errorf("%d messages: slow after %d READs, want %d", messages, n, params.Retries+1+more)
		}
	}
}

// P9.
func TestLongPushesAreSleptFor(t *testing.T) {
	params := Params{Pinned: true, Mode: Reply}
	params.setDefaults()
	var p fetchPolicy
	p.init(&params)
	p.await(0, 1, alone, false)
	pushes := func(nanos int64) {
		for range 50 {
			takes(nanos)(&p)
		}
	}
	if pushes(10_000); p.sleepsAtOnce() {
		t.Error("a client sleeps for pushes of ten microseconds, which is what waking takes")
	}
	params.SleepAfter = 5 * time.Microsecond
	if !p.sleepsAtOnce() {
		t.Error("a client that is to save CPU spins for pushes of ten microseconds")
	}
	params.SleepAfter = defaultSleepAfter
	if pushes(100_000); !p.sleepsAtOnce() {
		t.Error("a client spins for pushes of a hundred microseconds")
	}
}

// P10.
func TestReadsAhead(t *testing.T) {
	var p fetchPolicy
	params := Params{}
	params.setDefaults()
	p.init(&params)
	for range 40 {
		p.hit()
	}
	if p.ahead != 6 {
		t.Errorf("%d READs together after 40 that brought something", p.ahead)
	}
	if p.early(); p.ahead != 3 {
		t.Errorf("%d READs together after one that did not", p.ahead)
	}
	for range 1000 {
		p.hit()
	}
	if p.ahead != maxAhead {
		t.Errorf("%d READs together", p.ahead)
	}
}

// Without a delay a call is slow when the READ after the R-th has failed.
func TestSpanIsOfReads(t *testing.T) {
	for _, readTime := range []int64{minReadTime, 1000, 20_000} {
		for retries := 1; retries < 40; retries++ {
			params := Params{Retries: retries, SlowCalls: 1}
			params.setDefaults()
			var p fetchPolicy
			p.init(&params)
			p.readTime = readTime
			p.respan()
			p.await(0, 1, alone, false)
			n := 1
			for ; !p.missed(readTime); n++ {
			}
			if n != retries+1 {
				t.Errorf("R = %d, READs of %d ns: %d have failed", retries, readTime, n)
			}
		}
	}
}

// READs that take long make the span longer, but not those of a process that did not run.
func TestSpanFollowsReads(t *testing.T) {
	c := newCaller(0)
	had := c.p.span
	c.p.missed(int64(time.Second))
	if c.p.span > 2*had {
		t.Errorf("a READ of a second makes the span %d ns, before %d", c.p.span, had)
	}
	for range 100 {
		c.p.missed(1000)
	}
	if c.p.readTime < 990 || c.p.readTime > 1010 || c.p.span < had+5*(1000-minReadTime) {
		t.Errorf("READs of 1 us are taken for %d ns; the span is %d ns, before %d", c.p.readTime, c.p.span, had)
	}
}

// caller makes calls of one class, one at a time, in virtual time. It does what a Conn
// does.
type caller struct {
	p      fetchPolicy
	params Params
	rng    *rand.Rand
	now    int64

	reads, misses, switches, fetched int
}

const (
	wayNanos = 400 // of a request and its answer, of which the server does not know
)

func newCaller(retries int) *caller {
	c := &caller{rng: rand.New(rand.NewPCG(1, 2))}
	c.params.Retries = retries
	c.params.setDefaults()
	c.p.init(&c.params)
	return c
}

func (c *caller) mode() Mode { return c.p.classes[0].mode }

// calls makes n calls that take about nanos, and forgets what was counted before.
func (c *caller) calls(n int, nanos int64) {
	c.reads, c.misses, c.switches, c.fetched = 0, 0, 0, 0
	for range n {
		c.call(nanos + c.rng.Int64N(nanos/10+1))
	}
}

// call makes a call for which the server takes some time.
func (c *caller) call(nanos int64) {
	due := c.now + nanos + wayNanos
	c.p.await(0, 1, alone, false)
	if c.mode() == Fetch {
		c.fetched++
		c.fetch(due)
	}
	told := nanos
	if c.mode() == Fetch {
		told = 0
	}
	c.now = max(c.now, due)
	if c.p.answered(told) {
		c.p.change(Fetch)
		c.switches++
	}
}

func (c *caller) fetch(due int64) {
	for here := false; !here && c.mode() == Fetch; {
		c.now += c.p.timer.left
		here = c.now >= due
		c.now += minReadTime
		c.reads++
		change := false
		if here {
			change = c.p.hit()
		} else {
			c.misses++
			change = c.p.missed(0)
		}
		if change {
			c.p.change(Reply)
			c.switches++
		}
	}
}

// slowNanos is what a server takes at least for a call that is slow.
func (c *caller) slowNanos() int64 { return c.p.span - wayNanos }

func TestQuickCallsAreFetched(t *testing.T) {
	c := newCaller(0)
	for _, percent := range []int64{10, 30, 60, 80} {
		c.calls(20_000, c.slowNanos()*percent/100)
		if c.fetched != 20_000 || c.switches != 0 {
			t.Errorf("calls that take %d %% of what is slow: %d fetched, %d switches", percent, c.fetched, c.switches)
		}
		if c.misses > 20_000/10 {
			t.Errorf("calls that take %d %% of what is slow: %d READs failed, delay %d ns", percent, c.misses, c.p.classes[0].delay[alone])
		}
	}
}

// A client whose delay has grown as calls became slower sees hardly any READ fail. They are
// slow all the same.
func TestDelayDoesNotHideSlowCalls(t *testing.T) {
	for _, retries := range []int{2, 4, 5} {
		c := newCaller(retries)
		for percent := int64(20); c.mode() == Fetch && percent < 300; percent++ {
			c.calls(2_000, c.slowNanos()*percent/100)
			if c.switches == 0 && c.misses > 2_000/2 {
				t.Errorf("R = %d: %d READs of %d calls failed, and the mode is still %v", retries, c.misses, 2_000, c.mode())
			}
			if percent > 115 && c.switches == 0 {
				t.Fatalf("R = %d: calls that take %d %% of what is slow are fetched, with a delay of %d ns of %d", retries, percent, c.p.classes[0].delay[alone], c.p.span)
			}
		}
	}
}

func TestServerThatBecomesQuickIsFetchedFrom(t *testing.T) {
	c := newCaller(0)
	for range 3 {
		c.calls(2_000, 2*c.slowNanos())
		if c.mode() != Reply || c.fetched > 100 {
			t.Fatalf("slow calls: mode %v, %d fetched, %d switches", c.mode(), c.fetched, c.switches)
		}
		c.calls(2_000, c.slowNanos()/2)
		if c.mode() != Fetch || c.fetched < 2_000-10 {
			t.Fatalf("quick calls: mode %v, %d fetched, %d switches", c.mode(), c.fetched, c.switches)
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
func TestSpanThatDoesNotFitCostsLittle(t *testing.T) {
	c := newCaller(1)
	if c.calls(10_000, 50); c.switches < 2 || c.switches > 100 || c.fetched > 100 {
		t.Errorf("%d switches, %d fetched", c.switches, c.fetched)
	}
}

// A machine that is busy now and then makes calls slow which are not.
func TestStallsDoNotDecide(t *testing.T) {
	for percent, want := range map[int64]Mode{50: Fetch, 130: Reply} {
		c := newCaller(0)
		of := map[Mode]int{}
		nanos := c.slowNanos() * percent / 100
		for i := range 20_000 {
			of[c.mode()]++
			if i%200 < c.params.SlowCalls {
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
