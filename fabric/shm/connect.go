package shm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/direct"
)

// Dial implements fabric.Device.
func (d *Device) Dial(ctx context.Context, addr fabric.Addr, cfg fabric.QPConfig, private []byte) (fabric.QP, error) {
	if err := checkAddr(addr); err != nil {
		return nil, err
	}
	if err := d.checkConnect(cfg.Transport, private); err != nil {
		return nil, err
	}
	trusted, err := trustedUsers(addr)
	if err != nil {
		return nil, err
	}
	q, err := direct.NewQP(d.core, cfg)
	if err != nil {
		return nil, err
	}
	if err := d.dial(ctx, addr, trusted, q, private); err != nil {
		q.Abandon()
		return nil, &fabric.DialError{Addr: addr, Err: err}
	}
	return q, nil
}

// checkConnect checks what both ends of a connection give.
func (d *Device) checkConnect(t fabric.Transport, private []byte) error {
	if t != fabric.RC && t != fabric.UC {
		return fmt.Errorf("fabric: a connection by %v: %w", t, fabric.ErrInvalid)
	}
	if most := d.Limits().MaxPrivate; len(private) > most {
		return fmt.Errorf("fabric: %d bytes of private data, the limit is %d: %w", len(private), most, fabric.ErrInvalid)
	}
	return nil
}

// dial goes through the handshake.
func (d *Device) dial(ctx context.Context, addr fabric.Addr, trusted []int, q *direct.QP, private []byte) (err error) {
	s, err := d.open(ctx, addr.Name)
	if err != nil {
		return err
	}
	defer func() { d.opened(s, err) }()
	if err = s.trust(addr, trusted); err != nil {
		return err
	}
	pipes, err := sharePipes(q)
	if err != nil {
		return err
	}
	defer closeFDs(pipes)
	h := hello{transport: q.Transport(), depth: uint32(q.RecvDepth()), private: private}
	p, err := d.greet(ctx, s, h.encode(), pipes...)
	if err != nil {
		return err
	}
	if err = d.accepted(s, q, p, addr); err != nil {
		p.close()
	}
	return err
}

// greet sends an opening message and waits for an answer that is not a
// refusal.
func (d *Device) greet(ctx context.Context, s socket, msg []byte, fds ...int) (*packet, error) {
	// A server that has hung up may have said why before it heard us.
	if err := s.send(msg, fds...); err != nil && !errors.Is(err, unix.EPIPE) {
		return nil, fmt.Errorf("the server hung up: %w: %w", fabric.ErrRefused, err)
	}
	p, err := s.recvWithin(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("the server hung up: %w: %w", fabric.ErrRefused, err)
	}
	switch p.data[0] {
	case kindReject:
		p.close()
		return nil, &fabric.RejectedError{Private: p.data[1:]}
	case kindRefuse:
		p.close()
		return nil, fmt.Errorf("%.200s: %w", p.data[1:], fabric.ErrRefused)
	case kindForbid:
		p.close()
		return nil, fmt.Errorf("%.200s: %w", p.data[1:], fs.ErrPermission)
	}
	return p, nil
}

// accepted finishes the dialer's side with the server's answer.
func (d *Device) accepted(s socket, q *direct.QP, p *packet, addr fabric.Addr) error {
	lim := d.Limits()
	if p.data[0] != kindAccept {
		return fmt.Errorf("unexpected answer %d: %w", p.data[0], fabric.ErrProtocol)
	}
	if err := p.expect(3); err != nil {
		return err
	}
	depth, private, err := decodeAccept(p.data, &lim)
	if err != nil {
		return err
	}
	peer, err := s.credentials()
	if err != nil {
		return err
	}
	peer.Addr = addr.String()
	seg, err := d.arena.Map("segment", p.fds[0], direct.SegmentBytes(q.RecvDepth(), depth), true)
	if err != nil {
		return err
	}
	closeFDs(p.fds[:1])
	q.Describe(peer, private)
	d.start(q, s, seg, direct.Dialer, depth, p.fds[1:])
	return nil
}
