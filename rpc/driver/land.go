package driver

import (
	"runtime"
	"slices"
)

// Lander is a Conn that can bring a long result to where its caller wants it, instead of
// to memory of its own, from which it would be copied again.
type Lander interface {
	// Land has the connection call room when a result of n bytes begins to come. room
	// returns as many bytes in which the result is to be, or nil: then the connection uses
	// memory of its own. It may write to them until Next returns the result, or Leave is
	// called. It calls room in its own methods only.
	Land(room func(n int) []byte)
	// Leave gives back what room returned, at once; what is there of the result is kept
	// elsewhere, and what Next has returned stays valid. Without anything to give back it does
	// nothing.
	Leave()
}

// room is memory for the result that comes next, behind what its caller has (D7).
func (c *Client) room(n int) []byte {
	if c.count == 0 {
		return nil // an answer to nothing
	}
	p := c.sent[c.first]
	if !p.state.CompareAndSwap(stateSent, stateLanding) {
		return nil // given up
	}
	c.landing = p
	p.out = slices.Grow(p.out, n)
	return p.out[len(p.out) : len(p.out)+n]
}

// leave takes back the memory in which a result is landing, and its caller may give up.
func (c *Client) leave() {
	c.lander.Leave()
	c.landing.state.Store(stateSent)
	c.landing = nil
}

// heedLanding looks whether the caller whose result is landing wants to give up.
func (c *Client) heedLanding() {
	if c.landing != nil && c.landing.unwanted.Load() {
		c.leave()
	}
}

// landed ends the landing when data is the result of call p, and returns what is not yet where the
// caller wants it.
func (c *Client) landed(p *Pending, data []byte) []byte {
	if c.landing != p || len(data) == 0 || &data[0] != &p.out[:cap(p.out)][len(p.out)] {
		c.leave() // it was another result that came, or none
		return data
	}
	p.out = p.out[:len(p.out)+len(data)]
	p.state.Store(stateSent)
	c.landing = nil
	return nil
}

// quit has whoever drives, or else the caller itself, take back the memory of a call that is
// to be given up.
func (p *Pending) quit() {
	c := p.client
	p.unwanted.Store(true)
	if c.token.CompareAndSwap(false, true) {
		c.advance()
		c.release()
		return
	}
	if c.asleep.Load() {
		c.conn.Wake()
	}
	runtime.Gosched()
}
