package verbs

import "github.com/remora-kv/remora/fabric"

const (
	// line is a cache line. Slots are whole lines, one behind the other:
	// measured here, spacing them out costs a fifth of the rate with a window
	// of 8, because CPUs fetch lines in pairs.
	line = 64
	// header is what comes before the slots of a region: the doze word, and a
	// line that nobody touches.
	header = 2 * line
)

// shape says how much of everything one lane needs at one end. It follows from
// the case and the side alone, so that both sides know each other's.
type shape struct {
	ring      int // prebuilt work requests
	every     int // one in so many of them is signaled
	sendDepth int
	recvs     int           // receives kept posted
	shared    int           // slots of the shared region
	access    fabric.Access // of the peer to the shared region; none: no region
}

// bellDepth is how many bells and doze words of one lane may be under way.
const bellDepth = 16

// role says which end of a test an end is.
type role uint8

const (
	client role = iota
	server
)

// shapeOf returns what a lane needs.
func shapeOf(c *Case, r role) shape {
	switch {
	case c.Kind == kindEcho || c.Kind == kindIdle:
		return echoShape(c, r)
	case (c.Kind == kindInbound) == (r == client):
		return pumpShape(c)
	}
	return targetShape(c)
}

// pumpShape is that of the posting end of a verb test.
func pumpShape(c *Case) shape {
	every := 1
	if !c.Signaled {
		every = max(1, c.Window/2)
	}
	return shape{ring: roundUp(c.Window, every), every: every, sendDepth: c.Window}
}

// targetShape is that of the other end.
func targetShape(c *Case) shape {
	pump := pumpShape(c)
	s := shape{sendDepth: 1, shared: pump.ring, access: c.Op.Needs()}
	if c.Op == fabric.OpSend {
		s.recvs, s.shared = max(2*c.Window, 64), 0
	}
	return s
}

// echoShape is that of either end of an echo. Requests are built for so many
// rounds of the window that signaling one at the end of each half costs little.
func echoShape(c *Case, r role) shape {
	half := c.Window * ((32 + c.Window - 1) / c.Window)
	s := shape{ring: 2 * half, every: 1}
	if !c.Signaled {
		s.every = half
	}
	s.sendDepth = s.ring + bellDepth
	in, out := c.Request, c.Reply
	if r == client {
		in, out = out, in
	}
	if c.bell(out) {
		s.access = fabric.RemoteWrite // for the doze word of the peer
	}
	if in == fabric.OpSend {
		s.recvs = s.ring
		return s
	}
	s.shared, s.access = c.Window, fabric.RemoteWrite
	if c.bell(in) {
		s.recvs = bellDepth
	}
	return s
}

// slots places messages of one size in a region: right-aligned in their slots,
// so that the sequence number at their end is always an aligned word.
//
//	| header | ...... message 0 | ...... message 1 | ...
type slots struct{ size, stride int }

func newSlots(size int) slots { return slots{size: size, stride: roundUp(size, line)} }

// bytes is the size of a region with n slots.
func (s slots) bytes(n int) int { return header + n*s.stride }

// off is where message i begins.
func (s slots) off(i int) int { return header + (i+1)*s.stride - s.size }

// word is where its last eight bytes begin.
func (s slots) word(i int) int { return header + (i+1)*s.stride - wordSize }

// key is where the eight bytes before that begin: what a request asks to be looked
// up, or what was found.
func (s slots) key(i int) int { return s.word(i) - wordSize }

func roundUp(n, to int) int { return (n + to - 1) / to * to }
