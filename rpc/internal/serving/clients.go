package serving

import (
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
)

// Clients counts clients that came and went. Any goroutine may call its methods.
type Clients struct {
	Log *slog.Logger

	Connects, Disconnects atomic.Uint64
	Cut                   atomic.Uint64 // those that broke the protocol
	Lost                  atomic.Uint64 // those that were lost without a disconnect
}

// CutOff notes that a client is being disconnected because it broke the protocol.
func (c *Clients) CutOff(qp fabric.QP, why string) {
	c.Cut.Add(1)
	c.Log.Warn("client cut off", "peer", qp.Peer().Addr, "qp", qp.Num(), "reason", why)
}

// Gone notes that the queue pair of a client failed, and why.
func (c *Clients) Gone(qp fabric.QP, err error) {
	if errors.Is(err, fabric.ErrDisconnected) || errors.Is(err, fabric.ErrClosed) {
		c.Log.Debug("client left", "peer", qp.Peer().Addr)
		return
	}
	c.Lost.Add(1)
	c.Log.Warn("client lost", "peer", qp.Peer().Addr, "err", err)
}

// AddUp adds the counts to t.
func (c *Clients) AddUp(t *rpc.ServerStats) {
	t.Connects += c.Connects.Load()
	t.Disconnects += c.Disconnects.Load()
	t.Cut += c.Cut.Load()
	t.Lost += c.Lost.Load()
}
