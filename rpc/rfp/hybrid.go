package rfp

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc/rfp/tune"
	"github.com/remora-kv/remora/rpc/wire"
)

// class is what a connection knows about calls of one class.
type class struct {
	hybrid
	patience
}

// hybrid decides about the mode of a class of calls. It is told of failed READs
// and of answers, and says when to change.
type hybrid struct {
	mode  Mode
	slow  int32 // calls in a row for which more than R READs failed
	quick int32 // replies in a row that R READs would have been enough for
	need  int32 // how many of them change the mode back; 0 is SlowCalls
	stay  int32 // answers that were fetched since, up to settled
	limit int64 // nanoseconds that R READs cover, for each message of a frame
	takes int64 // nanoseconds that the server takes, as replies say: a moving mean
}

const (
	// settled is how many answers are fetched after a return that was right.
	settled = 64
	// maxNeed bounds how many quick replies are asked for after some that were not.
	maxNeed = 256
)

// failed is told that n READs for one answer have failed, of which it knows had, and
// reports whether to change over to replies. A call is slow when the READ after the
// R-th has failed; the call that is being waited for profits from the change already.
// An answer to a batch of messages takes as many times as long: see patienceFor.
// since is when the client began to wait.
func (h *hybrid) failed(p *Params, had, n, messages int, since int64, now func() int64) bool {
	allowed := p.Retries + patienceFor(messages)
	if p.Pinned || h.mode != Fetch || had > allowed || n <= allowed {
		return false
	}
	h.covered((now() - since) / int64(max(messages, 1)))
	h.slow++
	return int(h.slow) >= p.SlowCalls
}

// covered is told what time the READs of a slow call have covered. A process that
// did not run meanwhile makes it longer and nothing makes it shorter, so the least
// counts, and what is more only by and by.
func (h *hybrid) covered(nanos int64) {
	if h.limit == 0 || nanos < h.limit {
		h.limit = nanos
		return
	}
	h.limit += (min(nanos, 2*h.limit) - h.limit) / 8
}

// patienceFor is how many READs more than R lie in a time as many times as long as
// there are messages: each READ nearly doubles the time that all of them cover.
func patienceFor(messages int) int { return bits.Len(uint(max(messages, 1))) - 1 }

// answered is told of an answer: how many READs for it failed, and how long the
// server took, 0 if unknown. It reports whether to change back to fetching.
func (h *hybrid) answered(p *Params, tries, messages int, nanos int64) bool {
	if h.mode != Fetch && nanos != 0 {
		h.takes += (nanos - h.takes) / 8
	}
	if p.Pinned {
		return false
	}
	if h.mode == Fetch {
		h.stay = min(h.stay+1, settled)
		if tries <= p.Retries+patienceFor(messages) {
			h.slow = 0
		}
		return false
	}
	switch {
	case nanos == 0:
	case h.short(nanos, messages):
		h.quick++
	default:
		h.quick = 0
	}
	return int(h.quick) >= max(int(h.need), p.SlowCalls)
}

// short reports whether R READs would cover what the server took. The time between
// the limit and three quarters of it is for the ways of request and answer, which it
// does not know of, and keeps calls at the border in the mode they have.
func (h *hybrid) short(nanos int64, messages int) bool {
	return nanos < h.limit*int64(max(messages, 1))*3/4
}

// naps reports whether replies take so long that spinning for them is a waste.
func (h *hybrid) naps(p *Params) bool { return h.mode != Fetch && h.takes > int64(p.NapAfter) }

// change notes the new mode. Where fetching was given up soon after a return, it
// takes more quick replies to return once more: so a limit that does not fit the
// fabric costs little.
func (h *hybrid) change(m Mode, p *Params) {
	if m != Fetch {
		if h.stay < settled {
			h.need = min(max(2*h.need, int32(p.SlowCalls)), maxNeed)
		} else {
			h.need = 0
		}
	}
	h.mode, h.slow, h.quick, h.stay = m, 0, 0, 0
}

// Mode returns the present mode of a class: Fetch or Reply.
func (c *Conn) Mode(class uint8) Mode { return c.classes[class].mode }

// judge looks at an answer: whether the server is quick enough for its results
// to be fetched.
func (c *Conn) judge(w wire.Word0) {
	f := c.oldest()
	h, nanos := &c.classes[f.class], w.Nanos()
	if h.answered(&c.cfg.Params, c.tries, f.results, nanos) {
		// It may be that of slow calls: those as long as the limit are overdue.
		h.lower(int(nanos * int64(c.overdue) / h.limit))
		c.change(f.class, Fetch)
	}
}

// change changes the mode of a class, here and at the server.
func (c *Conn) change(class uint8, m Mode) {
	c.classes[class].change(m, &c.cfg.Params)
	c.pause = 0
	c.trust()
	fence.Count(&c.stats.switches, 1)
	at := c.wordsAt + modeWord + int(class)
	c.local.Bytes()[at] = byte(c.told(m))
	_ = c.postWrite(fabric.WR{
		ID: kindWrite, Op: fabric.OpWrite,
		Local: c.local.Seg(at, 1), Remote: c.reqs.At(modesAt + int(class)),
	})
}

// told is the mode as the server is told it: replies must wake a client that
// may sleep.
func (c *Conn) told(m Mode) Mode {
	if m != Fetch && c.cfg.Policy != fabric.Busy {
		return ReplyWake
	}
	return m
}

// tellAllModes tells the server the modes of all classes.
func (c *Conn) tellAllModes() error {
	at := c.wordsAt + modeWord
	for i := range c.classes {
		c.local.Bytes()[at+i] = byte(c.told(c.classes[i].mode))
	}
	return c.postWrite(fabric.WR{
		ID: kindWrite, Op: fabric.OpWrite,
		Local: c.local.Seg(at, numClasses), Remote: c.reqs.At(modesAt),
	})
}

// tellChoice tells the server R and F, which it shows to whoever looks after it
// and uses for nothing.
func (c *Conn) tellChoice() error {
	at := c.wordsAt + choiceWord
	binary.LittleEndian.PutUint64(c.local.Bytes()[at:], packChoice(c.Choice()))
	return c.postWrite(fabric.WR{
		ID: kindWrite, Op: fabric.OpWrite,
		Local: c.local.Seg(at, 8), Remote: c.reqs.At(choiceAt),
	})
}

func packChoice(t tune.Choice) uint64 { return uint64(uint32(t.R))<<32 | uint64(uint32(t.F)) }

func unpackChoice(w uint64) tune.Choice { return tune.Choice{R: int(w >> 32), F: int(uint32(w))} }

// tellTaken tells the server how many result frames were taken (I2).
func (c *Conn) tellTaken() {
	c.ackedAt = c.next - 1
	at := c.wordsAt + numClasses + 8*c.takenPut
	c.takenPut = (c.takenPut + 1) % takenWords
	binary.LittleEndian.PutUint64(c.local.Bytes()[at:], c.ackedAt)
	_ = c.postWrite(fabric.WR{
		ID: kindWrite, Op: fabric.OpWrite,
		Local: c.local.Seg(at, 8), Remote: c.reqs.At(takenAt),
	})
}

// postFailed ends the connection, unless only the queue is full.
func (c *Conn) postFailed(err error) {
	if !errors.Is(err, fabric.ErrQueueFull) {
		c.fail(err)
	}
}
