package onesided

import (
	"context"
	"errors"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/internal/endpoint"
)

// ReaderConn is the client's end of a reader connection. The client posts READs to QP and polls CQ.
type ReaderConn struct {
	Domain fabric.Domain
	CQ     fabric.CQ
	QP     fabric.QP
	Waiter fabric.Waiter

	end   endpoint.Endpoint
	wr    [1]fabric.WR
	comps [2]fabric.Completion
}

// ReaderConfig describes a reader connection.
type ReaderConfig struct {
	// Device is where the connection is made. It stays the caller's to close.
	Device fabric.Device
	// Depth is how many READs can be in flight, as far as the device allows it.
	Depth int
	// Policy says whether a client that waits may sleep.
	Policy fabric.Policy
	// Hello is the private data that the acceptor checks.
	Hello []byte
}

// EndID is the ID of the receive that completes when the connection ends (O8). Work requests
// have other IDs.
const EndID = 1 << 63

// DialReader connects to an acceptor, whose welcome is in QP.PeerPrivate. ctx bounds the attempt.
func DialReader(ctx context.Context, addr fabric.Addr, cfg ReaderConfig) (*ReaderConn, error) {
	c := new(ReaderConn)
	if err := c.dial(ctx, addr, &cfg); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func (c *ReaderConn) dial(ctx context.Context, addr fabric.Addr, cfg *ReaderConfig) (err error) {
	if err = c.end.Open("reader", cfg.Device); err != nil {
		return err
	}
	depth := min(cfg.Depth, cfg.Device.Limits().MaxDepth)
	if c.CQ, err = c.end.NewCQ(depth + 1); err != nil {
		return err
	}
	if c.Waiter, err = c.end.NewWaiter(fabric.WaitConfig{Policy: cfg.Policy, CQs: []fabric.CQ{c.CQ}}); err != nil {
		return err
	}
	err = c.end.Dial(ctx, addr, fabric.QPConfig{
		Transport: fabric.RC, SendCQ: c.CQ, RecvCQ: c.CQ, SendDepth: depth, RecvDepth: 1,
		MaxSegs: 1, MaxInline: fabric.NoInline,
	}, cfg.Hello)
	if err != nil {
		return err
	}
	c.Domain, c.QP = c.end.Domain, c.end.QP
	_, err = c.QP.PostRecv([]fabric.RecvWR{{ID: EndID}})
	return err
}

// contextInterval bounds how long Fetch waits without checking its context.
const contextInterval = 10 * time.Millisecond

// Fetch READs n bytes, while nothing else is in flight. After an error the connection can only
// be closed.
func (c *ReaderConn) Fetch(ctx context.Context, from fabric.Remote, n int) ([]byte, error) {
	r, err := c.Domain.Alloc("fetched", n, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	c.wr[0] = fabric.WR{Op: fabric.OpRead, Local: r.Seg(0, n), Remote: from, Flags: fabric.FlagSignaled}
	if _, err := c.QP.Post(c.wr[:]); err != nil {
		return nil, err
	}
	came := false
	for !came {
		c.Waiter.Wait(func() bool {
			for i := range c.CQ.Poll(c.comps[:]) {
				if err == nil && (c.comps[i].Status != fabric.StatusOK || c.comps[i].ID == EndID) {
					err = c.Reason(&c.comps[i])
				}
				came = true
			}
			return came
		}, contextInterval)
		if !came && ctx.Err() != nil {
			_ = c.QP.Close() // before its memory
			return nil, context.Cause(ctx)
		}
	}
	if err != nil {
		_ = c.QP.Close()
		return nil, err
	}
	return append([]byte(nil), r.Bytes()...), nil
}

// Reason returns why the connection ended that a completion reports as ended.
func (c *ReaderConn) Reason(comp *fabric.Completion) error {
	if err := endpoint.Reason(c.QP, comp); err != nil {
		return err
	}
	return rpc.ErrProtocol // the server sent a message
}

// Close ends the connection, and closes the regions that READs went to and the domain. A second
// Close does nothing.
func (c *ReaderConn) Close(regions ...*fabric.Region) error {
	err := c.end.Close(regions...)
	if errors.Is(err, rpc.ErrClosed) {
		return nil
	}
	return err
}
