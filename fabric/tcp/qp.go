package tcp

import (
	"fmt"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
)

const (
	// maxReads and maxBursts bound how often one call reads from or writes to
	// one socket, so that neither Post nor Poll takes long and no connection
	// shuts out the others.
	maxReads  = 4
	maxBursts = 8
)

// conn is an RC or UC queue pair: a socket and what both ends of the protocol
// know of each other. Everything is guarded by queues.mu.
type conn struct {
	queues
	fd      int // -1 when there is no socket (any more)
	edge    edge
	peer    fabric.Peer
	private []byte
	local   bool // the peer is on this host

	// part[:parted] is what was read of a frame and cannot be executed yet: less than a header,
	// or than a word of payload.
	part   [maxHeader]byte
	parted int
	out    outBuffer
	// wantsOut: the socket is full, or there is more to write than one call
	// may. writeShut: the socket takes nothing any more; why will be read from it.
	wantsOut, writeShut bool
	lazy                bool // an ACK was put off

	initiator
	target
}

// initiator is what is known of requests sent to the peer.
type initiator struct {
	seq   uint32 // of the last request frame written
	acked uint32 // of the last request that the peer has executed
	// written is how far the request at sendNext got: bytes of its payload in
	// frames, or asked for by READ.
	written uint32
	begun   bool // and whether it has begun
	// answered is the request whose response is next: a READ or an atomic at
	// or behind it. got and parts are the bytes and frames of it that came.
	answered   uint32
	got, parts uint32
	// asked are bytes of responses under way, peerWindow their limit (I2).
	asked, peerWindow uint32
	// credit is how many receives the peer has ever posted, as far as it has
	// told, spent how many were used (I3).
	credit, spent uint32
	starving      uint8
	rnrEnd        atomic.Int64 // when to give up; 0 is never
	rnrStart      int64
}

// Values of initiator.starving: whether the request at sendNext waits for a
// receive.
const (
	starvingNot = iota
	starvingAsked
	starvingKnown // the peer has confirmed that there is no receive
)

// target is what is known of requests that the peer sends.
type target struct {
	executed uint32 // sequence number of the last request executed
	told     uint32 // and of the last one the peer knows to be
	// offered is the number of posted receives that were announced to the peer.
	offered     uint32
	peerStarves bool // it waits for more to be announced
	// answerDue: a PROBE was received; creditDue: receives were posted that
	// the peer waits for. ackEnd is the place in the out-stream where the
	// last ACK ends: there is never more than one in the out-buffer.
	answerDue, creditDue bool
	ackEnd               uint64

	msg message
	// left is what is to come of the payload of the current frame, leftKind
	// its kind; leftSeq and leftSize are those of a READ_DATA.
	left              uint32
	leftKind          kind
	leftSeq, leftSize uint32
}

// message is a SEND, WRITE or WRITE_IMM of the peer that is being placed.
type message struct {
	kind        kind // 0 when there is none
	drop        bool // UC: no receive can take it
	solicited   bool
	total, done uint32
	key, imm    uint32
	addr        uint64
}

// drive implements member.
func (q *conn) drive(try bool, into []byte) bool {
	if try {
		if !q.mu.TryLock() {
			return false
		}
	} else {
		q.mu.Lock()
	}
	worked := false
	if q.fd >= 0 && q.Ready() {
		taken := q.recvDone
		worked = q.receive(into)
		switch {
		case !q.Ready():
		case worked && try && taken != q.recvDone && q.putOff():
		case worked || q.wantsOut || q.lazy:
			q.transmit()
		}
	}
	q.mu.Unlock()
	return worked
}

// putOff leaves an ACK for later, if that is all there is to send: the owner
// has received a message and probably answers it, and then both go with one
// system call. Its next poll sends the ACK otherwise (I5).
func (q *conn) putOff() bool {
	if q.lazy || q.transport != fabric.RC || q.answerDue || q.creditDue ||
		q.out.pending() != 0 || q.sendNext != q.sendPosted {
		return false
	}
	q.lazy = q.recvCQ.port.later(q)
	return q.lazy
}

// catchUp sends what was put off.
func (q *conn) catchUp() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lazy && q.Ready() {
		q.transmit()
	}
}

// receive reads from the socket, into memory of the calling thread, and executes what it says.
func (q *conn) receive(into []byte) bool {
	worked := false
	for range maxReads {
		kept := copy(into, q.part[:q.parted])
		n, errno := sysRecv(q.fd, into[kept:])
		if n == 0 {
			if isAgain(errno) {
				break
			}
			q.lost(errno)
			return true
		}
		q.edge.received()
		worked = true
		if err := q.ingest(into[:kept+n]); err != nil {
			q.violated(err)
			return true
		}
		if !q.Ready() {
			return true
		}
		if kept+n < len(into) {
			break
		}
	}
	return worked
}

// ingest executes the frames in b, the last one as far as it is there, and keeps the rest in
// q.part. An error is a violation of the protocol.
func (q *conn) ingest(b []byte) error {
	for q.Ready() {
		if q.left != 0 {
			n, err := q.payload(b)
			b = b[n:]
			if err != nil || n == 0 {
				q.parted = copy(q.part[:], b)
				return err
			}
			continue
		}
		var f frame
		n, err := f.decode(b)
		if err != nil || n == 0 {
			q.parted = copy(q.part[:], b)
			return err
		}
		b = b[n:]
		if err := q.dispatch(&f); err != nil {
			return err
		}
	}
	return nil
}

// dispatch handles a header.
func (q *conn) dispatch(f *frame) error {
	if q.transport == fabric.UC && !shapes[f.kind].uc {
		return violation("%v on an unreliable connection", f.kind)
	}
	switch f.kind {
	case kindReadData:
		return q.readData(f)
	case kindAtomicData:
		return q.atomicData(f)
	case kindAck:
		return q.ackFrame(f)
	case kindNak:
		return q.nakFrame(f)
	case kindProbe:
		q.answerDue = true
		return nil
	case kindBye:
		q.byeFrame()
		return nil
	default:
		return q.request(f)
	}
}

// payload takes bytes of the current frame from b and returns how many. It
// returns 0 when it needs more to go on.
func (q *conn) payload(b []byte) (int, error) {
	whole := uint32(len(b)) >= q.left
	if whole {
		b = b[:q.left]
	}
	if len(b) == 0 {
		return 0, nil
	}
	if q.leftKind == kindReadData {
		q.placeReadData(b)
	} else {
		n := q.placeMessage(b, whole)
		if n == 0 || !q.Ready() {
			return n, nil
		}
		b = b[:n]
	}
	q.left -= uint32(len(b))
	if q.left != 0 {
		return len(b), nil
	}
	return len(b), q.frameEnd()
}

// frameEnd is called when the payload of a frame is complete.
func (q *conn) frameEnd() error {
	if q.leftKind == kindReadData {
		return q.readDataEnd()
	}
	if q.msg.done == q.msg.total {
		q.messageEnd()
	}
	return nil
}

// transmit writes what there is to write, as far as the socket takes it and
// one call may go on.
func (q *conn) transmit() {
	q.lazy = false
	if q.fd < 0 || q.writeShut {
		return
	}
	for range maxBursts {
		q.encode()
		if q.out.pending() == 0 {
			q.watchOut(false)
			return
		}
		q.edge.sends()
		n, errno := sysSend(q.fd, q.out.b[q.out.r:q.out.w])
		if errno != 0 {
			if isAgain(errno) {
				q.watchOut(true)
				return
			}
			// The peer is gone. Whether it sent a BYE is in what it sent before.
			q.writeShut = true
			q.out.drop()
			return
		}
		q.out.consume(n)
		if q.out.pending() == 0 && q.sendNext == q.sendPosted && !q.ackDue() {
			q.watchOut(false)
			return
		}
	}
	q.watchOut(true)
}

// watchOut has the connection driven when its socket can be written to.
func (q *conn) watchOut(on bool) {
	if q.wantsOut != on {
		q.wantsOut = on
		q.recvCQ.port.watch(&q.queues, q.fd, on)
	}
}

// PeerPrivate implements fabric.QP.
func (q *conn) PeerPrivate() []byte { return q.private }

// Peer implements fabric.QP.
func (q *conn) Peer() fabric.Peer { return q.peer }

// Address implements fabric.QP.
func (q *conn) Address() []byte { return nil }

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
	if !q.Fall(e.err) {
		return
	}
	q.rnrEnd.Store(0)
	if fd := q.fd; fd >= 0 {
		q.fd = -1
		q.recvCQ.port.part(&q.queues, fd)
		q.closeSocket(fd, &e)
	}
	q.out.drop()
	q.flush(e.send, e.recv)
	q.wake()
}

// closeSocket sends the last frame and closes the socket, at once or when the peer has.
func (q *conn) closeSocket(fd int, e *ending) {
	switch {
	case e.reset || q.writeShut:
		resetSocket(fd)
	case e.say == 0:
		_ = unix.Close(fd)
	default:
		if q.ackDue() {
			q.encodeAck()
		}
		encodeHead(q.out.extend(headSize), e.say, 0, 0, q.executed+1, uint32(e.status))
		q.edge.sends()
		q.dev.nic.linger(fd, q.out.handOver())
	}
}

// resetSocket closes a socket without a message; the peer sees a reset.
func resetSocket(fd int) {
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1, Linger: 0})
	_ = unix.Close(fd)
}

// byeFrame handles a BYE.
func (q *conn) byeFrame() {
	q.finish(ending{err: fmt.Errorf("fabric: queue pair %d: %w", q.num, fabric.ErrDisconnected)})
}

// lost is called when the socket has ended without a BYE. Of the requests only
// those that were sent can have been executed.
func (q *conn) lost(errno syscall.Errno) {
	why := "the connection ended without a BYE"
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
	q.SetState(fabric.StateClosed)
	q.mu.Unlock()
	q.forget()
	return nil
}
