package tcp

import (
	"time"

	"golang.org/x/sys/unix"
)

// lingerTime is how long a socket whose queue pair has ended may take to
// deliver its last frames.
const lingerTime = 2 * time.Second

// lingerer is a socket whose queue pair has ended. It is closed when the peer
// has closed, because a socket closed before that answers what still arrives
// with a reset, and a reset may overtake the last frames.
type lingerer struct {
	fd   int
	rest outBuffer // what is still to be written
	end  int64     // when to close whatever happens
}

// linger delivers the last frames of a connection and closes its socket. It
// takes over rest.
func (n *nic) linger(fd int, rest outBuffer) {
	l := &lingerer{fd: fd, rest: rest}
	if l.write() {
		l.close()
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped {
		l.close()
		return
	}
	n.serial++
	l.end = n.dev.clock.Now() + int64(lingerTime)
	events := uint32(unix.EPOLLIN)
	if l.rest.pending() != 0 {
		events |= unix.EPOLLOUT
	}
	if err := epollAdd(n.ep, fd, events, tokenLinger, n.serial); err != nil {
		l.close()
		return
	}
	n.lingers[n.serial] = l
	n.wakeLocked()
}

// write writes what it can. It reports whether the socket is over.
func (l *lingerer) write() bool {
	for l.rest.pending() != 0 {
		k, errno := sysSend(l.fd, l.rest.b[l.rest.r:l.rest.w])
		if errno != 0 {
			return !isAgain(errno)
		}
		if l.rest.consume(k); l.rest.pending() == 0 {
			return unix.Shutdown(l.fd, unix.SHUT_WR) != nil
		}
	}
	return false
}

// close closes the socket and forgets what was not written.
func (l *lingerer) close() {
	_ = unix.Close(l.fd)
	l.rest.drop()
}

// lingerEvent goes on with a lingering socket.
func (n *nic) lingerEvent(number int32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.lingers[number]
	if l == nil {
		return
	}
	over, had := false, l.rest.pending() != 0
	for i := 0; i < maxReads && !over; i++ {
		k, errno := sysRecv(l.fd, n.into[:])
		if k > 0 {
			continue
		}
		over = !isAgain(errno)
		break
	}
	if over = over || l.write(); over {
		l.close()
		delete(n.lingers, number)
		return
	}
	if had && l.rest.pending() == 0 {
		_ = epollMod(n.ep, l.fd, unix.EPOLLIN, tokenLinger, number)
	}
}

// closeLate closes lingering sockets whose time is over.
func (n *nic) closeLateLocked(now int64) {
	for number, l := range n.lingers {
		if now >= l.end {
			l.close()
			delete(n.lingers, number)
		}
	}
}

// closeLingers closes them all.
func (n *nic) closeLingers() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for number, l := range n.lingers {
		l.close()
		delete(n.lingers, number)
	}
}
