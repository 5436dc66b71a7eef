package shm

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/direct"
	"github.com/remora-kv/remora/internal/arena"
	"github.com/remora-kv/remora/internal/crc32c"
)

// An address is "shm" 1, queue pair u32, secret u64, path of the socket, and a
// checksum of all that (CRC-32C), because addresses pass through other hands.
const (
	gramAddressHead = "shm\x01"
	gramAddressSum  = 4
)

// maxGramRings is how many senders a device lets in for datagrams, and maxGramRingsOfPeer how
// many of them can be of one process, for each queue pair: whoever sleeps looks at all of them.
const (
	maxGramRings       = 1 << 14
	maxGramRingsOfPeer = 256
)

// gramPeer is a process that sends to a queue pair.
type gramPeer struct {
	pid int
	qpn uint32
}

// udListener is the socket through which senders of datagrams get their rings.
type udListener struct {
	dev  *Device
	dir  string
	file *socketFile

	mu      sync.Mutex
	secrets map[uint32]uint64
	conns   map[*net.UnixConn]struct{}
	rings   map[gramPeer]int
	closed  bool
	done    sync.WaitGroup
}

// listenUD returns the device's listener for datagrams, made at the first need.
func (d *Device) listenUD() (*udListener, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.grams != nil {
		return d.grams, nil
	}
	if d.closed {
		return nil, fmt.Errorf("fabric: device %s: %w", d.Name(), fabric.ErrClosed)
	}
	dir, file, err := makeUDSocket(d.cfg.RuntimeDir)
	if err != nil {
		return nil, err
	}
	g := &udListener{dev: d, dir: dir, file: file, secrets: map[uint32]uint64{}, conns: map[*net.UnixConn]struct{}{}, rings: map[gramPeer]int{}}
	g.done.Go(g.run)
	d.grams = g
	return g, nil
}

// GramAddress implements direct.Provider.
func (d *hooks) GramAddress(q *direct.QP) ([]byte, error) {
	g, err := (*Device)(d).listenUD()
	if err != nil {
		return nil, err
	}
	var secret [8]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return nil, err
	}
	g.mu.Lock()
	g.secrets[q.Num()] = binary.LittleEndian.Uint64(secret[:])
	g.mu.Unlock()
	addr := binary.LittleEndian.AppendUint32([]byte(gramAddressHead), q.Num())
	addr = append(addr, secret[:]...)
	addr = append(addr, g.file.path...)
	addr = binary.LittleEndian.AppendUint32(addr, crc32c.Checksum(addr))
	if len(addr) > 128 {
		return nil, fmt.Errorf("fabric: the path %s is too long for a datagram address; set RuntimeDir: %w",
			g.file.path, fabric.ErrInvalid)
	}
	return addr, nil
}

// GramClosed implements direct.Provider.
func (d *hooks) GramClosed(q *direct.QP) {
	d.mu.Lock()
	g := d.grams
	d.mu.Unlock()
	if g != nil {
		g.mu.Lock()
		delete(g.secrets, q.Num())
		g.mu.Unlock()
	}
}

// run gives rings to senders.
func (g *udListener) run() {
	for {
		c, err := g.file.l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(acceptPause)
			continue
		}
		g.mu.Lock()
		full := g.closed || len(g.conns) >= maxGramRings
		if !full {
			g.conns[c] = struct{}{}
			g.done.Go(func() { g.serve(socket{c: c}) })
		}
		g.mu.Unlock()
		if full {
			socket{c: c}.refuse("no more senders of datagrams are taken")
		}
	}
}

// serve keeps one sender's ring for as long as its socket lives.
func (g *udListener) serve(s socket) {
	defer func() {
		g.mu.Lock()
		delete(g.conns, s.c)
		g.mu.Unlock()
		_ = s.c.Close()
	}()
	peer, q, err := g.open(s)
	if err == nil {
		err = g.serveRing(s, gramPeer{peer.PID, q.Num()}, q)
	}
	if err != nil {
		s.refuse(err.Error())
	}
}

// serveRing keeps a ring of a peer for as long as its socket lives.
func (g *udListener) serveRing(s socket, peer gramPeer, q *direct.QP) error {
	if !g.count(peer, 1) {
		return fmt.Errorf("process %d has %d rings for datagrams to this queue pair already", peer.pid, maxGramRingsOfPeer)
	}
	defer g.count(peer, -1)
	ring, err := g.ring(s, q)
	if err != nil {
		return err
	}
	// A sender says nothing more; what ends is the socket.
	if p, err := s.recv(); err == nil {
		p.close()
	}
	q.RemoveGramRing(ring)
	return nil
}

// count changes the number of rings of a peer, if it may have so many.
func (g *udListener) count(peer gramPeer, by int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.rings[peer] + by
	if n > maxGramRingsOfPeer {
		return false
	}
	if g.rings[peer] = n; n == 0 {
		delete(g.rings, peer)
	}
	return true
}

// open finds the queue pair for a sender that knows the secret.
func (g *udListener) open(s socket) (peer fabric.Peer, q *direct.QP, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), fabric.DefaultHandshake)
	defer cancel()
	p, err := s.recvWithin(ctx)
	if err != nil {
		return peer, nil, err
	}
	defer p.close()
	if peer, err = s.admit(&fabric.ListenConfig{}); err != nil {
		return peer, nil, err
	}
	if p.data[0] != kindGram {
		return peer, nil, fmt.Errorf("the first message must be a datagram request: %w", fabric.ErrProtocol)
	}
	m, err := decodeGram(p.data)
	if err != nil {
		return peer, nil, err
	}
	g.mu.Lock()
	secret, ok := g.secrets[m.qpn]
	g.mu.Unlock()
	q = direct.FindQP(g.dev.core, m.qpn)
	if q == nil || !ok || subtle.ConstantTimeEq(int32(secret), int32(m.secret)) == 0 ||
		subtle.ConstantTimeEq(int32(secret>>32), int32(m.secret>>32)) == 0 || q.State() != fabric.StateReady {
		return peer, nil, errors.New("the datagram queue pair is closed")
	}
	return peer, q, nil
}

// ring makes the segment and hands it over.
func (g *udListener) ring(s socket, q *direct.QP) (*direct.GramRing, error) {
	seg, err := g.dev.arena.AllocShared("datagram ring", direct.GramSegmentBytes(), arena.ReadWriteForOthers)
	if err != nil {
		return nil, err
	}
	pipe, err := q.RecvPipe().Share()
	if err == nil {
		err = s.send([]byte{kindGramOK}, seg.FD(), pipe)
		closeFDs([]int{pipe})
	}
	if err != nil {
		_ = seg.Free()
		return nil, err
	}
	return q.AddGramRing(seg.Bytes(), func() {
		_ = s.c.Close()
		_ = seg.Free()
	}), nil
}

func (g *udListener) close() {
	_ = g.file.close()
	g.mu.Lock()
	g.closed = true
	for c := range g.conns {
		_ = c.Close()
	}
	g.mu.Unlock()
	g.done.Wait()
	_ = os.RemoveAll(g.dir)
}

// GramOpen implements direct.Provider.
func (d *hooks) GramOpen(ctx context.Context, addr []byte) (*direct.GramPath, error) {
	n, end := len(gramAddressHead), len(addr)-gramAddressSum
	if end <= n+12 || len(addr) > 128 || string(addr[:n]) != gramAddressHead ||
		binary.LittleEndian.Uint32(addr[end:]) != crc32c.Checksum(addr[:end]) {
		return nil, fmt.Errorf("fabric: %x is not the address of a shared-memory datagram queue pair: %w", addr, fabric.ErrInvalid)
	}
	m := gram{qpn: binary.LittleEndian.Uint32(addr[n:]), secret: binary.LittleEndian.Uint64(addr[n+4:])}
	path, err := (*Device)(d).openGram(ctx, string(addr[n+12:end]), m)
	if err != nil {
		return nil, fmt.Errorf("fabric: datagram address: %w", err)
	}
	return path, nil
}

func (d *Device) openGram(ctx context.Context, socketPath string, m gram) (path *direct.GramPath, err error) {
	s, err := d.open(ctx, socketPath)
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("only its own user and root can send datagrams to a process, use a path without (other than herd): %w", fs.ErrPermission)
	}
	if err != nil {
		return nil, err
	}
	defer func() { d.opened(s, err) }()
	p, err := d.greet(ctx, s, m.encode())
	if err != nil {
		return nil, err
	}
	if path, err = d.gramPath(s, p); err != nil {
		p.close()
	}
	return path, err
}

func (d *Device) gramPath(s socket, p *packet) (*direct.GramPath, error) {
	if p.data[0] != kindGramOK {
		return nil, fmt.Errorf("unexpected answer %d: %w", p.data[0], fabric.ErrProtocol)
	}
	if err := p.expect(2); err != nil {
		return nil, err
	}
	seg, err := d.arena.Map("datagram ring", p.fds[0], direct.GramSegmentBytes(), true)
	if err != nil {
		return nil, err
	}
	closeFDs(p.fds[:1])
	pipe := p.fds[1]
	return &direct.GramPath{Mem: seg.Bytes(), Wake: peerPipe{pipe}, Release: func() {
		_ = s.c.Close()
		closeFDs([]int{pipe})
		_ = seg.Free()
	}}, nil
}
