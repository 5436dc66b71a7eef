package mailbox

import (
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
)

const (
	// Letters is how many requests of a door a core can have.
	Letters = 256
	// Keep is the length up to which memory for requests and results is kept.
	Keep = 16 << 10
	// Held bounds what is in results that were not taken (M5).
	Held = 4 << 20
	// turn is how many requests a core serves before it looks after others.
	turn = 32
)

// Config describes a box.
type Config struct {
	// Core is the core's number, Serve its handler and Clock its clock.
	Core  int
	Serve func(c *rpc.Call, msg, out []byte) ([]byte, error)
	Clock fabric.Clock
	// Wake ends the sleep of the core, and Bell that of the door.
	Wake func()
	Bell *Bell
}

// Box is between a door and a core.
type Box struct {
	cfg     Config
	letters [Letters]letter

	_ line
	// The door's.
	sent, got uint64
	open      bool // letter got is being looked at

	_      line
	posted atomic.Uint64
	taken  atomic.Uint64

	_      line
	served atomic.Uint64
	asleep atomic.Bool // the core is, or is about to

	_ line
	// The core's.
	done, freed uint64
	held        int
	call        rpc.Call
}

// line keeps what two threads write apart.
type line [128]byte

// letter is a request, and then its result.
type letter struct {
	msg    []byte
	result Result
	size   int // of the result
}

// Result is that of a request.
type Result struct {
	Tag  uint64
	Data []byte
	Err  error // of the handler; nil for what the cache itself says
}

// New makes an empty box.
func New(cfg Config) *Box {
	b := &Box{cfg: cfg}
	b.call.Core = cfg.Core
	return b
}

// Message returns memory to append a request to, for Post; false when the box is full.
func (b *Box) Message() ([]byte, bool) {
	if b.sent-b.got == Letters {
		return nil, false
	}
	return b.letters[b.sent%Letters].msg[:0], true
}

// Post sends a request that was made from what Message returned. The tag comes back with
// its result.
func (b *Box) Post(tag uint64, msg []byte) {
	l := &b.letters[b.sent%Letters]
	l.result.Tag, l.msg = tag, msg
	b.sent++
	b.posted.Store(b.sent)
	if b.asleep.Load() && b.asleep.CompareAndSwap(true, false) {
		b.cfg.Wake()
	}
}

// Ready reports whether there is a result to take.
func (b *Box) Ready() bool {
	next := b.got
	if b.open {
		next++
	}
	return b.served.Load() != next
}

// Flying is how many requests have no result yet that was taken.
func (b *Box) Flying() int {
	n := int(b.sent - b.got)
	if b.open {
		n--
	}
	return n
}

// Take returns the next result, which is valid until the next call of Take, or nil.
func (b *Box) Take() *Result {
	b.release()
	if b.served.Load() == b.got {
		return nil
	}
	b.open = true
	return &b.letters[b.got%Letters].result
}

// release gives the letter back that was looked at.
func (b *Box) release() {
	if !b.open {
		return
	}
	b.open = false
	if r := &b.letters[b.got%Letters].result; cap(r.Data) > Keep {
		r.Data = nil
	}
	b.got++
	b.taken.Store(b.got)
}
