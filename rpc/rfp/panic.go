package rfp

import "github.com/remora-kv/remora/rpc/wire"

// current is the message being served: what the core needs to go on behind it if its handler panics.
type current struct {
	session *session
	payload []byte // of the frame
	class   uint8
	entries uint16 // messages behind this one
	at      int    // which message of the frame it is
	rest    int    // bytes of payload behind it
}

// goOn fails the call whose handler has panicked and serves the rest of its frame. It reports
// whether there was such a call.
func (c *core) goOn() bool {
	if c.Panic == nil {
		return false
	}
	for c.Panic != nil {
		c.serveBehind()
	}
	return true
}

// serveBehind does so for one call. The handler of a later message may panic, too.
func (c *core) serveBehind() {
	defer c.Catch()
	err, m := c.Panic, c.now
	c.Panic = nil
	if c.settle(m.session, m.class, nil, err); m.session.gone {
		return
	}
	c.giveBack(m.session)
	c.serveRest(m.session, wire.Word1{Class: m.class, Entries: m.entries}, m.payload[len(m.payload)-m.rest:], m.at+1)
}
