package path

import (
	"context"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/herd"
	"github.com/remora-kv/remora/rpc/sendrecv"
)

// smallConn is a connection of herd or sendrecv with one core, which takes small messages.
type smallConn interface {
	MaxMessage() int
	Window() int
	Cores() int
	Reserve(hash uint64, n int) ([]byte, error)
	Commit() error
	Settle()
	Outstanding() int
	Ready() bool
	Next() (result []byte, err error, ok bool)
	Request() []byte
	Poll() bool
	Wait(timeout time.Duration) bool
	WaitMore(more func() bool, limit time.Duration)
	Wake()
	Err() error
	Disconnect()
	Close() error
	Counters() fabric.Counters
	calls() (calls, replies uint64)
}

// herdConn is a connection of herd that serves one core.
type herdConn struct {
	*herd.Conn
	*herd.CoreConn
}

func dialHerd(ctx context.Context, d *Dialer, cfg *Config, core int) (smallConn, error) {
	const maxWindow = 64 // of herd
	conn, err := herd.Dial(ctx, d.Addr, herd.ConnConfig{
		Device: d.Device, Window: min(cfg.Window, maxWindow), First: core, Count: 1, Policy: fabric.PolicyOf(cfg.Busy),
	})
	if err != nil {
		return nil, err
	}
	return &herdConn{conn, conn.CoreConn(core)}, nil
}

// Outstanding implements smallConn.
func (c *herdConn) Outstanding() int { return c.CoreConn.Outstanding() }

func (c *herdConn) calls() (calls, replies uint64) {
	s := c.Stats()
	return s.Calls, s.Replies
}

// sendrecvConn is a connection of sendrecv, which always has one core.
type sendrecvConn struct{ *sendrecv.Conn }

func dialSendRecv(ctx context.Context, d *Dialer, cfg *Config, core int) (smallConn, error) {
	conn, err := sendrecv.Dial(ctx, d.Addr, sendrecv.ConnConfig{
		Device: d.Device, Window: cfg.Window, Core: core, Policy: fabric.PolicyOf(cfg.Busy),
	})
	if err != nil {
		return nil, err
	}
	return sendrecvConn{conn}, nil
}

// Reserve implements smallConn. Only herd sends the hash.
func (c sendrecvConn) Reserve(_ uint64, n int) ([]byte, error) { return c.Conn.Reserve(n) }

func (c sendrecvConn) calls() (calls, replies uint64) {
	s := c.Stats()
	return s.Calls, s.Replies
}
