package faults

import (
	"context"
	"errors"
	"fmt"

	"github.com/remora-kv/remora/fabric"
)

// makeQP makes a queue pair from one that inner makes.
func (d *Device) makeQP(cfg fabric.QPConfig, inner func(fabric.QPConfig) (fabric.QP, error)) (fabric.QP, error) {
	if err := cfg.Normalize(&d.limits); err != nil {
		return nil, err
	}
	send, ok1 := cfg.SendCQ.(*cq)
	recv, ok2 := cfg.RecvCQ.(*cq)
	dom, ok3 := cfg.Domain.(*domain)
	if !ok1 || !ok2 || !ok3 || send.dev != d || recv.dev != d || dom.dev != d {
		return nil, fmt.Errorf("faults: queue pair: completion queues and domain must be of the wrapped device %s: %w",
			d.Name(), fabric.ErrInvalid)
	}
	if err := reserve(send, recv, cfg.SendDepth, cfg.RecvDepth); err != nil {
		return nil, err
	}
	q := &queuePair{
		dev: d, domain: dom, send: send, recv: recv,
		depth: uint64(cfg.SendDepth), recvDepth: cfg.RecvDepth,
	}
	if err := q.open(cfg, inner); err != nil {
		unreserve(send, recv, cfg.SendDepth, cfg.RecvDepth)
		return nil, err
	}
	return q, nil
}

// open makes the inner queue pair and what this one needs beside it.
func (q *queuePair) open(cfg fabric.QPConfig, inner func(fabric.QPConfig) (fabric.QP, error)) error {
	d := q.dev
	cfg.Domain, cfg.SendCQ, cfg.RecvCQ = q.domain.Domain, q.send.inner, q.recv.inner
	if err := q.prepare(cfg.Transport); err != nil {
		return err
	}
	if q.copies != nil && !q.copies.uc {
		cfg.SendDepth = min(2*cfg.SendDepth, d.limits.MaxDepth)
		q.copies.room = cfg.SendDepth - int(q.depth)
	}
	var err error
	if q.QP, err = inner(cfg); err != nil {
		_ = q.releaseMemory()
		return err
	}
	q.num = q.QP.Num()
	d.add(q)
	q.send.join(q)
	if q.recv != q.send {
		q.recv.join(q)
	}
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
// the dialer, which must not wait for ever.
func (r *request) Accept(ctx context.Context, cfg fabric.QPConfig, private []byte) (fabric.QP, error) {
	if err := r.dev.refused(&r.dev.accepts); err != nil {
		return nil, errors.Join(err, r.Reject(nil))
	}
	return r.dev.makeQP(cfg, func(cfg fabric.QPConfig) (fabric.QP, error) {
		return r.ConnRequest.Accept(ctx, cfg, private)
	})
}
