package tcp

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
)

// ending is how a connection ends.
type ending struct {
	err error
	// send and recv are the statuses of the oldest request and receive; the
	// others are flushed. 0 means flushed as well.
	send, recv fabric.Status
	// say is the last frame to the peer, BYE or NAK; 0 when it knows. status
	// is that of the NAK.
	say    kind
	status fabric.Status
	// reset closes the socket at once.
	reset bool
}

// finish leaves StateReady: it gives the socket away and flushes the queues.
func (q *conn) finish(e ending) {
	if !q.fall(e.err) {
		return
	}
	q.rnrEnd.Store(0)
	if fd := q.fd; fd >= 0 {
		q.fd = -1
		q.recvCQ.port.part(&q.queues, fd)
		q.dismiss(fd, &e)
	}
	q.in, q.out = inBuffer{}, outBuffer{}
	q.flush(e.send, e.recv)
	q.wake()
}

// dismiss says the last words and gives the socket to whom it may concern.
func (q *conn) dismiss(fd int, e *ending) {
	switch {
	case e.reset || q.deaf:
		resetSocket(fd)
	case e.say == 0:
		_ = unix.Close(fd)
	default:
		if q.ackDue() {
			q.encodeAck()
		}
		encodeHead(q.out.extend(headSize), e.say, 0, 0, q.executed+1, uint32(e.status))
		q.edge.sends()
		q.dev.nic.farewell(fd, q.out.b[q.out.r:q.out.w])
	}
}

// resetSocket closes a socket without a word; the peer sees a reset.
func resetSocket(fd int) {
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1, Linger: 0})
	_ = unix.Close(fd)
}

// goodbye handles a BYE.
func (q *conn) goodbye() {
	q.finish(ending{err: fmt.Errorf("fabric: queue pair %d: %w", q.num, fabric.ErrDisconnected)})
}

// lost is called when the socket has ended without a BYE. Of the requests only
// those that were sent can have been executed.
func (q *conn) lost(errno syscall.Errno) {
	why := "the connection ended without a goodbye"
	if errno != 0 {
		why = errno.Error()
	}
	e := ending{
		err:   fmt.Errorf("fabric: queue pair %d to %s: %s: %w", q.num, q.peer.Addr, why, fabric.ErrPeerLost),
		reset: true,
	}
	if q.sendDone != q.sendNext || q.begun {
		e.send = fabric.StatusPeerLost
	}
	q.finish(e)
}

// violated is called when the peer broke the protocol.
func (q *conn) violated(err error) {
	q.finish(ending{
		err:  fmt.Errorf("fabric: queue pair %d to %s: %w", q.num, q.peer.Addr, err),
		send: fabric.StatusProtocol, say: kindNak, status: fabric.StatusProtocol,
	})
}

// failSend fails the oldest request.
func (q *conn) failSend(st fabric.Status) {
	s := q.send(q.sendDone)
	c := fabric.Completion{Op: s.op, Status: st, QPN: q.num, ID: s.id}
	q.finish(ending{err: c.Err(), send: st, say: kindBye})
}

// Disconnect implements fabric.QP.
func (q *conn) Disconnect() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.finish(ending{err: q.errDisconnected(), say: kindBye})
	return nil
}

// kill implements member.
func (q *conn) kill() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.finish(ending{err: q.errDisconnected(), reset: true})
}

// Close implements fabric.QP.
func (q *conn) Close() error {
	q.mu.Lock()
	if q.State() == fabric.StateClosed {
		q.mu.Unlock()
		return q.errClosed()
	}
	q.finish(ending{err: q.errDisconnected(), say: kindBye})
	q.state.Store(uint32(fabric.StateClosed))
	q.mu.Unlock()
	q.forget()
	return nil
}
