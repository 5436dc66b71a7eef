package verbs

import (
	"fmt"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

// bell wakes an end that polls memory and has fallen asleep: a WRITE wakes
// nobody (G17). Before it sleeps an end writes a new number into the doze word
// of its peer; a peer that waits for an answer and finds a number there that it
// has not seen rings once, by a WRITE_IMM of no bytes. The peer goes on looking
// for as long as it waits, so it does not matter which of doze word and request
// arrives first, and a busy pair of ends pays nothing.
//
// A bell belongs to one lane. The sleeper part is used by the end whose memory
// is polled, the ringer part by its peer; in echo-ww an end is both.
type bell struct {
	l *lane
	// sleeper
	awaits bool           // this end may sleep
	epoch  uint64         // the last number sent
	stage  *atomic.Uint64 // it, as it is sent
	nap    []fabric.WR    // one: WRITE of stage into the peer's doze word
	naps   int            // of them under way
	recv   recvRing       // takes the rings
	// ringer
	rings bool           // the peer may sleep
	word  *atomic.Uint64 // the peer's number
	seen  uint64
	ring  []fabric.WR // one
	peals int         // of them under way
}

// A number is written without a completion, which would end the very sleep it
// announces; only one in napsEvery reports.
const napsEvery = bellDepth / 4

// Places of completions that belong to a bell and not to a ring of requests.
const (
	napID  = 0xFFFF_FFFE
	ringID = 0xFFFF_FFFF
)

// newBell makes the bell of lane l. in is the operation by which messages come
// to this end, out the one by which they leave it.
func newBell(e *end, l *lane, c *Case, in, out fabric.Op) (*bell, error) {
	b := &bell{l: l, awaits: c.bell(in), rings: c.bell(out)}
	if b.awaits {
		var flags fabric.Flags
		if e.dev.Limits().MaxInline >= wordSize {
			flags = fabric.FlagInline
		}
		b.stage = wordAt(l.local.Bytes(), 0)
		b.nap = []fabric.WR{{
			ID: idOf(l.index, napID), Op: fabric.OpWrite, Flags: flags,
			Local: l.local.Seg(0, wordSize), Remote: l.remote,
		}}
		b.recv = newRecvRing(l, l.qp, bellDepth, func(int) fabric.RecvWR { return fabric.RecvWR{} })
		if err := b.recv.post(bellDepth); err != nil {
			return nil, err
		}
	}
	if b.rings {
		b.word = wordAt(l.shared.Bytes(), 0)
		b.ring = []fabric.WR{{
			ID: idOf(l.index, ringID), Op: fabric.OpWriteImm,
			Flags: fabric.FlagSignaled | fabric.FlagSolicited,
		}}
	}
	return b, nil
}

// doze tells the peer that this end is about to sleep.
func (b *bell) doze() error {
	if !b.awaits {
		return nil
	}
	if b.naps >= bellDepth/2 {
		return fmt.Errorf("%d announcements of sleep are in flight and none has completed", b.naps)
	}
	b.epoch++
	fence.Publish64(b.stage, b.epoch)
	if b.nap[0].Flags &^= fabric.FlagSignaled; b.epoch%napsEvery == 0 {
		b.nap[0].Flags |= fabric.FlagSignaled
	}
	if k, err := b.l.qp.Post(b.nap); k != 1 {
		return refused(k, 1, err)
	}
	b.naps++
	return nil
}

// look rings if the peer has said that it sleeps since the last look. It is for
// ends that wait for the peer.
func (b *bell) look() error {
	if !b.rings {
		return nil
	}
	now := fence.Observe64(b.word)
	if now == b.seen {
		return nil
	}
	b.seen = now
	return b.chime()
}

// chime rings in any case.
func (b *bell) chime() error {
	if !b.rings {
		return nil
	}
	if b.peals >= bellDepth/2 {
		return fmt.Errorf("%d wake-ups are in flight and none has completed", b.peals)
	}
	if k, err := b.l.qp.Post(b.ring); k != 1 {
		return refused(k, 1, err)
	}
	b.peals++
	return nil
}

// done takes the completion at place, and reports whether it was the bell's.
func (b *bell) done(place int) bool {
	switch place {
	case napID:
		b.naps -= napsEvery
	case ringID:
		b.peals--
	default:
		return false
	}
	return true
}

// rung takes the completion of a receive.
func (b *bell) rung() error { return b.recv.post(1) }
