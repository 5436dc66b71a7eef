package faults

import (
	"context"
	"errors"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// makeQP makes a queue pair from one that inner makes.
func (d *Device) makeQP(cfg fabric.QPConfig, inner func(fabric.QPConfig) (fabric.QP, error)) (fabric.QP, error) {
	send, recv, dom, err := base.QPParts(&cfg, &d.limits, d.Name(), func(send, recv *cq, dom *domain) bool {
		return send.dev == d && recv.dev == d && dom.dev == d
	})
	if err != nil {
		return nil, err
	}
	if err := send.Reserve(cfg.SendDepth, &recv.Places, cfg.RecvDepth); err != nil {
		return nil, err
	}
	q := &queuePair{
		dev: d, domain: dom, send: send, recv: recv, depth: uint64(cfg.SendDepth), recvDepth: cfg.RecvDepth,
		limits: cfg.Limits(d.limits),
		ring:   make([]entry, base.CeilPow2(cfg.SendDepth)), segs: make([]fabric.Seg, max(d.limits.MaxSegs-1, 0)),
	}
	if err := q.open(cfg, inner); err != nil {
		send.Release(cfg.SendDepth, &recv.Places, cfg.RecvDepth)
		return nil, err
	}
	return q, nil
}

// open makes the inner queue pair and the memory for copies, which need places of
// their own there.
func (q *queuePair) open(cfg fabric.QPConfig, inner func(fabric.QPConfig) (fabric.QP, error)) error {
	d := q.dev
	cfg.Domain, cfg.SendCQ, cfg.RecvCQ = q.domain.Domain, q.send.inner, q.recv.inner
	room := d.plan.room(cfg.Transport)
	cfg.SendDepth = min(room*cfg.SendDepth, d.limits.MaxDepth)
	places := cfg.SendDepth - int(q.depth)
	if room == roomToScatter {
		places /= 1 + maxRuns
	}
	err := q.copies.init(q, min(places, maxCopies))
	if err != nil {
		return err
	}
	if q.QP, err = inner(cfg); err != nil {
		return errors.Join(err, q.copies.close())
	}
	d.add(q)
	return nil
}

// Dial implements fabric.Device.
func (d *Device) Dial(ctx context.Context, addr fabric.Addr, cfg fabric.QPConfig, private []byte) (fabric.QP, error) {
	if err := d.refused(&d.dials); err != nil {
		return nil, err
	}
	return d.makeQP(cfg, func(cfg fabric.QPConfig) (fabric.QP, error) {
		return d.Device.Dial(ctx, addr, cfg, private)
	})
}

// Listen implements fabric.Device.
func (d *Device) Listen(addr fabric.Addr, cfg fabric.ListenConfig) (fabric.Listener, error) {
	inner, err := d.Device.Listen(addr, cfg)
	if err != nil {
		return nil, err
	}
	return &listener{Listener: inner, dev: d}, nil
}

type listener struct {
	fabric.Listener
	dev *Device
}

// Accept implements fabric.Listener.
func (l *listener) Accept(ctx context.Context) (fabric.ConnRequest, error) {
	inner, err := l.Listener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	return &request{ConnRequest: inner, dev: l.dev}, nil
}

type request struct {
	fabric.ConnRequest
	dev *Device
}

// Accept implements fabric.ConnRequest. An accept that fails by plan rejects
// the dialer, which must not wait forever.
func (r *request) Accept(ctx context.Context, cfg fabric.QPConfig, private []byte) (fabric.QP, error) {
	if err := r.dev.refused(&r.dev.accepts); err != nil {
		return nil, errors.Join(err, r.Reject(nil))
	}
	return r.dev.makeQP(cfg, func(cfg fabric.QPConfig) (fabric.QP, error) {
		return r.ConnRequest.Accept(ctx, cfg, private)
	})
}
