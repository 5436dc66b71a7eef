package path

import (
	"errors"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/driver"
	"github.com/remora-kv/remora/store"
)

// readerIsNext reports whether the next result comes from the reader.
func (c *Conn) readerIsNext() bool {
	return c.reader != nil && !c.repeated && !c.reader.lost && c.reader.conn.Outstanding() != 0
}

// wantsReader reports whether the reader matters for the next operation. Where it does not, the
// operation goes by rfp and nothing is noted about it: when it is answered, everything that was
// noted before it has been taken, and until then nothing is noted.
func (c *Conn) wantsReader() bool {
	r := c.reader
	switch {
	case r == nil || r.lost:
		return false
	case r.policy == nil:
		return true
	case r.conn.Outstanding() != 0: // the operation waits for what is being read
		r.policy.follows(true)
		return true
	}
	return r.policy.follows(c.rfp.Outstanding() != 0)
}

// reserveReader is Reserve where the reader matters.
func (c *Conn) reserveReader(op command.Proc, hash uint64, n int) (b []byte, err error) {
	if c.reader.mustTake() {
		return nil, rpc.ErrWindowFull
	}
	if c.reading = c.readable(op, hash, n); c.reading {
		if c.asking() || c.reader.full() {
			return nil, rpc.ErrWindowFull
		}
		c.room = c.reader.message[:n]
		return c.room, nil
	}
	if c.reader.conn.Outstanding() != 0 {
		return nil, rpc.ErrWindowFull
	}
	if c.reader.links == nil {
		c.direct = true
		return c.reserveAsked(op, hash, n)
	}
	more := 0
	if returnsLink(op) {
		more = c.reader.uses.size()
	}
	c.room, err = c.rfp.Reserve(class, n+more)
	if err != nil {
		return nil, err
	}
	return c.room[:n:n], nil
}

// asking reports whether the server has operations in flight.
func (c *Conn) asking() bool {
	return c.rfp.Outstanding() != 0 || c.small != nil && c.small.Outstanding() != 0
}

// readable reports whether the reader takes a get, whose message has n bytes. While the server
// has operations in flight, a get that follows a link would have to wait for the answers (P1):
// to ask for one more takes less time.
func (c *Conn) readable(op command.Proc, hash uint64, n int) bool {
	if c.reader.links != nil && c.rfp.Outstanding() != 0 {
		return false
	}
	return c.reader.takes(op, hash, n)
}

// commitReader is Commit where the reader matters.
func (c *Conn) commitReader(op command.Proc, hash uint64) error {
	if c.reading {
		return c.read(hash, len(c.room))
	}
	learns := returnsLink(op)
	if learns {
		c.room[0], c.room[1] = byte(command.Link), byte(command.Link>>8)
		c.reader.uses.appendTo(c.room[:len(c.room)-c.reader.uses.size()])
	}
	if op == command.Put {
		c.reader.changes(hash, c.room[rpc.ProcSize:], nil)
	}
	err := c.rfp.Commit()
	if err == nil {
		c.noteAsked(op, hash, learns)
	}
	return err
}

// noteAsked notes an operation that was sent by rfp where there are links. The link of a key
// that is changed is not followed from now on; that of one that is put is, when the new version is known
// (changes).
func (c *Conn) noteAsked(op command.Proc, hash uint64, learns bool) {
	switch {
	case learns:
		c.asked.push(query{hash, command.Link})
	case op == command.Put:
		c.asked.push(query{hash, op})
	default:
		c.asked.push(query{})
		if !op.Idempotent() {
			c.reader.links.drop(hash)
		}
	}
}

// sendReader is Send where the reader matters.
func (c *Conn) sendReader(m *driver.Message) error {
	op := command.Proc(m.Proc)
	if op == command.Follow {
		return c.follow(m)
	}
	if c.reader.mustTake() {
		return rpc.ErrWindowFull
	}
	if c.readable(op, m.Hint, rpc.ProcSize+len(m.Head)+len(m.Body)) {
		if c.asking() || c.reader.full() {
			return rpc.ErrWindowFull
		}
		b := c.reader.message[:rpc.ProcSize]
		n := len(append(append(b, m.Head...), m.Body...))
		b[0], b[1] = byte(op), byte(op>>8)
		return c.read(m.Hint, n)
	}
	if c.reader.conn.Outstanding() != 0 {
		return rpc.ErrWindowFull
	}
	if c.reader.links == nil {
		return c.sendAsked(m, false)
	}
	learns := returnsLink(op)
	var err error
	if learns {
		link := *m
		link.Proc, link.Body = uint16(command.Link), c.reader.uses.appendTo(c.reader.message[:0])
		if err = c.rfp.Send(&link); err != nil {
			c.reader.uses.giveBack()
		}
	} else {
		if op == command.Put {
			c.reader.changes(m.Hint, m.Head, m.Body)
		}
		err = c.rfp.Send(m)
	}
	if err == nil {
		c.noteAsked(op, m.Hint, learns)
	}
	return err
}

// returnsLink reports whether the answer to an operation has a link, where there are links.
func returnsLink(op command.Proc) bool { return op == command.Get || op == command.Link }

// follow follows the link of a caller.
func (c *Conn) follow(m *driver.Message) error {
	if c.asking() || c.reader.full() {
		return rpc.ErrWindowFull
	}
	at, key := parseFollow(m.Head)
	err := c.reader.conn.Follow(store.Key{Hash: m.Hint, Bytes: key}, at)
	if err == nil {
		c.reader.started.push(query{m.Hint, command.Follow})
	}
	return err
}

// nextReader is Next of a connection with a reader.
func (c *Conn) nextReader() (result []byte, err error, ok bool) {
	if c.readerIsNext() {
		result, ask, ok := c.reader.next()
		switch {
		case !ok && c.reader.failed():
			if result, err := c.dropReader(); result != nil || err != nil {
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
	switch {
	case !ok:
	case c.reader.links != nil:
		if q := c.asked.pop(); err == nil {
			c.reader.learn(q, result)
		}
	case err == nil && c.reader.time.wanted():
		_, at, _ := linkIn(result)
		c.reader.time.learn(at)
	}
	return result, err, ok
}

// read starts to read the item of the reader's message of n bytes. A connection with a link
// policy gives up a reader that fails, and asks the server (P4).
func (c *Conn) read(hash uint64, n int) error {
	err := c.reader.start(hash, n)
	if err == nil || c.reader.policy == nil || errors.Is(err, rpc.ErrWindowFull) {
		return err
	}
	c.reader.lost = true
	return c.rfp.Conn.Send(class, c.reader.message[:n])
}

// dropReader goes on without the reader (P4): it asks the server for the item that was being
// read, or returns the result of following a link. With a link policy at most one read is in flight.
func (c *Conn) dropReader() (result []byte, err error) {
	r := c.reader
	r.lost = true
	if r.started.pop().op == command.Follow {
		return command.AppendStatus(r.result[:0], command.Changed), nil
	}
	c.repeated = true
	if err := c.rfp.Conn.Send(class, r.message[:r.length]); err != nil {
		return nil, err
	}
	return nil, c.SendFrame()
}

// askInstead asks the server for an item that the reader could not prove.
func (c *Conn) askInstead() error {
	if err := c.rfp.Conn.Send(class, c.reader.request()); err != nil {
		return err
	}
	c.rfp.Flush()
	if c.reader.links != nil {
		c.asked.push(query{c.reader.conn.Key().Hash, c.reader.proc()})
	}
	c.repeated = true
	return nil
}
