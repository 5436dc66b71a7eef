package text

import (
	"math"
	"sync/atomic"

	"github.com/remora-kv/remora/rpc"
)

const (
	// mailboxSize is how many requests a mailbox holds.
	mailboxSize = 256
	// keepMessage is the length up to which memory for requests and results is kept.
	keepMessage = 16 << 10
	// maxUntaken bounds the bytes of results that the loop has not taken (M5).
	maxUntaken = 4 << 20
	// batch is how many requests a core serves before it turns to others.
	batch = 32
)

// mailbox carries requests from the loop of a listener to one core, and results back.
type mailbox struct {
	listener *Listener
	ring     [mailboxSize]message

	_ line
	// Written by the loop.
	sent, got uint64
	open      bool // the result of message got is in use

	_      line
	posted atomic.Uint64
	taken  atomic.Uint64

	_      line
	served atomic.Uint64
	core   waker

	_ line
	// Written by the core.
	done, freed uint64
	held        int
	call        rpc.Call
}

// line separates fields that two threads write, against false sharing.
type line [128]byte

// message is a request, and later its result.
type message struct {
	request []byte
	room    int // longest result that is wanted
	result  result
	size    int // length of the result
}

// anyLength is the room for a result of any length.
const anyLength = math.MaxInt

// result is the answer of a core to a request.
type result struct {
	tag  uint64
	data []byte
	err  error // of the handler; nil if data has a status of the cache
	// A result that is longer than the room for it is left out: this is its length, and the
	// request, to be posted again.
	tooLong int
	request []byte
}

// newMailbox makes the mailbox between a listener and one of its cores.
func newMailbox(d *Listener, core int) *mailbox {
	b := &mailbox{listener: d}
	b.call.Core = core
	b.core.wake = func() { d.cfg.Wake(core) }
	return b
}

// message returns memory to append a request to, for post. It returns false if the mailbox is full.
func (b *mailbox) message() ([]byte, bool) {
	if b.sent-b.got == mailboxSize {
		return nil, false
	}
	return b.ring[b.sent%mailboxSize].request[:0], true
}

// post sends a request, which was appended to the memory that message returned. The result will
// have its tag, and is left out if it is longer than room.
func (b *mailbox) post(tag uint64, request []byte, room int) {
	m := &b.ring[b.sent%mailboxSize]
	m.result.tag, m.request, m.room = tag, request, room
	b.sent++
	b.posted.Store(b.sent)
	b.core.notify()
}

// ready reports whether there is a result to take.
func (b *mailbox) ready() bool {
	next := b.got
	if b.open {
		next++
	}
	return b.served.Load() != next
}

// inFlight returns the number of requests whose results were not taken.
func (b *mailbox) inFlight() int {
	n := int(b.sent - b.got)
	if b.open {
		n--
	}
	return n
}

// take returns the next result, or nil. It is valid until the next call of take.
func (b *mailbox) take() *result {
	b.release()
	if b.served.Load() == b.got {
		return nil
	}
	b.open = true
	return &b.ring[b.got%mailboxSize].result
}

// release frees the message whose result was in use.
func (b *mailbox) release() {
	if !b.open {
		return
	}
	b.open = false
	m := &b.ring[b.got%mailboxSize]
	if cap(m.result.data) > keepMessage {
		m.result.data = nil
	}
	if cap(m.request) > keepMessage {
		m.request = nil
	}
	m.result.request = nil
	b.got++
	b.taken.Store(b.got)
}
