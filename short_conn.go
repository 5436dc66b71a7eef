package remora

import (
	"context"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/herd"
	"github.com/remora-kv/remora/rpc/sendrecv"
)

// shortConn is a connection beside that of rfp, which takes what is short: one of herd or
// of sendrecv.
type shortConn interface {
	MaxMessage() int
	Window() int
	Cores() int
	Counters() fabric.Counters
	Poll() bool
	Wait(timeout time.Duration) bool
	WaitMore(more func() bool, nap time.Duration)
	Wake()
	Err() error
	Disconnect()
	Close() error
}

// shortLane is the way to the core of the connection.
type shortLane interface {
	Reserve(hash uint64, n int) ([]byte, error)
	Commit() error
	Settle()
	Outstanding() int
	Ready() bool
	Next() (result []byte, err error, ok bool)
	Request() []byte
}

// short reports whether on a path what is short takes another connection than rfp.
func (p Path) short() bool { return p == PathHerd || p == PathSendRecv || p == PathPilaf }

// dialShort connects with the core of c by the path of what is short, too.
func (c *coreConn) dialShort(ctx context.Context, d *dialer, cfg *config) error {
	if cfg.path == PathHerd {
		return c.dialHerd(ctx, d, cfg)
	}
	return c.dialSendRecv(ctx, d, cfg)
}

// dialHerd connects with the core of c by herd, too.
func (c *coreConn) dialHerd(ctx context.Context, d *dialer, cfg *config) error {
	h, err := herd.Dial(ctx, d.addr, herd.ConnConfig{
		Device: d.device, Window: min(cfg.window, maxHerdWindow), First: c.rfp.Core(), Count: 1, Policy: cfg.policy,
	})
	if err != nil {
		return err
	}
	c.short, c.lane = h, h.Lane(c.rfp.Core())
	return nil
}

// maxHerdWindow is the largest window of herd.
const maxHerdWindow = 64

// dialSendRecv connects with the core of c by sendrecv, too.
func (c *coreConn) dialSendRecv(ctx context.Context, d *dialer, cfg *config) error {
	conn, err := sendrecv.Dial(ctx, d.addr, sendrecv.ConnConfig{
		Device: d.device, Window: cfg.window, Core: c.rfp.Core(), Policy: cfg.policy,
	})
	if err != nil {
		return err
	}
	c.short, c.lane = conn, sendrecvLane{conn}
	return nil
}

// sendrecvLane is a connection of sendrecv as a lane: it is one with one core.
type sendrecvLane struct{ *sendrecv.Conn }

// Reserve implements shortLane. The hash would tell nobody anything.
func (l sendrecvLane) Reserve(_ uint64, n int) ([]byte, error) { return l.Conn.Reserve(n) }

// shortStats returns how many operations what is short has taken, and how many results
// came back.
func (c *coreConn) shortStats() (calls, replies uint64) {
	switch conn := c.short.(type) {
	case *herd.Conn:
		s := conn.Stats()
		return s.Calls, s.Replies
	case *sendrecv.Conn:
		s := conn.Stats()
		return s.Calls, s.Replies
	}
	return 0, 0
}
