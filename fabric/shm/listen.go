package shm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
	"github.com/remora-kv/remora/fabric/internal/direct"
	"github.com/remora-kv/remora/internal/arena"
)

type listener struct {
	dev      *Device
	addr     fabric.Addr
	cfg      fabric.ListenConfig
	file     *socketFile
	greeters *base.Greeters
	backlog  chan *request
	once     sync.Once
	closed   chan struct{}
	// done is closed when the accepting goroutine has ended.
	done chan struct{}
}

// Listen implements fabric.Device.
func (d *Device) Listen(addr fabric.Addr, cfg fabric.ListenConfig) (fabric.Listener, error) {
	if err := checkAddr(addr); err != nil {
		return nil, err
	}
	if addr.Options.Has(UserOption) {
		return nil, fmt.Errorf("fabric: listen at %v: the option %s is for clients, who say by it which user's server they trust: %w",
			addr, UserOption, fabric.ErrInvalid)
	}
	if err := d.Open(); err != nil {
		return nil, err
	}
	sweepUDSockets(d.cfg.RuntimeDir) // of clients that were killed when there were no others after them
	if cfg.Backlog == 0 {
		cfg.Backlog = fabric.DefaultBacklog
	}
	if cfg.HandshakeTimeout == 0 {
		cfg.HandshakeTimeout = fabric.DefaultHandshake
	}
	if cfg.Mode == 0 {
		cfg.Mode = 0o600
		if len(cfg.AllowUIDs)+len(cfg.AllowGIDs) != 0 {
			cfg.Mode = 0o666
		}
	}
	file, err := openSocketFile(addr.Name, os.FileMode(cfg.Mode))
	if err != nil {
		return nil, fmt.Errorf("fabric: listen at %v: %w", addr, err)
	}
	l := &listener{
		dev: d, addr: addr, cfg: cfg, file: file, backlog: make(chan *request, cfg.Backlog),
		greeters: base.NewGreeters(cfg.Backlog), closed: make(chan struct{}), done: make(chan struct{}),
	}
	go l.run()
	if !d.listeners.Add(l) {
		return nil, l.errClosed()
	}
	return l, nil
}

// Addr implements fabric.Listener.
func (l *listener) Addr() fabric.Addr { return l.addr }

// Accept implements fabric.Listener.
func (l *listener) Accept(ctx context.Context) (fabric.ConnRequest, error) {
	select {
	case <-l.closed:
		return nil, l.errClosed()
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-l.backlog:
		return r, nil
	}
}

func (l *listener) errClosed() error {
	return fmt.Errorf("fabric: listener at %v: %w", l.addr, fabric.ErrClosed)
}

// Close implements fabric.Listener.
func (l *listener) Close() error {
	err := l.errClosed()
	l.once.Do(func() {
		l.dev.listeners.Remove(l)
		close(l.closed)
		err = l.file.close()
		l.greeters.Close()
		<-l.done
		for {
			select {
			case r := <-l.backlog:
				r.sock.refuse("the server stops")
				closeFDs(r.pipes)
			default:
				return
			}
		}
	})
	return err
}

// acceptPause is how long accepting rests after an error such as a full table
// of descriptors, which will not be gone at once.
const acceptPause = 10 * time.Millisecond

// run accepts sockets; each is greeted by a goroutine of its own, so that a
// silent peer does not delay others.
func (l *listener) run() {
	defer close(l.done)
	var greets sync.WaitGroup
	defer greets.Wait()
	for {
		c, err := l.file.l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			l.report(fmt.Errorf("fabric: accept at %v: %w", l.addr, err))
			l.crowded(l.greeters.MakeRoom())
			time.Sleep(acceptPause)
			continue
		}
		s := socket{c: c}
		peer, err := s.admit(&l.cfg)
		if err != nil {
			s.forbid(err.Error())
			l.refused(peer.Addr, err)
			continue
		}
		g, closed, err := l.greeters.Enter(c, strconv.Itoa(peer.UID), peer.Addr)
		if err != nil {
			return
		}
		l.crowded(closed)
		greets.Go(func() {
			defer g.Leave()
			l.greet(s, g, peer)
		})
	}
}

func (l *listener) crowded(closed []*base.Greeter) {
	for _, g := range closed {
		l.refused(g.Name, base.ErrCrowded)
	}
}

// refused reports a connection that has not become a request.
func (l *listener) refused(peer string, err error) {
	l.report(fmt.Errorf("fabric: %v: connection of %s was refused: %w", l.addr, peer, err))
}

func (l *listener) report(err error) {
	if l.cfg.Report != nil {
		l.cfg.Report(err)
	}
}

// greet takes a peer's hello and puts it into the backlog.
func (l *listener) greet(s socket, g *base.Greeter, peer fabric.Peer) {
	_ = s.c.SetReadDeadline(base.Until(l.cfg.HandshakeTimeout))
	err := g.Await()
	if err == nil {
		err = l.hear(s, peer)
	}
	if err == nil {
		return
	}
	s.refuse(err.Error())
	if !errors.Is(err, net.ErrClosed) { // by the listener, which has said why
		l.refused(peer.Addr, err)
	}
}

// hear puts the hello that has come into the backlog.
func (l *listener) hear(s socket, peer fabric.Peer) error {
	p, err := s.recv()
	if errors.Is(err, io.EOF) {
		err = errors.New("it hung up before it said hello")
	}
	if err != nil {
		return err
	}
	_ = s.c.SetReadDeadline(time.Time{})
	r, err := l.request(s, peer, p)
	if err != nil {
		p.close()
		return err
	}
	select {
	case l.backlog <- r:
		return nil
	default:
		p.close()
		return errors.New(base.BacklogFull)
	}
}

// admit checks who the peer is (I6).
func (s socket) admit(cfg *fabric.ListenConfig) (fabric.Peer, error) {
	peer, err := s.credentials()
	if err != nil || peer.UID == os.Geteuid() || peer.UID == 0 || slices.Contains(cfg.AllowUIDs, peer.UID) {
		return peer, err
	}
	if len(cfg.AllowGIDs) != 0 {
		groups, err := s.groups()
		if err != nil {
			return peer, err
		}
		for _, gid := range append(groups, peer.GID) {
			if slices.Contains(cfg.AllowGIDs, gid) {
				return peer, nil
			}
		}
	}
	return peer, fmt.Errorf("user %d may not connect: the server must be started with --allow-user %d, or with --allow-group and one of its groups",
		peer.UID, peer.UID)
}

func (l *listener) request(s socket, peer fabric.Peer, p *packet) (*request, error) {
	lim := l.dev.Limits()
	if p.data[0] != kindHello {
		return nil, fmt.Errorf("the first message must be hello: %w", fabric.ErrProtocol)
	}
	h, err := decodeHello(p.data, &lim)
	if err != nil {
		return nil, err
	}
	if err := p.expect(2); err != nil {
		return nil, err
	}
	return &request{l: l, sock: s, peer: peer, hello: h, pipes: p.fds}, nil
}

// request is a dialer that waits for its answer.
type request struct {
	l     *listener
	sock  socket
	peer  fabric.Peer
	hello hello
	pipes []int
	ended sync.Mutex // locked once the request is answered
}

// Transport implements fabric.ConnRequest.
func (r *request) Transport() fabric.Transport { return r.hello.transport }

// Private implements fabric.ConnRequest.
func (r *request) Private() []byte { return r.hello.private }

// Peer implements fabric.ConnRequest.
func (r *request) Peer() fabric.Peer { return r.peer }

func (r *request) errEnded() error {
	return fmt.Errorf("fabric: the request of %s was answered before: %w", r.peer.Addr, fabric.ErrClosed)
}

// Accept implements fabric.ConnRequest.
func (r *request) Accept(_ context.Context, cfg fabric.QPConfig, private []byte) (fabric.QP, error) {
	d := r.l.dev
	if err := d.checkConnect(cfg.Transport, private); err != nil {
		return nil, err
	}
	if cfg.Transport != r.Transport() {
		return nil, fmt.Errorf("fabric: the peer asks for %v, not %v: %w", r.Transport(), cfg.Transport, fabric.ErrInvalid)
	}
	q, err := direct.NewQP(d.core, cfg)
	if err != nil {
		return nil, err
	}
	if !r.ended.TryLock() {
		q.Abandon()
		return nil, r.errEnded()
	}
	seg, err := r.answer(q, private)
	if err != nil {
		q.Abandon()
		_ = r.sock.c.Close()
		closeFDs(r.pipes)
		return nil, fmt.Errorf("fabric: accept %s: %w", r.peer.Addr, err)
	}
	q.Describe(r.peer, r.hello.private)
	d.start(q, r.sock, seg, direct.Acceptor, int(r.hello.depth), r.pipes)
	return q, nil
}

// answer makes the segment and hands it to the dialer.
func (r *request) answer(q *direct.QP, private []byte) (*arena.Block, error) {
	pipes, err := sharePipes(q)
	if err != nil {
		return nil, err
	}
	defer closeFDs(pipes)
	seg, err := r.l.dev.arena.AllocShared("segment",
		direct.SegmentBytes(int(r.hello.depth), q.RecvDepth()), arena.ReadWriteForOthers)
	if err != nil {
		return nil, err
	}
	fds := append([]int{seg.FD()}, pipes...)
	if err := r.sock.send(encodeAccept(q.RecvDepth(), private), fds...); err != nil {
		_ = seg.Free()
		return nil, fmt.Errorf("%w: %w", fabric.ErrPeerLost, err)
	}
	return seg, nil
}

// Reject implements fabric.ConnRequest.
func (r *request) Reject(private []byte) error {
	if !r.ended.TryLock() {
		return r.errEnded()
	}
	_ = r.sock.send(append([]byte{kindReject}, private...))
	closeFDs(r.pipes)
	return r.sock.c.Close()
}
