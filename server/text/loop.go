package text

import (
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/internal/fence"
)

// loop is the state that the goroutine of a listener owns.
type loop struct {
	*Listener
	epoll    int
	conns    []*conn // by index; nil is free
	serial   uint32
	open     int
	ready    []*conn // to serve in this turn
	next     []*conn // to serve in the next turn
	blocked  []*conn // that found a mailbox full
	uploads  []*conn // that wait for memory for a command, in order
	reserved int     // bytes that commands have
	buffers  int     // bytes that connections had at the last check
	noFD     bool    // accept found no free descriptor: try again later
	events   [eventsMost]unix.EpollEvent
	plain    command.Store
	now      int64
	checked  int64 // time of the last check for stalled connections
}

const (
	// eventsMost is how many events one epoll_wait returns at most.
	eventsMost = 128
	// looks is how often the loop polls for results before it sleeps: some
	// microseconds.
	looks = 256
	// checkEvery is the interval between checks for stalled connections.
	checkEvery = 250 * time.Millisecond
)

// Event keys of the descriptors that are not connections.
const (
	keyListener = -1
	keyEventfd  = -2
)

func (l *loop) run() {
	defer close(l.done)
	defer l.closeAll()
	for !l.stopping.Load() || l.inFlight() {
		l.now = l.cfg.Clock.Now()
		worked := l.results()
		l.unblock()
		for _, c := range l.swap() {
			c.queued = false
			l.serve(c)
			worked = true
		}
		l.wait(worked)
		if l.now-l.checked > int64(checkEvery) {
			l.check()
		}
	}
}

// swap returns the connections to serve, and begins the next list.
func (l *loop) swap() []*conn {
	l.ready, l.next = l.next, l.ready[:0]
	return l.ready
}

// queue adds a connection to those of the next turn.
func (l *loop) queue(c *conn) {
	if !c.queued {
		c.queued = true
		l.next = append(l.next, c)
	}
}

// results takes the results of all cores, and reports whether there were any.
func (l *loop) results() bool {
	worked := false
	for _, box := range l.mailboxes {
		for r := box.take(); r != nil; r = box.take() {
			worked = true
			index, slot := int(uint32(r.tag)>>8), int(r.tag&0xff)
			c := l.conns[index]
			if c == nil || c.serial != uint32(r.tag>>32) {
				continue // the connection is closed
			}
			c.settle(slot, r)
			l.queue(c)
		}
	}
	return worked
}

// unblock queues the connections that found a mailbox full.
func (l *loop) unblock() {
	for _, c := range l.blocked {
		if c.fd >= 0 {
			l.queue(c)
		}
	}
	l.blocked = l.blocked[:0]
}

func (l *loop) inFlight() bool {
	for _, box := range l.mailboxes {
		if box.inFlight() != 0 {
			return true
		}
	}
	return false
}

// serve does all that can be done for a connection now: it takes commands, reads input
// once, and writes answers.
func (l *loop) serve(c *conn) {
	if c.fd < 0 {
		return
	}
	c.answer()
	l.postAgain(c)
	if !l.stopping.Load() {
		l.take(c)
		if c.readable && c.wants(l.cfg.Backlog) {
			if !l.read(c) {
				return
			}
			l.take(c)
			if c.readable && c.wants(l.cfg.Backlog) {
				l.queue(c) // serve the others first
			}
		}
		c.closing = c.closing || c.eof && c.whole()
	}
	c.answer()
	l.write(c)
}

// whole reports whether all whole commands were taken; a part of one may be left.
func (c *conn) whole() bool { return c.end-c.at < max(c.want, 1) || c.skip != 0 || c.skipEnd }

// read reads once, and reports whether the connection is still open.
func (l *loop) read(c *conn) bool {
	if c.lingering {
		c.at, c.end, c.want = 0, 0, 0
		c.shrink()
		l.release(c)
	}
	if !l.reserve(c) {
		return true
	}
	c.room()
	space := c.in[c.end:]
	n, err := unix.Read(c.fd, space)
	switch {
	case errors.Is(err, unix.EAGAIN):
		c.readable = false
	case errors.Is(err, unix.EINTR):
	case err != nil:
		l.hangUp(c, "")
		return false
	case n == 0:
		c.readable, c.eof = false, true
		if c.lingering {
			l.hangUp(c, "")
			return false
		}
	default:
		c.end += n
		c.readable = n == len(space) || c.halfClosed // EPOLLRDHUP comes only once, maybe before the last bytes were read
	}
	return true
}

// write writes as much as the socket takes. It ends a closing connection when all is sent.
func (l *loop) write(c *conn) {
	if c.backlog() != 0 && c.since == 0 {
		c.since = l.now
	}
	for c.backlog() != 0 && c.writable {
		n, err := unix.Write(c.fd, c.out[c.sent:])
		switch {
		case errors.Is(err, unix.EAGAIN):
			c.writable = false
		case errors.Is(err, unix.EINTR):
		case err != nil:
			l.hangUp(c, "")
			return
		default:
			c.sent += n
			c.since = l.now
		}
	}
	if c.backlog() != 0 {
		c.trim()
		return
	}
	c.out, c.sent = c.out[:0], 0
	if !c.lingering {
		c.since = 0
	}
	if cap(c.out) > keepOut {
		c.out = nil
	}
	switch {
	case c.num != 0 && c.pending[c.first].tooLong:
		l.queue(c)
	case c.closing && c.num == 0 && !c.lingering:
		l.linger(c)
	case !c.paused(l.cfg.Backlog) && (c.readable || c.end-c.at >= max(c.want, 1)):
		l.queue(c) // commands that the backlog held up
	}
}

// linger shuts down the sending side, and waits for the client to close its own. If the connection
// were closed while the client sends, the client might never read the last answer (D5).
func (l *loop) linger(c *conn) {
	c.lingering, c.since = true, l.now
	if c.eof || unix.Shutdown(c.fd, unix.SHUT_WR) != nil {
		l.hangUp(c, "")
		return
	}
	if c.readable {
		l.queue(c)
	}
}

// hangUp closes a connection, and logs the reason if there is one.
func (l *loop) hangUp(c *conn, why string) {
	if why != "" {
		l.stats.cut.Add(1)
		l.cfg.Log.Warn("client disconnected", "path", "text", "reason", why, "backlog", c.backlog())
	}
	_ = unix.Close(c.fd) // also removes it from the epoll instance
	l.conns[c.index] = nil
	c.fd, c.in, c.out, c.sent = -1, nil, nil, 0
	l.forget(c)
	l.open--
	l.stats.clients.Store(int64(l.open))
	if l.noFD {
		l.accept()
	}
}

// wait takes events. If there is nothing to do, it sleeps until there are some.
func (l *loop) wait(worked bool) {
	if worked || len(l.next) != 0 || len(l.blocked) != 0 || l.cfg.BusyPoll {
		l.poll(0)
		return
	}
	if l.inFlight() && l.anySoon() {
		return
	}
	l.waker.beforeSleep()
	if !l.anyReady() && !l.stopping.Load() {
		l.poll(l.maxSleep())
	}
	l.waker.afterSleep()
}

// maxSleep returns how long the loop may sleep, in milliseconds.
func (l *loop) maxSleep() int {
	if l.open != 0 || l.noFD {
		return int(checkEvery / time.Millisecond)
	}
	return -1
}

// anySoon polls for results for a moment.
func (l *loop) anySoon() bool {
	for range looks {
		if l.anyReady() {
			return true
		}
		fence.Pause()
	}
	return false
}

func (l *loop) anyReady() bool {
	for _, box := range l.mailboxes {
		if box.ready() {
			return true
		}
	}
	return false
}

// poll takes events. It waits at most timeout milliseconds for some; -1 is forever.
func (l *loop) poll(timeout int) {
	n, err := unix.EpollWait(l.epoll, l.events[:], timeout)
	if err != nil && !errors.Is(err, unix.EINTR) {
		l.cfg.Log.Error("cannot wait for text clients", "err", err)
		l.stopping.Store(true)
		return
	}
	for i := range max(n, 0) {
		e := &l.events[i]
		switch e.Fd {
		case keyEventfd:
			l.clearEventfd()
		case keyListener:
			l.accept()
		default:
			l.event(e)
		}
	}
}

// event records an event of a connection.
func (l *loop) event(e *unix.EpollEvent) {
	c := l.conns[e.Fd]
	if c == nil || c.serial != uint32(e.Pad) {
		return // the connection was closed in this turn
	}
	if e.Events&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		c.readable = true
	}
	c.halfClosed = c.halfClosed || e.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
	if e.Events&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		c.writable = true
	}
	l.queue(c)
}

// closeAll closes everything, after writing as many of the answers as the sockets take.
func (l *loop) closeAll() {
	for _, c := range l.conns {
		if c != nil {
			c.answer()
			l.write(c)
			if c.fd >= 0 {
				l.hangUp(c, "")
			}
		}
	}
	l.stopListening()
	_ = unix.Close(l.epoll)
}

// peerOf returns the address of a client for the log.
func peerOf(sa unix.Sockaddr) slog.Attr {
	return slog.String("peer", addrOf(sa))
}
