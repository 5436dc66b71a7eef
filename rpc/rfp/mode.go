package rfp

import (
	"encoding/binary"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc/rfp/tune"
)

// Mode says how answers return.
type Mode uint8

// The modes, as they stand in the memory of the server.
const (
	// Fetch: the client READs the answer.
	Fetch Mode = iota
	// Reply: the server pushes it.
	Reply
	// ReplyWake: it is pushed so that it wakes a sleeping client.
	ReplyWake
)

// String returns the name used in options and reports.
func (m Mode) String() string {
	switch m {
	case Fetch:
		return "fetch"
	case Reply, ReplyWake:
		return "reply"
	}
	return "unknown"
}

// Mode returns the present mode of a class: Fetch or Reply.
func (c *Conn) Mode(class uint8) Mode { return c.policy.classes[class].mode }

// change changes the mode of the class whose answer is awaited, here and at the server.
func (c *Conn) change(m Mode) {
	c.policy.change(m)
	fence.Count(&c.stats.switches, 1)
	class := int(c.policy.class)
	at := c.wordsAt + modeWord + class
	c.local.Bytes()[at] = byte(c.modeByte(m))
	_ = c.postWrite(fabric.WR{
		ID: kindWrite, Op: fabric.OpWrite,
		Local: c.local.Seg(at, 1), Remote: c.reqs.At(modesAt + class),
	})
}

// modeByte is the mode as the server has to know it: pushes must wake a client that
// may sleep.
func (c *Conn) modeByte(m Mode) Mode {
	if m != Fetch && c.cfg.Policy != fabric.Busy {
		return ReplyWake
	}
	return m
}

// tellAllModes tells the server the modes of all classes.
func (c *Conn) tellAllModes() error {
	at := c.wordsAt + modeWord
	for i := range c.policy.classes {
		c.local.Bytes()[at+i] = byte(c.modeByte(c.policy.classes[i].mode))
	}
	return c.postWrite(fabric.WR{
		ID: kindWrite, Op: fabric.OpWrite,
		Local: c.local.Seg(at, numClasses), Remote: c.reqs.At(modesAt),
	})
}

// tellChoice tells the server R and F, for its statistics only.
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
