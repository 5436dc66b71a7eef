package verbs

import (
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/cycles"
)

// pump posts one kind of operation on every lane of its end and keeps a window
// of them in flight on each. What several completions free is posted again as
// one chain.
type pump struct {
	e      *end
	window int
	lanes  []pumpLane
	freed  []*pumpLane // lanes with room, filled by take
	m      *load.Meter
	err    error
	sample sample
	check  uint64 // operations at which to look at the clock again
	flying int    // operations posted and not known to be done
	step1  func() bool
	stepN  func() bool
	wait   patience
}

type pumpLane struct {
	sendRing
	limit  uint64 // requests that may be posted in this run
	queued bool   // is in freed
	sealed bool   // the last request of this run reports
}

// sample is the one operation in flight whose latency is being taken.
type sample struct {
	active bool
	lane   *pumpLane
	upTo   uint64 // done count that ends it
	start  uint64
	next   uint64 // operations at which to begin another
}

// clockEvery is after how many operations a busy loop looks at the clock.
const clockEvery = 256

func newPump(e *end, c *Case) *pump {
	p := &pump{e: e, window: c.Window, lanes: make([]pumpLane, len(e.lanes)), wait: patience{e: e}}
	p.freed = make([]*pumpLane, 0, len(e.lanes))
	for i, l := range e.lanes {
		if c.Op == fabric.OpRead {
			clearSlots(e, l)
		}
		p.lanes[i].sendRing = newSendRing(l, l.qp, e.shape, c.Window, func(place int) fabric.WR {
			w := fabric.WR{Op: c.Op, Local: l.local.Seg(e.slots.off(place), c.Size), To: l.aim(l.qp)}
			if c.Op.OneSided() {
				w.Remote = l.remote.At(e.slots.off(place))
			}
			if c.Op.Atomic() {
				w.Operand = 1
			}
			if c.Inline {
				w.Flags |= fabric.FlagInline
			}
			return w
		})
	}
	p.step1, p.stepN = p.takeOne, p.take
	return p
}

func (p *pump) owner() *end { return p.e }

// run implements program.
func (p *pump) run(m *load.Meter) error {
	p.m, p.err = m, nil
	if p.window == 1 && len(p.lanes) == 1 {
		return m.Each(p.one, p.many)
	}
	return p.stream()
}

// many runs n operations one after the other.
func (p *pump) many(n int) error {
	for range n {
		if err := p.one(); err != nil {
			return err
		}
	}
	return nil
}

// one posts a single operation and waits for its completion.
func (p *pump) one() error {
	l := &p.lanes[0]
	if k, err := l.qp.Post(l.wrs[:1]); k != 1 {
		return refused(k, 1, err)
	}
	out := p.e.comps[:1]
	for range idleSteps {
		if p.e.cq.Poll(out) != 0 {
			return out[0].Err()
		}
	}
	if err := p.wait.wait(p.m, p.step1); err != nil {
		return err
	}
	return p.err
}

func (p *pump) takeOne() bool {
	if p.e.cq.Poll(p.e.comps[:1]) == 0 {
		return false
	}
	p.err = p.e.comps[0].Err()
	return true
}

// stream keeps all windows full until the run is over, then drains them.
func (p *pump) stream() error {
	p.begin()
	for {
		if err := p.refill(); err != nil {
			return err
		}
		if p.flying == 0 && p.drained() {
			return nil
		}
		for spins := 0; !p.take(); spins++ {
			if spins < idleSteps {
				continue
			}
			if err := p.wait.wait(p.m, p.stepN); err != nil {
				return err
			}
			break
		}
		if p.err != nil {
			return p.err
		}
		p.watchClock()
	}
}

// begin shares the operations out among the lanes and marks all as free.
func (p *pump) begin() {
	p.freed = p.freed[:0]
	p.sample, p.flying = sample{}, 0
	p.check = clockEvery
	n := uint64(len(p.lanes))
	for i := range p.lanes {
		l := &p.lanes[i]
		share := p.m.Limit / n
		if uint64(i) < p.m.Limit%n {
			share++
		}
		l.limit, l.sealed, l.queued = l.posted+share, false, true
		p.freed = append(p.freed, l)
	}
}

// refill posts what fits on every lane that has room.
func (p *pump) refill() error {
	for _, l := range p.freed {
		l.queued = false
		n := int(min(uint64(p.window-l.pending()), l.limit-l.posted))
		if n <= 0 {
			continue
		}
		if !p.sample.active && p.m.Ops >= p.sample.next {
			p.beginSample(l, n)
		}
		if err := p.postUpTo(l, n); err != nil {
			return err
		}
		p.flying += n
	}
	p.freed = p.freed[:0]
	return nil
}

// postUpTo posts n requests; the last one of a run always reports.
func (p *pump) postUpTo(l *pumpLane, n int) error {
	last := l.posted+uint64(n) == l.limit
	if !last || (l.next+n)%l.every == 0 {
		return l.post(n)
	}
	if n > 1 {
		if err := l.post(n - 1); err != nil {
			return err
		}
	}
	l.sealed = true
	return l.postSignaled()
}

// beginSample times the first of the next n requests that reports.
func (p *pump) beginSample(l *pumpLane, n int) {
	ahead := l.every - l.next%l.every
	if ahead > n {
		return
	}
	p.sample.active, p.sample.lane = true, l
	p.sample.upTo = l.posted + uint64(ahead)
	p.sample.start = cycles.Now()
}

// take polls completions and notes which lanes have room again.
func (p *pump) take() bool {
	n, flying := p.e.cq.Poll(p.e.comps), p.flying
	for i := range p.e.comps[:n] {
		c := &p.e.comps[i]
		if c.Status != fabric.StatusOK {
			p.err = c.Err()
			return true
		}
		l := &p.lanes[laneOf(c.ID)]
		done := l.reclaim(placeOf(c.ID))
		p.flying -= done
		p.m.Ops += uint64(done)
		if !l.queued {
			l.queued = true
			p.freed = append(p.freed, l)
		}
	}
	if p.sample.active && p.sample.lane.done >= p.sample.upTo {
		p.m.Took(p.sample.start, uint64(flying))
		p.sample.active = false
		p.sample.next = p.m.Ops + p.m.Gap()
	}
	return n > 0
}

// watchClock ends the run when its time is over.
func (p *pump) watchClock() {
	if p.m.Ops < p.check {
		return
	}
	p.check = p.m.Ops + clockEvery
	if !p.m.OverAt(cycles.Now()) {
		return
	}
	for i := range p.lanes {
		p.lanes[i].finish()
		if l := &p.lanes[i]; !l.queued {
			l.queued = true
			p.freed = append(p.freed, l)
		}
	}
}

// finish lets a lane post no more than what makes its last request report.
func (l *pumpLane) finish() {
	if l.limit = l.posted; l.unsignaledTail() && !l.sealed {
		l.limit++
	}
}

// drained reports whether nothing is in flight and nothing may be posted.
func (p *pump) drained() bool {
	for i := range p.lanes {
		if l := &p.lanes[i]; l.posted != l.done || l.posted < l.limit {
			return false
		}
	}
	return true
}
