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
	"github.com/remora-kv/remora/fabric/internal/base"
)

const (
	// verdictGrace is how long a queue pair waits for the adapter's verdict
	// when the peer says that a request of it was wrong (I6).
	verdictGrace = 500 * time.Millisecond
	// lingerTime bounds how long a control connection outlives its queue pair
	// for its last messages to arrive.
	lingerTime = 2 * time.Second
	// silentHost is how long a host may be silent before it is taken for gone.
	silentHost = 5 * time.Second
)

// control is one end of a control connection, over TCP.
type control struct {
	q   *QP
	c   *net.TCPConn
	raw syscall.RawConn

	mu        sync.Mutex
	asked     bool   // the peer was asked for its counts and has not answered
	told      counts // what the peer knows
	byed      bool   // this side has sent its BYE
	writeShut bool   // the peer does not take any more
	hung      bool   // the queue pair is closed
	grace     *time.Timer
	closed    bool
}

// startControl begins to listen to the peer of a queue pair that is connected.
func (d *Device) startControl(q *QP, c *net.TCPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	tuneControl(c, raw)
	l := &control{q: q, c: c, raw: raw}
	d.mu.Lock()
	if d.closed || d.killed.Load() {
		d.mu.Unlock()
		return d.errClosed()
	}
	d.controls[l] = struct{}{}
	if d.quirks.SilentTarget && !d.watching {
		d.watching = true
		go d.watchQPs()
	}
	q.mu.Lock()
	q.control = l
	q.mu.Unlock()
	d.mu.Unlock()
	if q.State() != fabric.StateReady { // broken when the peer could not be notified
		q.sendBye(byeOver)
	}
	go l.run()
	return nil
}

// tuneControl has the kernel notice within seconds that a host is gone.
func tuneControl(c *net.TCPConn, raw syscall.RawConn) {
	_ = c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 2 * time.Second, Interval: time.Second, Count: 3})
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silentHost/time.Millisecond))
	})
}

// run hears the peer until the connection ends.
func (l *control) run() {
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
func (l *control) handle(k kind, body []byte, heardBye *bool) error {
	//lint:ignore exhaustive the others are for the handshake
	switch k {
	case kindAsk:
		if len(body) != 0 {
			return violation("an ask of %d bytes", len(body))
		}
		l.answer()
		return nil
	case kindCounts:
		c, err := decodeCounts(body)
		if err == nil {
			l.q.report(c)
			l.mu.Lock()
			l.asked = false
			l.mu.Unlock()
		}
		return err
	case kindBye:
		if len(body) != 1 || *heardBye {
			return violation("a bye of %d bytes, or a second one", len(body))
		}
		*heardBye = true
		l.receiveBye(body[0])
		return nil
	}
	return violation("control message of kind %d", k)
}

// receiveBye handles the BYE of the peer.
func (l *control) receiveBye(why byte) {
	gone := func() {
		l.q.peerGone(fmt.Errorf("fabric: %s: %w", l.q.peer.Addr, fabric.ErrDisconnected))
	}
	if why != byeFault {
		gone()
		return
	}
	l.q.accused.Store(true)
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
func (l *control) over() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	_ = l.c.Close()
	d := l.q.dev
	d.mu.Lock()
	delete(d.controls, l)
	d.mu.Unlock()
}

// write sends a message without waiting (I9). l.mu is held.
func (l *control) write(k kind, body []byte) {
	if l.writeShut || l.closed {
		return
	}
	msg, sent := appendMessage(nil, k, body), 0
	err := l.raw.Write(func(fd uintptr) bool {
		sent, _ = unix.Write(int(fd), msg)
		return true
	})
	if err != nil || sent != len(msg) {
		// It has hung up, which is being read, or it does not read.
		l.writeShut = true
	}
}

// ask asks the peer for its counts, unless it has yet to answer: a process that is
// stopped answers later, and is not sent more than it takes.
func (l *control) ask() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.asked && !l.byed {
		l.asked = true
		l.write(kindAsk, nil)
	}
}

// answer tells the peer the counts.
func (l *control) answer() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.hung {
		l.told = l.q.counts()
		l.write(kindCounts, l.told.append(nil))
	}
}

// tellLast tells the peer, before it can ask no more, the counts that it does not
// know. l.mu is held.
func (l *control) tellLast() {
	if c := l.q.counts(); c != l.told {
		l.told = c
		l.write(kindCounts, c.append(nil))
	}
}

// sendBye tells the peer that this side is over, once.
func (q *QP) sendBye(why byte) {
	q.mu.Lock()
	l := q.control
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
	l.tellLast()
	l.write(kindBye, []byte{why})
}

// hangUp ends the control connection of a queue pair that is closed. The
// socket stays until the peer has read what was said.
func (q *QP) hangUp() {
	q.mu.Lock()
	l := q.control
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
	l.tellLast()
	_ = l.c.SetReadDeadline(base.Until(lingerTime))
	_ = l.c.CloseWrite()
}

// cut ends the connection without a message.
func (l *control) cut() {
	_ = l.c.SetLinger(0)
	_ = l.c.Close()
}

// watchEvery is how often queue pairs are looked at whose adapter does not say
// that it has broken them.
const watchEvery = 20 * time.Millisecond

// watchQPs looks for queue pairs that the adapter has broken in silence
// (Quirks.SilentTarget), as long as there are connections.
func (d *Device) watchQPs() {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	var controls []*control
	for range t.C {
		d.mu.Lock()
		controls = slices.AppendSeq(controls[:0], maps.Keys(d.controls))
		d.watching = len(controls) != 0 && !d.killed.Load()
		watching := d.watching
		d.mu.Unlock()
		if !watching {
			return
		}
		for _, l := range controls {
			l.q.checkUp()
		}
		clear(controls)
	}
}
