package driver

import (
	"runtime"
	"slices"
)

// Lander is a Conn that can write a long result to the memory of its caller, instead of
// to its own memory, from which it would be copied again.
type Lander interface {
	// Land makes the connection call room when a result of n bytes begins to arrive. room
	// returns n bytes for the result, or nil if the connection must use its own memory. The
	// connection may write to them until Next returns the result or Leave is called. It calls
	// room only inside its own methods.
	Land(room func(n int) []byte)
	// Leave ends the use of the memory that room returned, at once. The connection keeps the
	// part of the result that has arrived; results that Next has returned stay valid. Leave
	// does nothing if no such memory is in use.
	Leave()
}

// room is memory for the next result, behind the length of its caller's out (D7).
func (c *Client) room(n int) []byte {
	if c.count == 0 {
		return nil // no call was sent
	}
	p := c.sent[c.first]
	if !p.state.CompareAndSwap(stateSent, stateLanding) {
		return nil // abandoned
	}
	c.landing = p
	p.out = slices.Grow(p.out, n)
	return p.out[len(p.out) : len(p.out)+n]
}

// leave ends the landing, so that the caller may give up.
func (c *Client) leave() {
	c.lander.Leave()
	c.landing.state.Store(stateSent)
	c.landing = nil
}

// checkLanding ends the landing if the caller wants to give up.
func (c *Client) checkLanding() {
	if c.landing != nil && c.landing.unwanted.Load() {
		c.leave()
	}
}

// landed ends the landing if data is the result of call p, and returns the part that is not
// yet in the memory of the caller.
func (c *Client) landed(p *Pending, data []byte) []byte {
	if c.landing != p || len(data) == 0 || &data[0] != &p.out[:cap(p.out)][len(p.out)] {
		c.leave() // another result has come, or none
		return data
	}
	p.out = p.out[:len(p.out)+len(data)]
	p.state.Store(stateSent)
	c.landing = nil
	return nil
}

// quit ends the landing of a call that its caller gives up: the driver does it, or the
// caller itself if there is no driver.
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
