//go:build rdma

package verbs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
)

// How an RC queue pair tries: 4.096 us << ackTimeout for each of ackRetries
// attempts and one more. Adapters may take up to four times as long. More
// than 6 attempts some take for "without end".
const (
	ackTimeout = 17
	ackRetries = 6
)

// halfOpen is a control connection before its queue pair is ready. The device
// closes those that are left when it is closed.
type halfOpen struct {
	dev *Device
	c   *net.TCPConn
}

// begin puts a connection under the care of the device.
func (d *Device) begin(c *net.TCPConn) (*halfOpen, error) {
	h := &halfOpen{dev: d, c: c}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.killed.Load() {
		_ = c.Close()
		return nil, d.errClosed()
	}
	d.halfOpen[h] = struct{}{}
	return h, nil
}

// finish takes the connection out of the device's care.
func (h *halfOpen) finish() {
	h.dev.mu.Lock()
	delete(h.dev.halfOpen, h)
	h.dev.mu.Unlock()
}

// abandon closes the connection.
func (h *halfOpen) abandon() {
	h.finish()
	_ = h.c.Close()
}

// say sends a message.
func (h *halfOpen) say(k kind, body []byte) error {
	_, err := h.c.Write(appendMessage(nil, k, body))
	return err
}

// refuse says why there will be no connection, as far as it fits.
func (h *halfOpen) refuse(why string) {
	_ = h.say(kindRefuse, []byte(why[:min(len(why), maxBody)]))
}

// bounded ends reading and writing when ctx does, until the returned function
// is called, which reports whether it came in time.
func (h *halfOpen) bounded(ctx context.Context) func() bool {
	return context.AfterFunc(ctx, func() { _ = h.c.SetDeadline(past()) })
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
	c := &d.adapter.choice
	if cfg.Device != "" && cfg.Device != c.Device || cfg.Port != 0 && cfg.Port != c.Port ||
		cfg.GID != "" && cfg.GID != "auto" && cfg.GID != strconv.Itoa(c.GID.Index) {
		return fmt.Errorf("fabric: verbs: %v asks for another adapter than this device, %s: %w", addr, c, fabric.ErrInvalid)
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

// withHW runs f while nobody takes the adapter's part away.
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

// reads is how many READs and atomics may be under way to the peer.
func (q *QP) reads(peer *end) int { return max(1, min(q.dev.lim.MaxReads, peer.reads)) }

func (q *QP) reliability() reliability {
	return reliability{timeout: ackTimeout, retries: ackRetries, rnrRetries: q.rnr.retries}
}

func (q *QP) toInit() error {
	return q.hw.toInit(q.transport, q.dev.adapter.choice.Port, q.access(), 0)
}

// describe returns what the peer has to know of this end.
func (q *QP) describe(psn uint32, private []byte) hello {
	a := q.dev.adapter
	return hello{transport: q.transport, end: end{
		ethernet: a.port.ethernet, mtu: a.port.mtu, reads: q.dev.lim.MaxReads, lid: a.port.lid,
		qpn: q.num, psn: psn, rnr: q.rnrTimeout, gid: a.choice.GID.Addr.As16(), private: private,
	}}
}

// join connects the adapter's part to the other end.
func (q *QP) join(peer *end, psn uint32) error {
	a := q.dev.adapter
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

// begin24 is the first packet sequence number: one that nobody expects.
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
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "tcp", addr.Name)
	if err != nil {
		return dialError(ctx, addr, err)
	}
	h, err := d.begin(c.(*net.TCPConn)) //lint:ignore errcheck what network tcp gives
	if err != nil {
		return err
	}
	err = d.greet(ctx, q, h, private)
	if err == nil {
		h.finish()
		if err = d.startLink(q, h.c); err == nil {
			return nil
		}
	}
	h.abandon()
	return dialError(ctx, addr, err)
}

// greet exchanges hellos with the listener and connects.
func (d *Device) greet(ctx context.Context, q *QP, h *halfOpen, private []byte) error {
	stop := h.bounded(ctx)
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
	k, body, err := readMessage(h.c, &buf)
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
		if d.cm == "on" {
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
	q.peer, q.peerPrivate = fabric.Peer{Addr: h.c.RemoteAddr().String()}, peer.end.private
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
	if t != fabric.RC || d.cm == "off" {
		return nil, nil
	}
	m, err := d.connectionManager()
	if err != nil && d.cm == "on" {
		return nil, fmt.Errorf("no connection manager: %w; or use cm=off", err)
	}
	if err != nil {
		return nil, nil // auto does without
	}
	return m, nil
}

// dialError says why a connection could not be made.
func dialError(ctx context.Context, addr fabric.Addr, err error) error {
	var rejected *fabric.RejectedError
	switch {
	case errors.As(err, &rejected):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("fabric: verbs: dial %v: %w", addr, ctx.Err())
	case errors.Is(err, os.ErrDeadlineExceeded):
		// Package net may be a moment ahead of the context.
		return fmt.Errorf("fabric: verbs: dial %v: %w", addr, context.DeadlineExceeded)
	case errors.Is(err, unix.ECONNREFUSED):
		return fmt.Errorf("fabric: verbs: dial %v: nobody listens there; check host and port, "+
			"and that the server runs: %w", addr, fabric.ErrRefused)
	case errors.Is(err, unix.EHOSTUNREACH), errors.Is(err, unix.ENETUNREACH):
		return fmt.Errorf("fabric: verbs: dial %v: %w: %w", addr, err, fabric.ErrRefused)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, unix.ECONNRESET),
		errors.Is(err, unix.EPIPE):
		return fmt.Errorf("fabric: verbs: dial %v: closed by the other side before it answered: %w", addr, fabric.ErrRefused)
	}
	return fmt.Errorf("fabric: verbs: dial %v: %w", addr, err)
}
