//go:build rdma

package verbs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
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
}

// startLink begins to listen to the peer of a queue pair that is connected.
func (d *Device) startLink(q *QP, c *net.TCPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	tuneControl(c, raw)
	l := &link{q: q, c: c, raw: raw}
	d.mu.Lock()
	if d.closed || d.killed.Load() {
		d.mu.Unlock()
		return d.errClosed()
	}
	d.links[l] = struct{}{}
	d.startTelling()
	d.mu.Unlock()
	q.mu.Lock()
	q.link = l
	q.mu.Unlock()
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
	n := 0
	err := l.raw.Write(func(fd uintptr) bool {
		n, _ = unix.Write(int(fd), msg)
		return true
	})
	if err != nil || n != len(msg) {
		// It has hung up, which is being read, or it does not read.
		l.deaf = true
	}
}

// tell sends the counts if they have changed, and reports whether they had.
func (l *link) tell() bool {
	c := l.q.counts()
	if c == l.told {
		return false
	}
	l.told = c
	var buf [headBytes + countsBytes]byte
	var body [countsBytes]byte
	l.write(appendMessage(buf[:0], kindCounts, c.append(body[:0])))
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
	_ = l.c.SetReadDeadline(until(lingerTime))
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

// audience returns whom there is something to tell; nobody ends the telling.
func (d *Device) audience() (links []*link, handles []*handle, c *counter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	links = slices.Collect(maps.Keys(d.links))
	for p := range d.domains {
		handles = slices.AppendSeq(handles, maps.Keys(p.handles))
	}
	if d.telling = len(links)+len(handles) != 0 && !d.killed.Load() && (!d.closed || len(links) != 0); !d.telling {
		return nil, nil, nil
	}
	return links, handles, d.counter
}

// tellCounts tells peers what they cannot see, as long as there are any.
func (d *Device) tellCounts() {
	pause := tellFirst
	t := time.NewTimer(pause)
	defer t.Stop()
	for range t.C {
		links, handles, c := d.audience()
		if len(links)+len(handles) == 0 {
			return
		}
		changed := false
		for _, l := range links {
			changed = l.keepUp() || changed
		}
		for _, h := range handles {
			changed = h.mail(c) || changed
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
