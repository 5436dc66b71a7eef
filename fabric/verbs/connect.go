//go:build rdma

package verbs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// halfOpen is a control connection before its queue pair is ready.
type halfOpen struct {
	*base.HalfOpen
	dev *Device
}

// say sends a message.
func (h *halfOpen) say(k kind, body []byte) error {
	_, err := h.Write(appendMessage(nil, k, body))
	return err
}

// refuse says why there will be no connection, as far as it fits.
func (h *halfOpen) refuse(why string) {
	_ = h.say(kindRefuse, []byte(why[:min(len(why), maxBody)]))
}

// checkAddr refuses addresses of other fabrics and other adapters.
func (d *Device) checkAddr(addr fabric.Addr) error {
	if addr.Fabric != "rdma" || addr.Name == "" {
		return fmt.Errorf("fabric: verbs: %v is not an RDMA address; write rdma://host:port: %w", addr, fabric.ErrInvalid)
	}
	cfg, err := ConfigOf(addr)
	if err != nil {
		return err
	}
	c := &d.adapter.Load().choice
	if cfg.Device != "" && cfg.Device != c.Device || cfg.Port != 0 && cfg.Port != c.Port ||
		cfg.GID != "" && cfg.GID != "auto" && cfg.GID != strconv.Itoa(c.GID.Index) {
		return fmt.Errorf("fabric: verbs: %v asks for another adapter than this device, %s: %w", addr, c, fabric.ErrInvalid)
	}
	if !cfg.Tuning.agrees(&d.adapter.Load().tuning) {
		return fmt.Errorf("fabric: verbs: %v has other options than this device was opened with: %w", addr, fabric.ErrInvalid)
	}
	return nil
}

func checkPrivate(private []byte) error {
	if len(private) > maxPrivate {
		return fmt.Errorf("fabric: verbs: %d bytes of private data, the limit is %d: %w",
			len(private), maxPrivate, fabric.ErrInvalid)
	}
	return nil
}

// newConnected makes a queue pair that can be connected.
func (d *Device) newConnected(cfg fabric.QPConfig) (*QP, error) {
	if cfg.Transport == fabric.UD {
		return nil, fmt.Errorf("fabric: datagram queue pairs are made by Domain.NewUD: %w", fabric.ErrInvalid)
	}
	q, err := d.newQP(cfg)
	if err != nil {
		return nil, err
	}
	if err := q.withHW(q.toInit); err != nil {
		q.abandon()
		return nil, fmt.Errorf("fabric: queue pair: %w", err)
	}
	return q, nil
}

// withHW runs f while no other goroutine can release the adapter's part.
func (q *QP) withHW(f func() error) error {
	q.hwMu.Lock()
	defer q.hwMu.Unlock()
	if q.hw == 0 {
		return q.dev.errClosed()
	}
	return f()
}

// access are the rights of peers as far as the queue pair has a say.
func (q *QP) access() int {
	if q.transport == fabric.RC {
		return accessWrite | accessRead | accessAtomic
	}
	return accessWrite
}

// reads is how many READs and atomics may be in flight to the peer.
func (q *QP) reads(peer *end) int { return max(1, min(q.dev.lim.MaxReads, peer.reads)) }

func (q *QP) reliability() reliability { return q.dev.adapter.Load().tuning.reliability(q.rnr) }

func (q *QP) toInit() error {
	a := q.dev.adapter.Load()
	return q.hw.toInit(q.transport, a.choice.Port, a.tuning.PKey.Or(0), q.access(), q.qkey)
}

// describe returns what the peer has to know of this end.
func (q *QP) describe(psn uint32, private []byte) hello {
	a := q.dev.adapter.Load()
	return hello{transport: q.transport, end: end{
		ethernet: a.port.ethernet, mtu: a.port.mtu, reads: q.dev.lim.MaxReads, lid: a.port.lid,
		qpn: q.num, psn: psn, rnr: q.rnrTimeout, gid: a.choice.GID.Addr.As16(), private: private,
	}}
}

// join connects the adapter's part to the other end.
func (q *QP) join(peer *end, psn uint32) error {
	a := q.dev.adapter.Load()
	if peer.ethernet != a.port.ethernet {
		return fmt.Errorf("one end is on InfiniBand, the other on Ethernet: %w", fabric.ErrUnsupported)
	}
	path := a.path(peer.gid, peer.lid)
	path.qpn, path.psn, path.mtu = peer.qpn, peer.psn, min(peer.mtu, a.port.mtu)
	return q.withHW(func() error {
		if err := q.hw.toReceive(q.transport, &path, q.dev.lim.MaxReads, planRNR(peer.rnr).timer); err != nil {
			return fmt.Errorf("the adapter cannot reach the peer (GID %x): %w", peer.gid, err)
		}
		return q.hw.toSend(q.transport, psn, q.reads(peer), q.reliability())
	})
}

// begin24 is the first packet sequence number: one that no peer expects.
func begin24() uint32 { return rand.Uint32() & (1<<24 - 1) }

// Dial implements fabric.Device.
func (d *Device) Dial(ctx context.Context, addr fabric.Addr, cfg fabric.QPConfig, private []byte) (fabric.QP, error) {
	if err := errors.Join(d.checkAddr(addr), checkPrivate(private)); err != nil {
		return nil, err
	}
	q, err := d.newConnected(cfg)
	if err != nil {
		return nil, err
	}
	if err := d.connect(ctx, q, addr, private); err != nil {
		q.abandon()
		return nil, err
	}
	return q, nil
}

// connect does all of Dial that takes time.
func (d *Device) connect(ctx context.Context, q *QP, addr fabric.Addr, private []byte) error {
	open, err := d.handshakes.Dial(ctx, addr)
	if err != nil {
		return base.DialError(ctx, addr, err)
	}
	h := &halfOpen{open, d}
	err = d.greet(ctx, q, h, private)
	if err == nil {
		h.Finish()
		if err = d.startControl(q, h.TCPConn); err == nil {
			return nil
		}
	}
	h.Abandon()
	return base.DialError(ctx, addr, err)
}

// greet exchanges hellos with the listener and connects.
func (d *Device) greet(ctx context.Context, q *QP, h *halfOpen, private []byte) error {
	stop := h.Bound(ctx)
	defer stop()
	psn := begin24()
	mine := q.describe(psn, private)
	m, err := d.managerFor(q.transport)
	if err != nil {
		return err
	}
	mine.managed = m != nil
	if err := h.say(kindHello, mine.encode()); err != nil {
		return err
	}
	var buf [maxBody]byte
	k, body, err := readMessage(h, &buf)
	if err != nil {
		return err
	}
	switch k {
	case kindAccept:
	case kindReject:
		return &fabric.RejectedError{Private: append([]byte(nil), body...)}
	case kindRefuse:
		return fmt.Errorf("it says %q: %w", body, fabric.ErrRefused)
	default:
		return violation("it answered a hello with a message of kind %d", k)
	}
	peer, err := decodeHello(body)
	if err != nil {
		return err
	}
	if peer.transport != q.transport {
		return violation("it answered %v to %v", peer.transport, q.transport)
	}
	switch {
	case !peer.managed:
		if d.cfg.CM == "on" {
			return fmt.Errorf("the server has no connection manager; use cm=auto: %w", fabric.ErrUnsupported)
		}
		err = q.join(&peer.end, psn)
	case m == nil:
		err = violation("it wants to be connected by a connection manager that was not offered")
	default:
		if err = m.connect(ctx, q, &peer.end); err != nil {
			err = fmt.Errorf("connection manager: %w; cm=off connects without it", err)
		}
	}
	if err != nil {
		return err
	}
	q.peer, q.peerPrivate = fabric.Peer{Addr: h.RemoteAddr().String()}, peer.end.private
	if err := h.say(kindReady, nil); err != nil {
		return err
	}
	if !stop() {
		return ctx.Err()
	}
	return nil
}

// managerFor returns the connection manager for a queue pair, nil when it is
// to be connected without.
func (d *Device) managerFor(t fabric.Transport) (*manager, error) {
	if t != fabric.RC || d.cfg.CM == "off" {
		return nil, nil
	}
	m, err := d.connectionManager()
	if err != nil && d.cfg.CM == "on" {
		return nil, fmt.Errorf("no connection manager: %w; or use cm=off", err)
	}
	if err != nil {
		return nil, nil // auto does without
	}
	return m, nil
}
