package herd

import (
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc/internal/serving"
)

// chunk is a session at one core: its slots, and the replies to what was in them. The
// core owns it once it has entered.
type chunk struct {
	session *session
	index   int // which of the session's
	core    *core
	replyQP *replyQP
	to      fabric.AddressHandle

	number       uint64 // of the request that comes next
	stamp        uint64 // its stamp
	slot         int    // where it will be
	slots        []requestSlot
	replies      []reply
	lastSeen     uint64
	doubt        serving.Doubt // about the request that comes next
	at           serving.Place // in core.chunks
	hotAt        serving.Place // in core.hot
	parked       bool
	disconnected bool // its reply QP is broken for good, and its client cut off
	gone         bool
	sent         uint64 // last SEND of the reply QP that was for this chunk
	noticed      uint64 // last of them that was a notice and not inline
	calls        uint64
	answer       func() // answerWakeup, for Post

	// A wake-up that the core has not looked at.
	mu        sync.Mutex
	wakeup    wakeup
	hasWakeup bool
}

// requestSlot is a slot as the core polls it.
type requestSlot struct {
	stamp *atomic.Uint64
	mem   []byte
}

// reply is a place of the reply memory.
type reply struct {
	mem    []byte
	off    int    // in the region
	number uint64 // of the request that it is the reply to
	size   int    // of the datagram
	again  uint64 // SEND of the reply QP by which it was sent again, 0 if it was not
}

func newChunk(t *session, index int) *chunk {
	c := t.server.base.Cores[t.size.first+index]
	ch := &chunk{session: t, index: index, core: c, replyQP: c.replyQPOn(t.registry.dev), number: 1, stamp: stampOf(t.generation, 1)}
	ch.answer = func() { c.answerWakeup(ch) }
	requests, replies, size := t.requests.Bytes(), t.replies.Bytes(), &t.size
	for i := range size.window {
		at := size.slotAt(index, i)
		mem := requests[at : at+size.slot : at+size.slot]
		ch.slots = append(ch.slots, requestSlot{stamp: fence.Word(mem, size.slot+stampAt), mem: mem})
		off := size.replyAt(index, i)
		end := off + headerSize + size.message()
		ch.replies = append(ch.replies, reply{off: off, mem: replies[off:end:end]})
	}
	return ch
}

// advance expects the next request.
func (ch *chunk) advance() {
	ch.number++
	ch.stamp = stampOf(ch.session.generation, ch.number)
	if ch.slot++; ch.slot == len(ch.slots) {
		ch.slot = 0
	}
}

// wakeUp gives a wake-up to the core. Of several the last one counts: it knows best what
// is missing.
func (ch *chunk) wakeUp(w wakeup) {
	ch.mu.Lock()
	waits := ch.hasWakeup
	ch.wakeup, ch.hasWakeup = w, true
	ch.mu.Unlock()
	if !waits {
		ch.core.Post(ch.answer)
	}
}
