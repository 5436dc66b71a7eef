package verbs

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/internal/arena"
	"github.com/remora-kv/remora/internal/fence"
)

// The limit is what two CPUs can do without any fabric between them: one
// process publishes a message by plain stores, the other observes it by plain
// loads and publishes it back. The message is right-aligned in a cache line,
// its sequence number last; with a window there are that many slots.
//
// There are two limits. In "limit" both write the same line, so that whoever
// answers already has it, and a message takes one transaction between the
// caches. Nothing can be faster, and only a path that reads what it waits for in
// the memory of its peer can come near.
//
//	| request and reply 0 | request and reply 1 | ...
//
// In "limit-pair" each process has memory of its own, which the other writes
// and it alone polls: what a WRITE answered by a WRITE comes to. A message then
// takes two transactions, one in which the writer gets the line and one in which
// the reader gets it back.
//
//	| request 0 | request 1 | ... | reply 0 | reply 1 | ...
//
// Latencies are taken like those of every other test, one exchange between two
// readings of the clock. At window 1 that is not the inverse of the rate: while
// the clock is read the other process polls the line away, and the exchange
// costs a transaction more than those that follow one another at once.
type mailbox struct {
	window         int
	bare           bool // the message is its sequence number alone
	odd            uint // 1: request and reply s are the values 2s-1 and 2s of one word
	request, reply []*atomic.Uint64
	reqMem, repMem [][]byte // what comes before the word
}

// limitBytes is the size of the memory that both processes map.
func limitBytes(c *Case) int { return newSlots(c.Size).bytes(2 * c.Window) }

func newMailbox(mem []byte, c *Case) *mailbox {
	s := newSlots(c.Size)
	b := &mailbox{window: c.Window, bare: c.Size == wordSize}
	if c.OneLine {
		b.odd = 1
	}
	for i := range c.Window {
		q, p := i, c.Window+i
		if c.OneLine {
			p = q
		}
		b.request = append(b.request, wordAt(mem, s.word(q)))
		b.reply = append(b.reply, wordAt(mem, s.word(p)))
		b.reqMem = append(b.reqMem, mem[s.off(q):s.word(q)])
		b.repMem = append(b.repMem, mem[s.off(p):s.word(p)])
	}
	return b
}

// asked and answered are what the word of message seq says.
func (b *mailbox) asked(seq uint64) uint64    { return seq<<b.odd - uint64(b.odd) }
func (b *mailbox) answered(seq uint64) uint64 { return seq << b.odd }

// limitServer answers until it is stopped.
type limitServer struct {
	*mailbox
	slot int
	seq  uint64
	copy []byte
}

func (s *limitServer) owner() *end { return nil }

// run implements program.
func (s *limitServer) run(m *load.Meter) error {
	for !m.Ended() {
		s.serve(1 << 16)
		m.Ops = s.seq
	}
	return nil
}

// serve looks for the next request so many times. The reply goes out before
// anything else is done: while the server thinks, the client's polling pulls the
// line away.
func (s *limitServer) serve(looks int) {
	next, answer, want := s.request[s.slot], s.reply[s.slot], s.asked(s.seq+1)
	for range looks {
		if fence.Observe64(next) != want {
			continue
		}
		if !s.bare {
			fence.CopyIn(s.copy, s.reqMem[s.slot])
			if s.odd == 0 {
				fence.CopyOut(s.repMem[s.slot], s.copy)
			}
		}
		fence.Publish64(answer, s.answered(s.seq+1))
		s.seq++
		if s.slot++; s.slot == s.window {
			s.slot = 0
		}
		next, answer, want = s.request[s.slot], s.reply[s.slot], s.asked(s.seq+1)
	}
}

// limitClient asks.
type limitClient struct {
	*mailbox
	sendSlot, takeSlot int
	sent, got          uint64
	data, copy         []byte
	m                  *load.Meter
}

func (k *limitClient) owner() *end { return nil }

// run implements program.
func (k *limitClient) run(m *load.Meter) error {
	k.m = m
	if k.window == 1 {
		return m.Each(k.one, k.many)
	}
	return k.stream()
}

func (k *limitClient) one() error { return k.many(1) }

func (k *limitClient) many(n int) error {
	if k.bare && k.sent == k.got {
		n -= k.tight(n)
	}
	for range n {
		if k.sent == k.got { // tight may have left a call without its reply
			k.send()
		}
		if !k.await() {
			return k.silence()
		}
	}
	return nil
}

// tight makes up to n calls with nothing in between, and returns how many were
// answered. It gives up when a reply does not come soon.
func (k *limitClient) tight(n int) int {
	ask, reply, seq := k.request[0], k.reply[0], k.got
	for made := range n {
		fence.Publish64(ask, k.asked(seq+1))
		want, looks := k.answered(seq+1), 0
		for fence.Observe64(reply) != want {
			if looks++; looks == limitSpins {
				// Asking again would overwrite a reply that comes just now.
				k.sent, k.got = seq+1, seq
				return made
			}
		}
		seq++
	}
	k.sent, k.got = seq, seq
	return n
}

func (k *limitClient) send() {
	k.sent++
	if !k.bare {
		fence.CopyOut(k.reqMem[k.sendSlot], k.data)
	}
	fence.Publish64(k.request[k.sendSlot], k.asked(k.sent))
	if k.sendSlot++; k.sendSlot == k.window {
		k.sendSlot = 0
	}
}

// limitSpins is after how many looks in vain the server is taken for dead; it
// is also where a spinning client can be preempted.
const limitSpins = 1 << 20

// await takes the next reply.
func (k *limitClient) await() bool {
	next, want := k.reply[k.takeSlot], k.answered(k.got+1)
	for range 1 << 12 {
		for range limitSpins {
			if fence.Observe64(next) == want {
				k.take()
				return true
			}
		}
		if k.m.Ended() {
			return false
		}
		runtime.Gosched()
	}
	return false
}

func (k *limitClient) take() {
	k.got++
	if !k.bare {
		fence.CopyIn(k.copy, k.repMem[k.takeSlot])
	}
	if k.takeSlot++; k.takeSlot == k.window {
		k.takeSlot = 0
	}
}

func (k *limitClient) silence() error {
	if k.m.Ended() {
		return load.ErrStopped
	}
	return errors.New("the other process did not answer")
}

// stream keeps the window full until the run is over, then drains it.
func (k *limitClient) stream() error {
	m := k.m
	base, t := k.got, timing{check: clockEvery}
	for {
		for k.sent-k.got < uint64(k.window) && k.sent-base < m.Limit {
			t.begin(m, k.sent+1)
			k.send()
		}
		if k.sent == k.got {
			return nil
		}
		flight := k.sent - k.got
		if !k.await() {
			return k.silence()
		}
		m.Ops = k.got - base
		if t.due(m, k.got) {
			t.take(m, k.got, flight)
		}
	}
}

// limitSide makes the program of one process over memory that both map.
func limitSide(mem []byte, c *Case, r role) program {
	box := newMailbox(mem, c)
	if r == server {
		return &limitServer{mailbox: box, copy: make([]byte, c.Size-wordSize)}
	}
	data := make([]byte, c.Size-wordSize)
	for j := range data {
		data[j] = patternByte(0, j)
	}
	return &limitClient{mailbox: box, data: data, copy: make([]byte, c.Size-wordSize)}
}

// limitMemory makes the memory of the client's process; its descriptor goes to
// the server's.
func limitMemory(c *Case) (*arena.Block, error) {
	b, err := arena.New().AllocShared("verbs limit", limitBytes(c), arena.ReadWriteForOthers)
	if err != nil {
		return nil, fmt.Errorf("limit: %w", err)
	}
	return b, nil
}
