package text

import (
	"bytes"
	"encoding/binary"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/store"
)

const (
	// window is how many commands of a connection cores may process at a time.
	window = 64
	// inSize is the size of a read. keepOut is how much memory for answers a connection
	// keeps when it has none.
	inSize  = 16 << 10
	keepOut = 256 << 10
	// leastGrant is the least that a result may have.
	leastGrant = 1 << 10
)

// conn is a connection.
type conn struct {
	fd     int
	index  int    // in conns of the loop
	serial uint32 // distinguishes it from earlier connections with this index

	in         []byte // bytes from at to end are not parsed; nil while the client is silent
	at, end    int
	want       int  // least length of the next command
	skip       int  // bytes of a refused value to be skipped
	skipEnd    bool // and then the end of its line
	readable   bool
	writable   bool
	halfClosed bool  // the client has closed its side; EOF is to be read
	eof        bool  // EOF was read
	closing    bool  // no more commands are taken
	lingering  bool  // all answers are sent; input is discarded
	queued     bool  // in the loop's list of connections to serve
	stuck      bool  // a mailbox was full: there are commands to be taken
	waiting    bool  // for memory for the next command
	reserved   int   // bytes for the next command
	began      int64 // when the next command began, or the connection; 0: there is none, or it waits for this side
	last       int64 // when the last command was taken
	out        []byte
	sent       int   // bytes of out that were sent
	since      int64 // when the backlog began, the client last took bytes, or lingering began; 0: no backlog
	unsent     int   // bytes that the socket had to send at the last check
	held       int   // bytes of buffers at the last check
	usual      int   // what a result is expected to have
	granted    int   // what results of commands in flight may have
	pending    [window]pending
	first, num int
}

// pending is a command that was not answered yet.
type pending struct {
	verb    verb
	done    bool
	tooLong bool   // its result was longer than granted: text is the request, to be posted again
	granted int    // of the connection, while it is in flight
	text    []byte // the answer, while an earlier command has none
}

func newConn(fd, index int, serial uint32, now int64) *conn {
	return &conn{
		fd: fd, index: index, serial: serial, usual: leastGrant, readable: true, writable: true, began: now, last: now,
	}
}

// tag returns the tag that identifies a pending command.
func (c *conn) tag(slot int) uint64 {
	return uint64(c.serial)<<32 | uint64(c.index)<<8 | uint64(slot)
}

// backlog returns the number of bytes of answers that the client has not taken.
func (c *conn) backlog() int { return len(c.out) - c.sent }

// paused reports whether no command may be taken now (D3).
func (c *conn) paused(most int) bool {
	return c.closing || c.num == window || c.num+c.backlog() != 0 && c.backlog()+c.granted+c.usual > most
}

// wants reports whether to read more input: all whole commands in the buffer were taken.
func (c *conn) wants(backlog int) bool {
	return c.lingering || !c.stuck && !c.waiting && !c.paused(backlog)
}

// take parses commands and posts them, until there is none or no room.
func (l *loop) take(c *conn) {
	c.stuck = false
	for !c.paused(l.cfg.Backlog) && c.skipped() {
		input := c.in[c.at:c.end]
		if len(input) < max(c.want, 1) {
			return
		}
		r, n, want, f := parse(input, l.cfg.MaxValue)
		switch c.want = want; {
		case f != nil:
			c.complain(f)
			l.took(c, n)
			continue
		case n == 0:
			return
		case r.verb == quit:
			c.say(bye)
			c.closing = true
		case !l.post(c, &r):
			l.blocked = append(l.blocked, c)
			c.stuck = true
			return
		}
		l.took(c, n)
	}
}

// took notes that a command of n bytes was taken.
func (l *loop) took(c *conn, n int) {
	c.at += n
	c.began, c.last = 0, l.now
	l.stats.commands.Add(1)
	if c.reserved != 0 && c.shrink() {
		l.release(c)
	}
}

// skipped discards the rest of a value that is too long, and reports whether all of it
// has arrived.
func (c *conn) skipped() bool {
	n := min(c.skip, c.end-c.at)
	if c.at, c.skip = c.at+n, c.skip-n; n != 0 {
		c.began = 0
	}
	if c.skip != 0 || !c.skipEnd {
		return c.skip == 0
	}
	n, _, f := lineEnd(c.in[c.at:c.end], 0)
	if f != nil {
		c.complain(f)
		return false
	}
	c.at += n
	c.skipEnd = n == 0
	return n != 0
}

// complain answers a malformed command with its fault.
func (c *conn) complain(f *fault) {
	p := c.push(0)
	p.done, p.text = true, appendError(p.text[:0], f.text)
	c.skip, c.skipEnd = f.skip, f.skip != 0
	c.closing = c.closing || f.last
}

// say answers a command without a core.
func (c *conn) say(text string) {
	p := c.push(0)
	p.done, p.text = true, append(p.text[:0], text...)
}

// push adds a pending command. There is room, since paused is checked first.
func (c *conn) push(v verb) *pending {
	p := &c.pending[(c.first+c.num)%window]
	p.verb, p.done, p.granted = v, false, 0
	c.num++
	return p
}

// post sends a command to the core that owns its key. It returns false if the mailbox is full.
func (l *loop) post(c *conn, r *request) bool {
	box := l.mailboxes[store.PartitionOf(l.cfg.Seed.Hash(r.key), len(l.mailboxes))]
	msg, ok := box.message()
	if !ok {
		return false
	}
	room, granted := anyLength, c.usual
	switch r.verb {
	case get:
		msg = append(binary.LittleEndian.AppendUint16(msg, uint16(command.Get)), r.key...)
		if c.num+c.backlog() != 0 {
			room = granted
		}
	case set:
		msg = binary.LittleEndian.AppendUint16(msg, uint16(command.Put))
		msg = command.AppendPut(msg, r.key, r.value, &l.plain)
	case del, quit:
		msg = binary.LittleEndian.AppendUint16(msg, uint16(command.Delete))
		msg = command.AppendDelete(msg, r.key, 0)
	}
	slot := (c.first + c.num) % window
	c.push(r.verb).granted = granted
	c.granted += granted
	box.post(c.tag(slot), msg, room)
	return true
}

// postAgain posts the first pending command again if its result was too long, now for a result of
// any length, once the client has taken all answers before it (D3). It waits while the mailbox is
// full.
func (l *loop) postAgain(c *conn) {
	p := &c.pending[c.first]
	if c.num == 0 || !p.tooLong || c.backlog() != 0 {
		return
	}
	box := l.mailboxes[store.PartitionOf(l.cfg.Seed.Hash(p.text[rpc.ProcSize:]), len(l.mailboxes))]
	msg, ok := box.message()
	if !ok {
		l.blocked = append(l.blocked, c)
		return
	}
	p.tooLong, p.granted = false, c.usual
	c.granted += p.granted
	box.post(c.tag(c.first), append(msg, p.text...), anyLength)
}

// settle takes the result of a command, and appends the answer to the output if it is next.
func (c *conn) settle(slot int, r *result) {
	p := &c.pending[slot]
	c.granted -= p.granted
	c.usual = max(len(r.data), r.tooLong, c.usual-c.usual/8, leastGrant)
	if r.tooLong != 0 {
		p.tooLong, p.text = true, append(p.text[:0], r.request...)
		return
	}
	p.done = true
	if slot == c.first {
		c.out = appendAnswer(c.out, p.verb, r)
		p.text = p.text[:0]
		c.pop()
		return
	}
	p.text = appendAnswer(p.text[:0], p.verb, r)
}

// answer moves the answers that are next to the output (D2).
func (c *conn) answer() {
	for c.num != 0 && c.pending[c.first].done {
		c.out = append(c.out, c.pending[c.first].text...)
		c.pop()
	}
}

func (c *conn) pop() {
	if p := &c.pending[c.first]; cap(p.text) > inSize {
		p.text = nil
	}
	c.first = (c.first + 1) % window
	c.num--
}

// trim discards sent bytes once they are many and more than the backlog.
func (c *conn) trim() {
	if c.sent > keepOut && c.sent > c.backlog() {
		c.out = c.out[:copy(c.out, c.out[c.sent:])]
		c.sent = 0
	}
}

// most returns how long the next command may be: what it announced, with an end of line of two
// bytes, or a line.
func (c *conn) most() int {
	if c.announced() {
		return c.want + 1
	}
	return MaxLine + 2
}

// announced reports whether the length of the next command is known, if it is longer than inSize.
func (c *conn) announced() bool {
	return c.want > MaxLine+2 || bytes.IndexByte(c.in[c.at:c.end], '\n') >= 0
}

// shrink moves input to a buffer of inSize, if it fits.
func (c *conn) shrink() bool {
	if len(c.in) > inSize && c.end-c.at <= inSize {
		to := make([]byte, inSize)
		c.end = copy(to, c.in[c.at:c.end])
		c.at, c.in = 0, to
	}
	return len(c.in) <= inSize
}

// room makes room for more input. The buffer grows up to the next command, but no faster than
// input arrives (D4).
func (c *conn) room() {
	if c.in == nil {
		c.in = make([]byte, inSize)
	}
	if c.at == c.end {
		c.at, c.end = 0, 0
	}
	if c.end < len(c.in) {
		return
	}
	to := c.in
	if c.end-c.at > len(c.in)/2 {
		to = make([]byte, min(2*len(c.in), c.most()))
	}
	c.end = copy(to, c.in[c.at:c.end])
	c.at, c.in = 0, to
}
