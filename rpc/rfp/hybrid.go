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

// hybrid decides about the mode of a class of calls. It is told of failed READs
// and of answers, and says when to change.
type hybrid struct {
	mode  Mode
	slow  int   // calls in a row for which more than R READs failed
	quick int   // replies in a row that R READs would have been enough for
	first int64 // when the first READ for the present call failed
	limit int64 // nanoseconds that R READs take, for each message of a frame
	takes int64 // nanoseconds that the server takes, as replies say: a moving mean
}

// missed is told that READ number tries for one answer has failed, and reports
// whether to change over to replies. A call is slow when the READ after the R-th
// has failed; the call that is being waited for profits from the change already.
// An answer to a batch of messages takes as many times as long: see patienceFor.
func (h *hybrid) missed(p *Params, tries, messages int, now func() int64) bool {
	if p.Pinned || h.mode != Fetch {
		return false
	}
	if tries == 1 {
		h.first = now()
	}
	if tries != p.Retries+patienceFor(messages)+1 {
		return false
	}
	// R READs and what a batch is granted lie between the first failure and this one.
	h.limit = (now() - h.first) / int64(max(messages, 1))
	h.slow++
	return h.slow >= p.SlowCalls
}

// patienceFor is how many READs more than R lie in a time as many times as long as
// there are messages: the pauses between READs grow by half.
func patienceFor(messages int) int { return (bits.Len(uint(max(messages, 1))) - 1) * 7 / 4 }

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
		if tries <= p.Retries+patienceFor(messages) {
			h.slow = 0
		}
		return false
	}
	switch {
	case nanos == 0:
	case nanos >= h.limit*int64(max(messages, 1)):
		h.quick = 0
	default:
		h.quick++
	}
	return h.quick >= p.SlowCalls
}

// naps reports whether replies take so long that spinning for them is a waste.
func (h *hybrid) naps(p *Params) bool { return h.mode != Fetch && h.takes > int64(p.NapAfter) }

// change notes the new mode.
func (h *hybrid) change(m Mode) { h.mode, h.slow, h.quick = m, 0, 0 }

// Mode returns the present mode of a class: Fetch or Reply.
func (c *Conn) Mode(class uint8) Mode { return c.classes[class].mode }

// judge looks at an answer: whether the server is quick enough for its results
// to be fetched.
func (c *Conn) judge(w wire.Word0) {
	f := c.oldest()
	if c.classes[f.class].answered(&c.cfg.Params, c.tries, f.results, w.Nanos()) {
		c.change(f.class, Fetch)
	}
}

// change changes the mode of a class, here and at the server.
func (c *Conn) change(class uint8, m Mode) {
	c.classes[class].change(m)
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
