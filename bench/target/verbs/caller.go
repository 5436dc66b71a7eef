package verbs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/cycles"
	"github.com/remora-kv/remora/internal/fence"
)

// caller is the client of an echo: it keeps a window of requests in flight on
// its one lane and takes the replies in order. Request s, counted from 1, uses
// slot (s-1) mod window and carries s in its last eight bytes; its reply is the
// same message.
type caller struct {
	e      *end
	l      *lane
	window int
	chain  int
	req    sendRing
	stage  [][]byte         // by slot: the last eight bytes of the request
	reply  []*atomic.Uint64 // by slot: those of the reply, when it is written
	recv   recvRing         // takes the replies, when they are sent
	mail   [][]byte         // by place in recv: the last eight bytes
	bell   *bell
	slack  int // requests pending before completions must be taken

	sent, got uint64 // last sequence numbers
	sendSlot  int    // of the next request
	takeSlot  int    // of the next reply
	m         *load.Meter
	err       error
	silent    int // windows lost in a row
	asks      asker
	pick      func() bool
	look      func() bool
	wait      patience
}

func newCaller(e *end, c *Case) (_ *caller, err error) {
	l := e.lanes[0]
	k := &caller{e: e, l: l, window: c.Window, chain: c.chain(), wait: patience{e: e, lossy: c.lossy()}}
	k.req = newSendRing(l, l.qp, e.shape, c.Window, func(place int) fabric.WR {
		slot := place % c.Window
		w := fabric.WR{Op: c.Request, Local: l.local.Seg(e.slots.off(slot), c.Size), To: l.aim(l.qp)}
		if c.Request == fabric.OpWrite {
			w.Remote = l.remote.At(e.slots.off(slot))
		}
		if c.Inline {
			w.Flags |= fabric.FlagInline
		}
		return w
	})
	if k.slack = k.req.ring/2 - 1; c.Signaled {
		k.slack = 0
	}
	for slot := range c.Window {
		at := e.slots.word(slot)
		k.stage = append(k.stage, l.local.Bytes()[at:at+wordSize])
		if c.Reply == fabric.OpWrite {
			k.reply = append(k.reply, wordAt(l.shared.Bytes(), at))
		}
	}
	k.asks = newAsker(e, l, c)
	if k.bell, err = newBell(e, l, c, c.Reply, c.Request); err != nil {
		return nil, err
	}
	e.doze, k.look = k.doze, k.lookAndPick
	k.pick = k.pickWritten
	if c.Reply == fabric.OpSend {
		k.pick = k.pickSent
		err = k.postReceives()
	}
	return k, err
}

// postReceives makes and posts the receives for replies that are sent.
func (k *caller) postReceives() error {
	n := k.e.shape.recvs
	k.recv = newRecvRing(k.l, k.l.post(), n, func(place int) fabric.RecvWR {
		return fabric.RecvWR{Local: k.e.recvSeg(k.l, place)}
	})
	for place := range n {
		b := k.e.messageSeg(k.l, place).Bytes()
		k.mail = append(k.mail, b[len(b)-wordSize:])
		if k.asks.count > 0 {
			k.asks.letter = append(k.asks.letter, b[len(b)-2*wordSize:])
		}
	}
	return k.recv.post(n)
}

func (k *caller) owner() *end { return k.e }

func (k *caller) doze() {
	if err := k.bell.doze(); err != nil {
		k.err = err
	}
}

// run implements program.
func (k *caller) run(m *load.Meter) error {
	k.m, k.err = m, nil
	if k.window == 1 {
		return m.Each(k.one, k.many)
	}
	return k.stream()
}

func (k *caller) many(n int) error {
	for range n {
		if err := k.one(); err != nil {
			return err
		}
	}
	return nil
}

// one makes a single call, and makes it again when it was lost.
func (k *caller) one() error {
	for lost := k.m.Lost; ; lost = k.m.Lost {
		if err := k.send(1); err != nil {
			return err
		}
		if err := k.await(); err != nil || k.m.Lost == lost {
			return err
		}
	}
}

// await takes at least one reply.
func (k *caller) await() error {
	if k.reply != nil {
		for range memorySteps {
			if k.pickWritten() {
				return k.err
			}
		}
	} else {
		for range idleSteps {
			if k.pickSent() {
				return k.err
			}
		}
	}
	return k.awaitLong()
}

// awaitLong goes on in the waiter, and gives up what is lost.
func (k *caller) awaitLong() error {
	err := k.wait.wait(k.m, k.look)
	if !errors.Is(err, errLost) {
		k.silent = 0
		return errors.Join(err, k.err)
	}
	if k.silent++; k.silent == maxSilent {
		return fmt.Errorf("%d times in a row no reply came within %v on %v, which may lose messages but not all",
			k.silent, lossTimeout, k.l.post().Transport())
	}
	k.m.Lost += k.sent - k.got
	k.skipTo(k.sent)
	if k.m.OverAt(cycles.Now()) {
		return load.ErrStopped
	}
	return k.bell.chime()
}

// lookAndPick is pick for a caller that has waited for some time.
func (k *caller) lookAndPick() bool {
	if k.pick() {
		return true
	}
	if k.reply != nil && k.collect() {
		return k.err != nil
	}
	if err := k.bell.look(); err != nil {
		k.err = err
		return true
	}
	return false
}

// skipTo gives up the replies up to sequence number s.
func (k *caller) skipTo(s uint64) {
	k.takeSlot = int((uint64(k.takeSlot) + s - k.got) % uint64(k.window))
	k.got = s
}

// send posts n requests.
func (k *caller) send(n int) error {
	for k.req.pending() > k.slack {
		if !k.collect() && k.req.pending()+n <= k.req.ring {
			break
		}
		if k.err != nil {
			return k.err
		}
	}
	for range n {
		k.sent++
		binary.NativeEndian.PutUint64(k.stage[k.sendSlot], k.sent)
		if k.asks.count > 0 {
			k.asks.ask(k.sendSlot, k.sent)
		}
		if k.sendSlot++; k.sendSlot == k.window {
			k.sendSlot = 0
		}
	}
	return k.req.post(n)
}

// stream keeps the window full until the run is over, then drains it.
func (k *caller) stream() error {
	m := k.m
	base, t := k.got, timing{check: clockEvery}
	for {
		room := uint64(k.window) - (k.sent - k.got)
		if n := min(room, m.Limit-min(m.Limit, k.sent-base-m.Lost)); n > 0 {
			t.begin(m, k.sent+1)
			if err := k.send(int(n)); err != nil {
				return err
			}
		}
		if k.sent == k.got {
			return nil
		}
		flight := k.sent - k.got
		if err := k.await(); err != nil {
			return err
		}
		m.Ops = k.got - base - m.Lost
		if t.due(m, k.got) {
			t.take(m, k.got, flight)
		}
	}
}

// pickWritten takes the next replies that were written into memory, at most a
// chain of them.
func (k *caller) pickWritten() bool {
	n := 0
	for n < k.chain && fence.Observe64(k.reply[k.takeSlot]) == k.got+1 {
		k.got++
		if k.asks.count > 0 {
			k.check(k.got, fence.Observe64(k.asks.found[k.takeSlot]))
		}
		if k.takeSlot++; k.takeSlot == k.window {
			k.takeSlot = 0
		}
		n++
	}
	return n > 0
}

// pickSent takes the replies that were sent.
func (k *caller) pickSent() bool {
	before := k.got
	k.collect()
	return k.got != before || k.err != nil
}

// collect takes completions, and reports whether there were any.
func (k *caller) collect() bool {
	n := k.e.cq.Poll(k.e.comps)
	mail := 0
	for i := range k.e.comps[:n] {
		c := &k.e.comps[i]
		switch {
		case c.Status != fabric.StatusOK:
			k.err = c.Err()
			return true
		case c.Op != fabric.OpRecv && k.bell.done(placeOf(c.ID)):
		case c.Op != fabric.OpRecv:
			k.req.reclaim(placeOf(c.ID))
		case k.mail == nil:
			k.err = errors.Join(k.err, k.bell.rung())
		default:
			mail++
			k.open(placeOf(c.ID))
		}
	}
	if mail > 0 {
		k.err = errors.Join(k.err, k.recv.post(mail))
	}
	return n > 0
}

// open takes the reply in the receive at place. One that was given up is ignored;
// those before it that did not come are lost.
func (k *caller) open(place int) {
	s := binary.NativeEndian.Uint64(k.mail[place])
	if s <= k.got || s > k.sent {
		return
	}
	if k.asks.count > 0 {
		k.check(s, binary.NativeEndian.Uint64(k.asks.letter[place]))
	}
	k.m.Lost += s - k.got - 1
	k.skipTo(s)
}

// check says whether the server looked up what request s asked for (M6).
func (k *caller) check(s, found uint64) {
	if err := k.asks.check(s, found); err != nil {
		k.err = errors.Join(k.err, err)
	}
}
