package shm

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/direct"
	"github.com/remora-kv/remora/internal/arena"
)

// maxRefusals is how many keys that it may not use a peer can ask for before
// it is cut off.
const maxRefusals = 1024

// control is one end of a connection beside the segment.
type control struct {
	dev     *Device
	qp      *direct.QP
	sock    socket
	segment *arena.Block
	pipes   []int

	mu       sync.Mutex
	granted  map[uint32]struct{} // keys whose files the peer has
	asked    map[uint32]struct{} // keys that this side wants
	held     map[uint32]struct{} // keys whose files this side has
	refusals int
}

// start connects the queue pair to its segment and begins to listen to the
// peer. pipes are the peer's for receives and for sends.
func (d *Device) start(q *direct.QP, s socket, segment *arena.Block, end, peerDepth int, pipes []int) {
	l := &control{
		dev: d, qp: q, sock: s, segment: segment, pipes: pipes, granted: map[uint32]struct{}{},
		asked: map[uint32]struct{}{}, held: map[uint32]struct{}{},
	}
	q.Attach(segment.Bytes(), end, peerDepth, peerPipe{pipes[0]}, peerPipe{pipes[1]})
	d.mu.Lock()
	d.controls[l] = struct{}{}
	d.mu.Unlock()
	q.Start(l)
	go l.run()
}

// Resolve implements direct.Control: the peer is asked.
func (l *control) Resolve(key uint32) (*direct.Window, bool) {
	l.mu.Lock()
	l.asked[key] = struct{}{}
	l.mu.Unlock()
	l.tell(encodeKey(kindMap, key))
	return nil, true
}

// tell sends a control message; a peer that does not read them is given up.
// One that has hung up is left to run, which reads what it said last.
func (l *control) tell(msg []byte, fds ...int) {
	err := l.sock.send(msg, fds...)
	if err == nil || errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, net.ErrClosed) {
		return
	}
	l.qp.PeerGone(l.lost(err))
	_ = l.sock.send([]byte{kindBye})
}

func (l *control) lost(err error) error {
	return fmt.Errorf("fabric: connection with %s: %w: %w", l.qp.Peer().Addr, fabric.ErrPeerLost, err)
}

// Disconnect implements direct.Control.
func (l *control) Disconnect() {
	if !l.dev.killed.Load() {
		_ = l.sock.send([]byte{kindBye})
	}
}

// Release implements direct.Control.
func (l *control) Release() {
	l.dev.mu.Lock()
	delete(l.dev.controls, l)
	l.dev.mu.Unlock()
	_ = l.sock.c.Close()
	closeFDs(l.pipes)
	_ = l.segment.Free()
}

// run reads control messages until the socket ends.
func (l *control) run() {
	for {
		p, err := l.sock.recv()
		if err == nil {
			err = l.handle(p)
			p.close()
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, fabric.ErrProtocol):
			l.qp.PeerGone(fmt.Errorf("fabric: connection with %s: %w", l.qp.Peer().Addr, err))
			_ = l.sock.send([]byte{kindBye})
			_ = l.sock.c.CloseRead()
		case errors.Is(err, io.EOF), errors.Is(err, unix.ECONNRESET), errors.Is(err, net.ErrClosed):
			l.qp.PeerGone(fmt.Errorf("fabric: the process behind %s ended: %w", l.qp.Peer().Addr, fabric.ErrPeerLost))
		default:
			l.qp.PeerGone(l.lost(err))
		}
		return
	}
}

// handle acts on one message. Descriptors left in p are closed by the caller.
func (l *control) handle(p *packet) error {
	lim := l.dev.Limits()
	switch p.data[0] {
	case kindMap:
		key, err := decodeKey(p.data)
		if err != nil {
			return err
		}
		return l.grant(key)
	case kindMapped:
		m, err := decodeMapped(p.data, &lim)
		if err != nil {
			return err
		}
		return l.mapped(m, p)
	case kindRevoked:
		key, err := decodeKey(p.data)
		if err != nil {
			return err
		}
		return l.revoked(key)
	case kindBye:
		l.qp.PeerGone(fmt.Errorf("fabric: %s: %w", l.qp.Peer().Addr, fabric.ErrDisconnected))
		return nil
	}
	return fmt.Errorf("unknown control message %d: %w", p.data[0], fabric.ErrProtocol)
}

// grant answers a peer that wants to use a key (I3).
func (l *control) grant(key uint32) error {
	l.dev.share.RLock()
	defer l.dev.share.RUnlock()
	m := mapped{key: key}
	// Under the lock, so that a region that is closed meanwhile finds the key
	// among the granted ones.
	l.mu.Lock()
	defer l.mu.Unlock()
	r := direct.Export(l.dev.core, key, l.qp.Domain())
	if r == nil {
		// On UC a refused WRITE is dropped silently (G7), so that an
		// peer that keeps the protocol may ask often.
		if l.refusals++; l.refusals > maxRefusals && l.qp.Transport() == fabric.RC {
			return fmt.Errorf("the peer asked for %d keys that it may not use: %w", l.refusals, fabric.ErrProtocol)
		}
		l.tell(m.encode())
		return nil
	}
	file, ok := r.Backing.Share.(*arena.Block)
	if !ok {
		panic(fmt.Sprintf("fabric: region %#x is backed by %T", key, r.Backing.Share))
	}
	m.access, m.addr, m.size = r.Access, r.Addr, uint64(r.Size)
	l.granted[key] = struct{}{}
	l.tell(m.encode(), file.FD())
	return nil
}

// revoke tells the peer that a key it holds is void.
func (l *control) revoke(key uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.granted[key]; ok {
		delete(l.granted, key)
		// A peer that has no room for it keeps a window that it cannot use.
		_ = l.sock.send(encodeKey(kindRevoked, key))
	}
}

// revoked takes the word of the peer that a region is closed.
func (l *control) revoked(key uint32) error {
	l.mu.Lock()
	_, ok := l.held[key]
	delete(l.held, key)
	l.mu.Unlock()
	if !ok {
		return fmt.Errorf("the peer revokes key %#x, which it never gave: %w", key, fabric.ErrProtocol)
	}
	l.qp.Revoked(key)
	return nil
}

// answered notes that the peer answered for a key, which must have been asked
// for: nothing is mapped because a peer likes to.
func (l *control) answered(m *mapped) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.asked[m.key]; !ok {
		return fmt.Errorf("the peer sent key %#x, which was not requested: %w", m.key, fabric.ErrProtocol)
	}
	delete(l.asked, m.key)
	if m.access != 0 {
		l.held[m.key] = struct{}{}
	}
	return nil
}

// mapped takes the answer to a key that this side wants to use.
func (l *control) mapped(m mapped, p *packet) error {
	if err := l.answered(&m); err != nil {
		return err
	}
	if m.access == 0 {
		l.qp.Resolved(m.key, nil)
		return p.expect(0)
	}
	if err := p.expect(1); err != nil {
		return err
	}
	b, err := l.dev.arena.Map("window", p.fds[0], fileSize(int(m.size)), m.access&writable != 0)
	if err != nil {
		l.qp.Resolved(m.key, nil)
		return fmt.Errorf("region of the peer: %w: %w", fabric.ErrProtocol, err)
	}
	l.qp.Resolved(m.key, &direct.Window{
		Mem: b.Bytes()[:m.size:m.size], Addr: m.addr, Key: m.key, Access: m.access & anything,
		Live: liveWord(b.Bytes(), int(m.size)), Release: func() { _ = b.Free() },
	})
	return nil
}
