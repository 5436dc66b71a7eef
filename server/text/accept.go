package text

import (
	"errors"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// accept accepts all waiting connections.
func (l *loop) accept() {
	if l.closedToNew.Load() {
		l.stopListening()
		return
	}
	for l.socket >= 0 {
		fd, from, err := unix.Accept4(l.socket, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case err == nil:
			l.noFD = false
			l.admit(fd, from)
		case errors.Is(err, unix.EAGAIN):
			return
		case errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.ENOMEM):
			// No event tells when descriptors are available again.
			if !l.noFD {
				l.cfg.Log.Warn("cannot accept a client: raise the limit of open files", "err", err)
			}
			l.noFD = true
			return
		}
	}
}

// admit adds a connection to the loop, or refuses it.
func (l *loop) admit(fd int, from unix.Sockaddr) {
	if int64(l.open) >= l.maxClients.Load() {
		_, _ = unix.Write(fd, appendError(nil, "the server has reached its limit of clients: try again later"))
		_ = unix.Close(fd)
		l.stats.refused.Add(1)
		return
	}
	index := l.freeIndex()
	l.serial++
	c := newConn(fd, index, l.serial, l.cfg.Clock.Now())
	e := unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(index), Pad: int32(c.serial),
	}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &e); err != nil {
		l.cfg.Log.Warn("cannot watch a client", "err", err)
		_ = unix.Close(fd)
		return
	}
	l.tune(fd)
	l.conns[index] = c
	l.open++
	l.stats.clients.Store(int64(l.open))
	l.stats.accepted.Add(1)
	l.cfg.Log.Debug("client connected", "listener", "text", peerOf(from))
	l.queue(c)
}

// tune sets the options of a client's socket. With them the kernel ends the connection of a host
// that has vanished, whether the connection is idle or there is something to send (D6).
func (l *loop) tune(fd int) {
	seconds := max(int(l.cfg.Stall/time.Second), 2)
	for opt, value := range map[int]int{
		unix.TCP_NODELAY: 1, unix.TCP_KEEPIDLE: seconds / 2, unix.TCP_KEEPINTVL: max(seconds/8, 1), unix.TCP_KEEPCNT: 4,
		unix.TCP_USER_TIMEOUT: 2000 * seconds, // a slow reader's window may be closed for longer than Stall
	} {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, opt, value)
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
}

// freeIndex returns a free index of conns.
func (l *loop) freeIndex() int {
	if l.open < len(l.conns) {
		for i, c := range l.conns {
			if c == nil {
				return i
			}
		}
	}
	l.conns = append(l.conns, nil)
	return len(l.conns) - 1
}

// stopListening closes the listening socket.
func (l *loop) stopListening() {
	if l.socket >= 0 {
		_ = unix.Close(l.socket)
		l.socket, l.noFD = -1, false
	}
}

// clearEventfd consumes a wake-up, and stops listening if asked to.
func (l *loop) clearEventfd() {
	var b [8]byte
	_, _ = unix.Read(l.eventfd, b[:])
	if l.closedToNew.Load() {
		l.stopListening()
	}
}

func addrOf(sa unix.Sockaddr) string {
	switch a := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)).String()
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr).Unmap(), uint16(a.Port)).String()
	}
	return ""
}
