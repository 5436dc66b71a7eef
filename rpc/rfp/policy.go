package rfp

import "math/bits"

// fetchPolicy decides when a client looks for the answer that it awaits, and how: by
// another READ, by waiting for a push of the server, or asleep. It knows no fabric. The
// receiver reports what happened, the policy answers with durations, and its timer says
// when they are over.
//
// # Terms
//
//   - The delay is the time before the first READ of an answer. Each class of calls has
//     two: one for the answer to a request that was sent alone, one for answers that
//     follow others, whose requests have been with the server for a while.
//   - A pause is the time between a READ that failed and the next one.
//   - The span is the time that R+1 READs which fail take, with the pauses between.
//   - A call is slow when its delay, READs and pauses cover the span: more than R READs
//     have failed, or would have failed without the delay. It is not the time that has
//     passed, which also says how long the client did not run.
//   - A probe is a READ by a client that expects a push.
//
// # States
//
//	           delay over            hit
//	delayed ───────────────▶ reading ────▶ answered
//	                          │   ▲
//	                   missed ▼   │ pause over
//	                         paused
//	                            │ the SlowCalls-th slow call in a row
//	           probe due        ▼
//	reading ◀───────────── expecting a push ────▶ answered
//	   └──────── missed ────────▲
//
// # Rules
//
//	P1  The delay is learned: it grows by 20 ns and 1/32 when the first READ fails,
//	    and shrinks by 1 ns and 1/1024 when it brings the answer. So about one first
//	    READ in thirty fails. It is at most one and a half spans, so that calls which
//	    are nearly slow are still fetched in time.
//	P2  Pauses start at 80 ns and double; half of the time already waited is added. So
//	    the span grows with what calls take on this fabric, however cheap a READ is.
//	    R = 5 spans a time from which on a push costs next to nothing.
//	P3  The delay counts like READs and pauses: a call whose answer the client has waited
//	    for is as slow as one that it asked for in vain.
//	P4  The answer to a batch may take longer in proportion. Each READ nearly doubles
//	    the time that all of them cover, so a batch of n may fail log2(n) more.
//	P5  SlowCalls slow calls in a row change the class to pushes. The call being
//	    awaited benefits already.
//	P6  As many pushes in a row for which the server took less than three quarters of
//	    the span (for each message) change it back. The last quarter is for request and
//	    answer in flight, of which the server does not know, and keeps calls at the
//	    border in the mode they have. A return that fails within 128 answers doubles the
//	    number of pushes that the next return takes, so that a span that does not fit
//	    the fabric costs little.
//	P7  A client that expects a push probes after four times what pushes usually take, and
//	    then after twice that, and so on up to 13 ms; also once before it sleeps, and
//	    after each sleep (I4).
//	P8  A READ that finds the session parked wakes the server. READs follow every 13 us;
//	    the next wake-up after two of them, then after twice as long each time, up to 13 ms.
//	P9  A client sleeps after a few microseconds for pushes for which the server takes longer
//	    than SleepAfter.
//	P10 READs of several answers are posted together: one more after every eight that
//	    brought something, half as many after one that did not, since a READ that comes
//	    too early takes lines away that the server is about to write.
//	P11 While the server shares the CPU of the client (fabric.Waiter.Crowded), READs are due
//	    after every yield, if they cost less than one: pauses pass while the server runs, and it
//	    has mostly answered.
//
// # Time
//
// A reading of the clock costs as much as several polls, and as much as a tenth of a call
// in the memory of one host. An answer that is there at the first look costs none: a wait
// begins with the first poll that finds nothing. See timer for those between.
type fetchPolicy struct {
	params  *Params
	classes [numClasses]classPolicy
	timer   timer

	// The answer awaited.
	class    uint8
	pushes   bool // the server is to push it
	slow     bool // it has counted as slow
	probed   bool // before a sleep
	follows  int  // which delay of its class applies
	messages int  // in its frame
	delay    int64
	failed   int // READs
	pauses   pauses
	probe    int64 // time before the next probe
	wakeGap  int64 // time between the last wake-up and the next, 0 before the first
	rungFor  int64 // time since the last one

	ahead    int    // READs that are posted together
	hits     uint64 // that brought the answer awaited
	usual    int64  // time that pushes take from the first look on: a moving mean
	readTime int64  // of a READ that failed: a moving mean
	span     int64
}

// classPolicy is the policy's knowledge of calls of one class.
type classPolicy struct {
	mode  Mode
	slow  int32 // slow calls in a row
	quick int32 // quick pushes in a row
	need  int32 // how many of them change the mode back; 0 is SlowCalls
	stay  int32 // answers fetched since the mode was changed back, up to settled
	takes int64 // time that the server takes, as pushes report it: a moving mean
	delay [2]int64
}

// Which delay applies.
const (
	alone     = 0
	following = 1
)

// All times are in nanoseconds.
const (
	firstPause  = 80
	minMaxPause = 13_000 // the longest pause where a READ takes less than half of it
	minReadTime = 130    // the time of a READ that completes when posted, and of the poll around it
	minProbe    = 6_500
	cheapRead   = 1_000 // a READ that takes less costs less than a yield
	maxProbe    = 13_000_000
	maxUsual    = 100_000 // bounds what one slow push does to the mean
	probeFactor = 4
	ringPause   = 13_000
	settled     = 128 // answers fetched after a return that was right
	maxNeed     = 256 // pushes that a return takes at most
	maxAhead    = 16
	growAfter   = 8
)

// init begins with the mode that params name for all classes.
func (p *fetchPolicy) init(params *Params) {
	p.params, p.ahead, p.readTime = params, 1, minReadTime
	for i := range p.classes {
		p.classes[i].mode = params.Mode
	}
	p.respan()
}

// respan follows a change of R or of the time that READs take.
func (p *fetchPolicy) respan() { p.span = spanOf(p.params.Retries+1, p.readTime) }

// await begins to wait for an answer in a frame of some messages. ready says that a READ
// has brought it already, or is in flight.
func (p *fetchPolicy) await(class uint8, messages, follows int, ready bool) {
	p.class, p.messages, p.follows = class, messages, follows
	p.slow, p.probed, p.wakeGap = false, false, 0
	c := &p.classes[class]
	p.failed, p.delay, p.pauses = 0, 0, pauses{}
	if p.pushes = c.mode != Fetch; p.pushes {
		p.expectPush()
		return
	}
	if !ready {
		p.delay = c.delay[follows]
		p.pauses.waited = p.delay
	}
	p.timer.set(p.delay)
}

func (p *fetchPolicy) expectPush() {
	p.pauses.waited = 0
	p.probe = max(minProbe, probeFactor*p.usual)
	p.timer.set(p.probe)
}

// reading is called when READs are posted because the timer is over.
func (p *fetchPolicy) reading() {
	if p.pushes {
		p.pauses.waited += p.probe
		p.probe = min(2*p.probe, maxProbe)
		p.timer.set(p.probe)
	}
}

// readNow ends the wait (P7).
func (p *fetchPolicy) readNow() { p.timer.set(0) }

// yielded is called after a yield to the server (P11).
func (p *fetchPolicy) yielded() {
	if p.readTime < cheapRead {
		p.readNow()
	}
}

// beforeSleep has a probe made before the first sleep for an answer. One is enough: its
// request had been written, and a server that parks the session later looks at the
// requests after that (I5).
func (p *fetchPolicy) beforeSleep() {
	if !p.probed {
		p.probed = true
		p.readNow()
	}
}

// hit is called when a READ has brought the answer. It reports whether to change to pushes.
func (p *fetchPolicy) hit() bool {
	if p.hits++; p.hits%growAfter == 0 {
		p.ahead = min(p.ahead+1, maxAhead)
	}
	if p.pushes || p.failed != 0 {
		return false
	}
	d := &p.classes[p.class].delay[p.follows]
	if n := *d; n > 0 {
		*d = n - 1 - n>>10
	}
	return p.covers(p.delay)
}

// early is called when a READ found that its answer, which need not be the one awaited, is not there.
func (p *fetchPolicy) early() { p.ahead = max(p.ahead/2, 1) }

// missed is called when a READ for the answer awaited has failed, after it was in flight
// for some time, 0 if it was over at once. It reports whether to change to pushes.
func (p *fetchPolicy) missed(took int64) bool {
	// A process that did not run meanwhile makes it seem long.
	if took = min(max(took, minReadTime), 4*p.readTime); took != p.readTime {
		p.readTime += (took - p.readTime) / 8
		p.respan()
	}
	if p.pushes {
		return false
	}
	if p.failed++; p.failed == 1 {
		d := &p.classes[p.class].delay[p.follows]
		*d = min(*d+20+*d>>5, p.span*3/2)
	}
	covered := p.pauses.waited + int64(p.failed)*p.readTime
	p.timer.set(p.pauses.next(p.readTime))
	return p.covers(covered)
}

// covers counts the call as slow if a time covers the span, and reports whether to change
// to pushes for that (P4, P5).
func (p *fetchPolicy) covers(d int64) bool {
	if d < p.span || p.slow || p.params.Pinned {
		return false
	}
	if extra := bits.Len(uint(p.messages)) - 1; extra > 0 && d < spanOf(p.params.Retries+1+extra, p.readTime) {
		return false
	}
	c := &p.classes[p.class]
	p.slow = true
	c.slow++
	return int(c.slow) >= p.params.SlowCalls
}

// parked is called when a READ has found the session parked. It reports whether to wake the server.
func (p *fetchPolicy) parked() bool {
	p.failed, p.delay, p.pauses = 0, 0, pauses{}
	p.timer.set(ringPause)
	if p.rungFor += ringPause; p.wakeGap != 0 && p.rungFor < p.wakeGap {
		return false
	}
	p.wakeGap, p.rungFor = min(2*max(p.wakeGap, ringPause), maxProbe), 0
	return true
}

// answered is called with an answer, for which the server says to have taken some time,
// 0 if unknown. It reports whether to change back to fetching.
func (p *fetchPolicy) answered(took int64) bool {
	c := &p.classes[p.class]
	if c.mode == Fetch {
		c.stay = min(c.stay+1, settled)
		if !p.slow {
			c.slow = 0
		}
		return false
	}
	p.usual += (min(p.pauses.waited+p.timer.passed(), maxUsual) - p.usual) / 8
	if took == 0 {
		return false
	}
	c.takes += (took - c.takes) / 8
	if c.quick++; took >= p.span*int64(max(p.messages, 1))*3/4 {
		c.quick = 0
	}
	if p.params.Pinned || int(c.quick) < max(int(c.need), p.params.SlowCalls) {
		return false
	}
	// The delays may be those of slow calls.
	c.delay[alone], c.delay[following] = min(c.delay[alone], took), min(c.delay[following], took)
	return true
}

// change changes the mode of the class awaited.
func (p *fetchPolicy) change(m Mode) {
	c := &p.classes[p.class]
	if m != Fetch {
		if c.stay < settled {
			c.need = min(max(2*c.need, int32(p.params.SlowCalls)), maxNeed)
		} else {
			c.need = 0
		}
	}
	c.mode, c.slow, c.quick, c.stay = m, 0, 0, 0
	if p.pushes = m != Fetch; p.pushes {
		p.expectPush()
	}
}

// sleepsAtOnce reports whether spinning for the answer is a waste (P9).
func (p *fetchPolicy) sleepsAtOnce() bool {
	return p.pushes && p.classes[p.class].takes > int64(p.params.SleepAfter)
}

// pauses are those between the READs for one answer (P2).
type pauses struct {
	made   int
	waited int64 // in all of them, and before
}

// next is the pause before one more READ.
func (p *pauses) next(readTime int64) int64 {
	d := min(firstPause<<min(p.made, 16)+p.waited/2, maxPause(readTime))
	p.made++
	p.waited += d
	return d
}

func maxPause(readTime int64) int64 { return max(minMaxPause, 2*readTime) }

// spanOf is the time that n READs which fail take, with the pauses between.
func spanOf(n int, readTime int64) int64 {
	var p pauses
	d, most := readTime, maxPause(readTime)
	for i := 1; i < n; i++ {
		pause := p.next(readTime)
		d += readTime + pause
		if pause == most {
			return d + int64(n-1-i)*(readTime+most)
		}
	}
	return d
}
