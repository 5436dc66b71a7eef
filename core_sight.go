package remora

import (
	"errors"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/driver"
	"github.com/remora-kv/remora/store"
)

// looking reports whether the next result comes from sight.
func (c *coreConn) looking() bool {
	return c.sight != nil && !c.again && !c.sight.gone && c.sight.conn.Outstanding() != 0
}

// heeds reports whether links, or searches, matter for the next operation. Where they do not
// it goes by rfp, and nothing is noted about it: when it is answered, everything that was noted
// before it has been taken, and until then nothing is noted.
func (c *coreConn) heeds() bool {
	s := c.sight
	switch {
	case s == nil || s.gone:
		return false
	case s.habit == nil:
		return true
	case s.conn.Outstanding() != 0: // it waits for the outcome
		s.habit.follows(true)
		return true
	}
	return s.habit.follows(c.rfp.Outstanding() != 0)
}

// reserveSeen is reserve of a connection that can see.
func (c *coreConn) reserveSeen(op command.Proc, hash uint64, n int) (b []byte, err error) {
	if c.sight.mustTake() {
		return nil, rpc.ErrWindowFull
	}
	if c.seen = c.sees(op, hash, n); c.seen {
		if c.asking() || c.sight.full() {
			return nil, rpc.ErrWindowFull
		}
		c.room = c.sight.message[:n]
		return c.room, nil
	}
	if c.sight.conn.Outstanding() != 0 {
		return nil, rpc.ErrWindowFull
	}
	if c.sight.links == nil {
		c.plain = true
		return c.reserveAsked(op, hash, n)
	}
	more := 0
	if c.teaches(op) {
		more = c.sight.uses.size()
	}
	c.room, err = c.rfp.Reserve(class, n+more)
	if err != nil {
		return nil, err
	}
	return c.room[:n:n], nil
}

// asking reports whether the server is being asked for something.
func (c *coreConn) asking() bool {
	return c.rfp.Outstanding() != 0 || c.lane != nil && c.lane.Outstanding() != 0
}

// sees reports whether a get of n bytes with its procedure is looked for. While the server is
// being asked, who follows a link would have to wait for the answers (R6): to ask for one more
// takes less.
func (c *coreConn) sees(op command.Proc, hash uint64, n int) bool {
	if c.sight.links != nil && c.rfp.Outstanding() != 0 {
		return false
	}
	return c.sight.takes(op, hash, n)
}

// commitSeen is commit of a connection that can see.
func (c *coreConn) commitSeen(op command.Proc, hash uint64) error {
	if c.seen {
		return c.look(hash, len(c.room))
	}
	teaches := c.teaches(op)
	if teaches {
		c.room[0], c.room[1] = byte(command.Link), byte(command.Link>>8)
		c.sight.uses.appendTo(c.room[:len(c.room)-c.sight.uses.size()])
	}
	err := c.rfp.Commit()
	if err == nil {
		c.noteAsked(op, hash, teaches)
	}
	return err
}

// noteAsked notes what was sent by rfp where there are links. From now on the link of a key that is changed
// leads nowhere, until the new version is known.
func (c *coreConn) noteAsked(op command.Proc, hash uint64, teaches bool) {
	switch {
	case teaches:
		c.asked.push(query{hash, command.Link})
	case op == command.Put:
		c.sight.links.renew(hash, 0)
		c.asked.push(query{hash, op})
	default:
		c.asked.push(query{})
		if !idempotent(op) {
			c.sight.links.drop(hash)
		}
	}
}

// sendSeen is Send of a connection that can see.
func (c *coreConn) sendSeen(m *driver.Message) error {
	op := command.Proc(m.Proc)
	if op == opChase {
		return c.chase(m)
	}
	if c.sight.mustTake() {
		return rpc.ErrWindowFull
	}
	if c.sees(op, m.Hint, rpc.ProcSize+len(m.Head)+len(m.Body)) {
		if c.asking() || c.sight.full() {
			return rpc.ErrWindowFull
		}
		b := c.sight.message[:rpc.ProcSize]
		n := len(append(append(b, m.Head...), m.Body...))
		b[0], b[1] = byte(op), byte(op>>8)
		return c.look(m.Hint, n)
	}
	if c.sight.conn.Outstanding() != 0 {
		return rpc.ErrWindowFull
	}
	if c.sight.links == nil {
		return c.sendAsked(m, false)
	}
	teaches := c.teaches(op)
	var err error
	if teaches {
		link := *m
		link.Proc, link.Body = uint16(command.Link), c.sight.uses.appendTo(c.sight.message[:0])
		if err = c.rfp.Send(&link); err != nil {
			c.sight.uses.giveBack()
		}
	} else {
		err = c.rfp.Send(m)
	}
	if err == nil {
		c.noteAsked(op, m.Hint, teaches)
	}
	return err
}

// teaches reports whether the answer to an operation says where an item is, where there are
// links.
func (c *coreConn) teaches(op command.Proc) bool { return op == command.Get || op == command.Link }

// chase begins to look for an item where a caller says that it is.
func (c *coreConn) chase(m *driver.Message) error {
	if c.asking() || c.sight.full() {
		return rpc.ErrWindowFull
	}
	at, key := chaseOf(m.Head)
	err := c.sight.conn.Chase(store.Key{Hash: m.Hint, Bytes: key}, at)
	if err == nil {
		c.sight.begun.push(query{m.Hint, opChase})
	}
	return err
}

// nextSeen is Next of a connection that can see.
func (c *coreConn) nextSeen() (result []byte, err error, ok bool) {
	if c.looking() {
		result, ask, ok := c.sight.next()
		switch {
		case !ok && c.sight.lost():
			if result, err := c.forsake(); result != nil || err != nil {
				return result, err, true
			}
		case !ask || !ok:
			return result, nil, ok
		default:
			if err := c.askInstead(); err != nil {
				return nil, err, true
			}
		}
	}
	result, err, ok = c.nextAsked()
	if ok && c.sight.links != nil {
		if q := c.asked.pop(); err == nil {
			c.sight.learn(q, result)
		}
	}
	return result, err, ok
}

// look begins to look for the key of sight's message of n bytes. A connection that can do
// without sight loses that, and asks the server.
func (c *coreConn) look(hash uint64, n int) error {
	err := c.sight.start(hash, n)
	if err == nil || c.sight.habit == nil || errors.Is(err, rpc.ErrWindowFull) {
		return err
	}
	c.sight.gone = true
	return c.rfp.Conn.Send(class, c.sight.message[:n])
}

// forsake goes on without sight: what was looked for the server is asked for, but for a
// chase, whose result it returns. Where there are habits one search is on its way at most.
func (c *coreConn) forsake() (result []byte, err error) {
	s := c.sight
	s.gone = true
	if s.begun.pop().op == opChase {
		return command.AppendStatus(s.result[:0], command.Changed), nil
	}
	c.again = true
	if err := c.rfp.Conn.Send(class, s.message[:s.length]); err != nil {
		return nil, err
	}
	return nil, c.flush()
}

// askInstead asks the server for what was looked for in vain.
func (c *coreConn) askInstead() error {
	if err := c.rfp.Conn.Send(class, c.sight.request()); err != nil {
		return err
	}
	c.rfp.Flush()
	if c.sight.links != nil {
		c.asked.push(query{c.sight.conn.Key().Hash, c.sight.proc()})
	}
	c.again = true
	return nil
}

// query is an operation on its way by rfp: what is asked, and for which hash. The zero
// query is one whose answer teaches nothing.
type query struct {
	hash uint64
	op   command.Proc
}

// queries is a queue of them.
type queries struct {
	ring         []query // its length is a power of two, or 0
	first, count int
}

func (h *queries) push(q query) {
	if h.count == len(h.ring) {
		bigger := make([]query, max(2*len(h.ring), 16))
		for i := range h.count {
			bigger[i] = h.ring[(h.first+i)&(len(h.ring)-1)]
		}
		h.ring, h.first = bigger, 0
	}
	h.ring[(h.first+h.count)&(len(h.ring)-1)] = q
	h.count++
}

// pop returns the oldest, a zero one if there is none.
func (h *queries) pop() query {
	if h.count == 0 {
		return query{}
	}
	q := h.ring[h.first]
	h.first = (h.first + 1) & (len(h.ring) - 1)
	h.count--
	return q
}
