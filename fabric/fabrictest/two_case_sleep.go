package fabrictest

import (
	"context"
	"slices"
	"time"

	"github.com/remora-kv/remora/fabric"
)

func twoSleepCases() []*twoCase {
	return join(
		twoEach("G17/solicited", ruleEvents, twoSolicited, fabric.RC, fabric.UC, fabric.UD),
		twoEach("G17/ping-pong", ruleNoneLost, twoPingPong, fabric.RC),
		twoEach("G17/wakes-disconnect", ruleEvents, twoWakesDisconnect, fabric.RC),
	)
}

// untilTold waits asleep, as until does, and wakes up when the case has failed
// at the other side.
func (p *party) untilTold(s *sleeper, what string, cond func() bool) {
	p.Helper()
	defer context.AfterFunc(p.context, s.Wake)()
	s.until(what, cond)
}

const (
	unmarked, marked = 64, 65 // bytes of the messages of twoSolicited
	unmarkedEach     = 4      // of the former in each round
)

// twoSolicited has messages that are not marked let the server sleep, and one
// that is marked wake it.
func twoSolicited(p *party, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr, size: 4096})
	rounds := p.times(8)
	if p.role == Client {
		for range rounds {
			for range unmarkedEach {
				p.meet("asleep", l.owner)
				l.do(l.sendFrom(0, unmarked))
				p.meet("sent", l.owner)
			}
			for awake := false; !awake; { // it may be dropped
				w := l.sendFrom(0, marked)
				w.Flags |= fabric.FlagSolicited
				l.do(w)
				p.say(true)
				p.hear(&awake, l.owner)
			}
		}
		return
	}
	s := p.sleeper(l.owner, fabric.WaitConfig{SolicitedOnly: true})
	disturbed := 0
	for posted := 0; rounds > 0; rounds-- {
		for ; posted < 32; posted++ {
			l.postRecv(l.recvAt(0, marked))
		}
		disturbed += l.sleepSolicited(s)
		posted -= len(l.received)
		l.takeReceived(len(l.received))
	}
	if total := p.times(8) * unmarkedEach; disturbed > total/2 {
		p.Fatalf("%d messages without a mark woke the sleeper %d times", total, disturbed)
	}
	s.wantSlept()
	s.wantNoRescue()
}

// sleepSolicited sleeps until a marked message comes, and returns how often
// others disturbed it.
func (l *link) sleepSolicited(s *sleeper) (disturbed int) {
	p, tr := l.p, l.cfg.Transport
	p.Helper()
	awake := make(chan struct{})
	c := p.crew()
	c.run(func() { // owns the link
		defer close(awake)
		p.untilTold(s, "a marked message", func() bool {
			return slices.ContainsFunc(l.received, func(c fabric.Completion) bool { return int(c.Bytes) == l.head()+marked })
		})
	})
	for range unmarkedEach {
		s.asleep()
		before := s.roused.Load()
		p.meet("asleep")
		p.meet("sent")
		if p.within(8*time.Millisecond, func() bool { return s.roused.Load() != before }) {
			disturbed++
		}
	}
	for range attempts(tr) {
		var sent bool
		p.hear(&sent)
		woken := p.arrives("the waiter to wake up", tr, func() bool {
			select {
			case <-awake:
				return true
			default:
				return false
			}
		})
		if p.say(woken); woken {
			c.join()
			return disturbed
		}
	}
	p.Fatalf("no marked message woke the waiter")
	return 0
}

// twoPingPong has both sides sleep in turn.
func twoPingPong(p *party, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr})
	s := p.sleeper(l.owner, fabric.WaitConfig{})
	l.postRecv(l.recvAt(0, 64), l.recvAt(64, 64))
	p.meet("receives", l.owner)
	for i := range p.times(100) {
		if p.role == Client || i > 0 {
			l.post(l.sendFrom(1024, 64))
		}
		p.untilTold(s, "the ball", func() bool { return len(l.received) > 0 })
		l.takeReceived(1)
		l.postRecv(l.recvAt(0, 64))
	}
	if p.role == Server {
		l.post(l.sendFrom(1024, 64))
	}
	s.wantNoRescue()
	p.meet("played", l.owner)
}

// twoWakesDisconnect has the end of the connection wake a sleeper that waits
// for marked messages.
func twoWakesDisconnect(p *party, tr fabric.Transport) {
	for range p.times(4) {
		l := p.connect(pairConfig{tr: tr, size: 4096})
		if p.role == Client {
			var asleep bool
			p.hear(&asleep, l.owner)
			p.must("Disconnect", l.qp.Disconnect())
			p.meet("woken")
			continue
		}
		s := p.sleeper(l.owner, fabric.WaitConfig{SolicitedOnly: true})
		c := p.crew()
		c.run(func() { // owns the link
			p.untilTold(s, "the end", func() bool { return l.qp.State() != fabric.StateReady })
			p.wantDisconnected(l.end)
		})
		s.asleep()
		p.say(true)
		c.join()
		s.wantNoRescue()
		p.meet("woken")
	}
}
