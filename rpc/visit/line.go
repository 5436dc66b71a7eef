package visit

import (
	"context"
	"errors"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
)

// Line is a client's connection with a hall. Who reads posts to QP, and polls CQ.
type Line struct {
	Domain fabric.Domain
	CQ     fabric.CQ
	QP     fabric.QP
	Waiter fabric.Waiter

	wr    [1]fabric.WR
	comps [2]fabric.Completion
}

// LineConfig describes a line.
type LineConfig struct {
	// Device is where the connection is made. It stays the caller's to close.
	Device fabric.Device
	// Depth is how many READs can be on their way, as far as the device allows it.
	Depth int
	// Policy says whether a client that waits may sleep.
	Policy fabric.Policy
	// Hello is the private data that the hall judges.
	Hello []byte
}

// EndID marks the completion of the receive that tells of the end (V4). Work requests
// have other IDs.
const EndID = 1 << 63

// Dial connects with a hall. ctx bounds the attempt. What the hall says is in
// QP.PeerPrivate.
func Dial(ctx context.Context, addr fabric.Addr, cfg LineConfig) (*Line, error) {
	l := new(Line)
	if err := l.dial(ctx, addr, &cfg); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

func (l *Line) dial(ctx context.Context, addr fabric.Addr, cfg *LineConfig) (err error) {
	if l.Domain, err = cfg.Device.NewDomain(); err != nil {
		return err
	}
	depth := min(cfg.Depth, cfg.Device.Limits().MaxDepth)
	if l.CQ, err = cfg.Device.NewCQ(depth + 1); err != nil {
		return err
	}
	if l.Waiter, err = cfg.Device.NewWaiter(fabric.WaitConfig{Policy: cfg.Policy, CQs: []fabric.CQ{l.CQ}}); err != nil {
		return err
	}
	qp, err := cfg.Device.Dial(ctx, addr, fabric.QPConfig{
		Transport: fabric.RC, Domain: l.Domain, SendCQ: l.CQ, RecvCQ: l.CQ, SendDepth: depth, RecvDepth: 1,
	}, cfg.Hello)
	if err != nil {
		return err
	}
	l.QP = qp
	_, err = qp.PostRecv([]fabric.RecvWR{{ID: EndID}})
	return err
}

// nap bounds how long Fetch waits without a look at its context.
const nap = 10 * time.Millisecond

// Fetch READs n bytes, while nothing else is on its way. After an error the line is good
// for nothing but Close.
func (l *Line) Fetch(ctx context.Context, from fabric.Remote, n int) ([]byte, error) {
	r, err := l.Domain.Alloc("fetched", n, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	l.wr[0] = fabric.WR{Op: fabric.OpRead, Local: r.Seg(0, n), Remote: from, Flags: fabric.FlagSignaled}
	if _, err := l.QP.Post(l.wr[:]); err != nil {
		return nil, err
	}
	came := false
	for !came {
		l.Waiter.Wait(func() bool {
			for i := range l.CQ.Poll(l.comps[:]) {
				if err == nil && (l.comps[i].Status != fabric.StatusOK || l.comps[i].ID == EndID) {
					err = l.Broken(&l.comps[i])
				}
				came = true
			}
			return came
		}, nap)
		if !came && ctx.Err() != nil {
			_ = l.QP.Close() // before its memory
			return nil, context.Cause(ctx)
		}
	}
	if err != nil {
		_ = l.QP.Close()
		return nil, err
	}
	return append([]byte(nil), r.Bytes()...), nil
}

// Broken says why a connection is over whose end a completion tells of.
func (l *Line) Broken(comp *fabric.Completion) error {
	if err := l.QP.Err(); err != nil {
		return err
	}
	if err := comp.Err(); err != nil {
		return err
	}
	return rpc.ErrProtocol // a message that nobody sends
}

// Close ends the connection, closes regions of its domain that the reads went to, and the
// domain. A second Close does nothing.
func (l *Line) Close(regions ...*fabric.Region) error {
	if l.Domain == nil {
		return nil
	}
	if l.QP != nil {
		_ = l.QP.Close()
	}
	if l.Waiter != nil {
		_ = l.Waiter.Close()
	}
	if l.CQ != nil {
		_ = l.CQ.Close()
	}
	var err error
	for _, r := range regions {
		if r != nil {
			err = errors.Join(err, r.Close())
		}
	}
	err = errors.Join(err, l.Domain.Close())
	l.Domain = nil
	return err
}
