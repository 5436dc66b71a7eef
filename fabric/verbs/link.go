//go:build rdma

package verbs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

const (
	// verdictGrace is how long a queue pair waits for the adapter's verdict
	// when the peer says that a request of it was wrong (I6).
	verdictGrace = 500 * time.Millisecond
	// lingerTime bounds how long a control connection outlives its queue pair
	// for its last words to arrive.
	lingerTime = 2 * time.Second
	// tellFirst and tellLast are the pauses between counts, while they change
	// and when they have not for a while.
	tellFirst = 10 * time.Millisecond
	tellLast  = 80 * time.Millisecond
)

// link is one end of a control connection.
type link struct {
	q   *QP
	c   *net.TCPConn
	raw syscall.RawConn

	mu     sync.Mutex
	told   counts
	byed   bool // this side has said goodbye
	deaf   bool // the peer does not take any more
	hung   bool // the queue pair is closed
	grace  *time.Timer
	closed bool
	desk   linkDesk
}

// linkDesk is where a link writes and looks. It is kept so that telling, which
// goes on all the time, does not allocate.
type linkDesk struct {
	buf  [headBytes + countsBytes]byte
	put  func(fd uintptr) bool // writes msg
	msg  []byte
	sent int

	look   func(fd uintptr) // asks for window and room
	window uint32           // what the peer's system offers to take
	widest uint32           // the most that it has offered
	room   bool
	info   unix.TCPInfo
	since  int // tells since the last look
}

// newLink makes a link that does not run yet.
func newLink(q *QP, c *net.TCPConn, raw syscall.RawConn) *link {
	l := &link{q: q, c: c, raw: raw}
	d := &l.desk
	d.put = func(fd uintptr) bool {
		d.sent, _ = unix.Write(int(fd), d.msg)
		return true
	}
	d.look = func(fd uintptr) {
		const unanswered = 8 // packets that may be under way
		if tcpInfo(fd, &d.info) {
			d.window, d.room = d.info.Snd_wnd, d.info.Unacked < unanswered
		}
	}
	return l
}

// startLink begins to listen to the peer of a queue pair that is connected.
func (d *Device) startLink(q *QP, c *net.TCPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	tuneControl(c, raw)
	l := newLink(q, c, raw)
	d.mu.Lock()
	if d.closed || d.killed.Load() {
		d.mu.Unlock()
		return d.errClosed()
	}
	d.links[l] = struct{}{}
	d.startTelling()
	q.mu.Lock()
	q.link = l
	q.mu.Unlock()
	d.mu.Unlock()
	if q.State() != fabric.StateReady { // broken when nobody could be told
		q.farewell(byeOver)
	}
	go l.run()
	return nil
}

// tuneControl has the kernel notice within seconds that a host is gone.
func tuneControl(c *net.TCPConn, raw syscall.RawConn) {
	_ = c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 2 * time.Second, Interval: time.Second, Count: 3})
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 5000)
	})
}

// run hears the peer until the connection ends.
func (l *link) run() {
	defer l.over()
	var buf [maxBody]byte
	heardBye := false
	r := bufio.NewReaderSize(l.c, 512)
	for {
		k, body, err := readMessage(r, &buf)
		if err == nil {
			err = l.handle(k, body, &heardBye)
		}
		if err == nil {
			continue
		}
		switch {
		case errors.Is(err, fabric.ErrProtocol):
			l.q.breakDown(fmt.Errorf("fabric: control connection with %s: %w", l.q.peer.Addr, err), byeOver)
		case heardBye: // and now it has hung up
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, unix.ECONNRESET),
			errors.Is(err, net.ErrClosed):
			l.q.peerGone(fmt.Errorf("fabric: the process behind %s ended: %w", l.q.peer.Addr, fabric.ErrPeerLost))
		default:
			l.q.peerGone(fmt.Errorf("fabric: control connection with %s: %w: %w", l.q.peer.Addr, err, fabric.ErrPeerLost))
		}
		return
	}
}

// handle acts on a message.
func (l *link) handle(k kind, body []byte, heardBye *bool) error {
	//lint:ignore exhaustive the others are for the handshake
	switch k {
	case kindCounts:
		c, err := decodeCounts(body)
		if err == nil {
			l.q.report(c)
		}
		return err
	case kindBye:
		if len(body) != 1 || *heardBye {
			return violation("a bye of %d bytes, or a second one", len(body))
		}
		*heardBye = true
		l.goodbye(body[0])
		return nil
	}
	return violation("control message of kind %d", k)
}

// goodbye handles the bye of the peer.
func (l *link) goodbye(why byte) {
	gone := func() {
		l.q.peerGone(fmt.Errorf("fabric: %s: %w", l.q.peer.Addr, fabric.ErrDisconnected))
	}
	if why != byeFault {
		gone()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.hung {
		l.grace = time.AfterFunc(verdictGrace, func() {
			l.q.blamed.Store(true)
			gone()
		})
	}
}

// over closes the socket when the peer has hung up or was given up.
func (l *link) over() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	_ = l.c.Close()
	d := l.q.dev
	d.mu.Lock()
	delete(d.links, l)
	d.mu.Unlock()
}

// write sends a message without waiting (I9). l.mu is held.
func (l *link) write(msg []byte) {
	if l.deaf || l.closed {
		return
	}
	l.desk.msg, l.desk.sent = msg, 0
	if err := l.raw.Write(l.desk.put); err != nil || l.desk.sent != len(msg) {
		// It has hung up, which is being read, or it does not read.
		l.deaf = true
	}
}

// hasRoom reports whether the peer's system takes more: a process that is
// stopped reads nothing, and must not be taken for dead because its buffer is
// full. A kernel before 5.4 does not say. l.mu is held.
func (l *link) hasRoom() bool {
	const often = 8 // one look for so many tells
	d := &l.desk
	if d.since++; d.since < often {
		return true
	}
	d.window, d.room = 0, true
	_ = l.raw.Control(d.look)
	d.widest = max(d.widest, d.window)
	if !d.room || d.window < d.widest/4 {
		return false
	}
	d.since = 0
	return true
}

// tell sends the counts if they have changed, and reports whether it did.
func (l *link) tell() bool {
	c := l.q.counts()
	if c == l.told || !l.hasRoom() {
		return false
	}
	l.told = c
	var body [countsBytes]byte
	l.write(appendMessage(l.desk.buf[:0], kindCounts, c.append(body[:0])))
	return true
}

// farewell says goodbye, once.
func (q *QP) farewell(why byte) {
	q.mu.Lock()
	l := q.link
	q.mu.Unlock()
	if l == nil || q.dev.killed.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byed {
		return
	}
	l.byed = true
	l.tell()
	l.write(appendMessage(nil, kindBye, []byte{why}))
}

// hangUp ends the control connection of a queue pair that is closed. The
// socket stays until the peer has read what was said.
func (q *QP) hangUp() {
	q.mu.Lock()
	l := q.link
	q.mu.Unlock()
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hung {
		return
	}
	l.hung = true
	if l.grace != nil {
		l.grace.Stop()
	}
	if q.dev.killed.Load() {
		return
	}
	l.tell()
	_ = l.c.SetReadDeadline(base.Until(lingerTime))
	_ = l.c.CloseWrite()
}

// cut ends the connection without a word.
func (l *link) cut() {
	_ = l.c.SetLinger(0)
	_ = l.c.Close()
}

// startTelling begins to tell peers what they cannot see. d.mu is held.
func (d *Device) startTelling() {
	if !d.telling {
		d.telling = true
		go d.tellCounts()
	}
}

// audience is whom there is something to tell. Its memory is used again.
type audience struct {
	links   []*link
	handles []*handle
	counter *counter
}

// gather finds the audience, and reports whether there is any; nobody ends the
// telling.
func (a *audience) gather(d *Device) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(a.links)
	clear(a.handles)
	a.links, a.handles, a.counter = a.links[:0], a.handles[:0], d.counter
	for l := range d.links {
		a.links = append(a.links, l)
	}
	for p := range d.domains {
		for h := range p.handles {
			a.handles = append(a.handles, h)
		}
	}
	d.telling = len(a.links)+len(a.handles) != 0 && !d.killed.Load() && (!d.closed || len(a.links) != 0)
	return d.telling
}

// tellCounts tells peers what they cannot see, as long as there are any.
func (d *Device) tellCounts() {
	pause := tellFirst
	t := time.NewTimer(pause)
	defer t.Stop()
	var a audience
	for range t.C {
		if !a.gather(d) {
			return
		}
		changed := false
		for _, l := range a.links {
			changed = l.keepUp() || changed
		}
		for _, h := range a.handles {
			changed = h.mail(a.counter) || changed
		}
		if pause = min(2*pause, tellLast); changed {
			pause = tellFirst
		}
		t.Reset(pause)
	}
}

// keepUp tells the peer what has changed, and looks after the queue pair.
func (l *link) keepUp() bool {
	l.mu.Lock()
	changed := !l.hung && l.tell()
	l.mu.Unlock()
	if l.q.dev.quirks.SilentTarget {
		l.q.checkUp()
	}
	return changed
}
