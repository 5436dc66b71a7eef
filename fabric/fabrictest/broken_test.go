package fabrictest

import (
	"context"
	"slices"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// flaw is one way in which a device can break the contract. Each function that
// is not nil stands in for a part of the device.
type flaw struct {
	name  string
	cases []string // those that must notice
	// raceOff: not tried in race builds.
	raceOff bool

	post     func(qp fabric.QP, wrs []fabric.WR) (int, error)
	postRecv func(qp fabric.QP, wrs []fabric.RecvWR) (int, error)
	polled   func(cs []fabric.Completion) int // changes completions, returns how many stay
	wait     func(w fabric.Waiter, cfg *fabric.WaitConfig, poll func() bool, timeout time.Duration) bool
	waiter   func(cfg *fabric.WaitConfig)
	counters func(c *fabric.Counters)
	dial     func()
	state    func(qp fabric.QP) fabric.State
	err      func(qp fabric.QP) error
	config   func(cfg *fabric.QPConfig)
	closeQP  func(qp fabric.QP) error
	view     func(v fabric.Viewer, from fabric.Remote, n int) ([]byte, bool)
	place    func(p fabric.Placer, to fabric.Remote, b []byte) bool
	limits   func(l *fabric.Limits)
	roomy    bool // completion queues are deeper than they say
}

// flawed wraps both devices of a world.
func flawed(w *World, f *flaw, broken bool) *World {
	if !broken {
		f = &flaw{}
	}
	c := *w
	c.A, c.B = &flawedDevice{w.A, f}, &flawedDevice{w.B, f}
	c.Fresh = nil
	return &c
}

type flawedDevice struct {
	fabric.Device
	f *flaw
}

type flawedCQ struct {
	fabric.CQ
	f *flaw
}

type flawedQP struct {
	fabric.QP
	f *flaw
}

type flawedListener struct {
	fabric.Listener
	f *flaw
}

type flawedRequest struct {
	fabric.ConnRequest
	f *flaw
}

type flawedWaiter struct {
	fabric.Waiter
	f   *flaw
	cfg fabric.WaitConfig
}

func (d *flawedDevice) Limits() fabric.Limits {
	l := d.Device.Limits()
	if d.f.limits != nil {
		d.f.limits(&l)
	}
	return l
}

func (d *flawedDevice) Counters() fabric.Counters {
	c := d.Device.Counters()
	if d.f.counters != nil {
		d.f.counters(&c)
	}
	return c
}

func (d *flawedDevice) NewCQ(depth int) (fabric.CQ, error) {
	if d.f.roomy {
		depth *= 2
	}
	cq, err := d.Device.NewCQ(depth)
	if err != nil {
		return nil, err
	}
	return &flawedCQ{cq, d.f}, nil
}

func (d *flawedDevice) NewWaiter(cfg fabric.WaitConfig) (fabric.Waiter, error) {
	cfg.CQs = slices.Clone(cfg.CQs)
	for i, cq := range cfg.CQs {
		if own, ok := cq.(*flawedCQ); ok {
			cfg.CQs[i] = own.CQ
		}
	}
	asked := cfg
	if d.f.waiter != nil {
		d.f.waiter(&cfg)
	}
	w, err := d.Device.NewWaiter(cfg)
	if err != nil {
		return nil, err
	}
	return &flawedWaiter{w, d.f, asked}, nil
}

func (d *flawedDevice) Listen(addr fabric.Addr, cfg fabric.ListenConfig) (fabric.Listener, error) {
	l, err := d.Device.Listen(addr, cfg)
	if err != nil {
		return nil, err
	}
	return &flawedListener{l, d.f}, nil
}

func (d *flawedDevice) Dial(ctx context.Context, addr fabric.Addr, cfg fabric.QPConfig, private []byte) (fabric.QP, error) {
	if d.f.dial != nil {
		d.f.dial()
	}
	qp, err := d.Device.Dial(ctx, addr, d.f.unwrap(cfg), private)
	if err != nil {
		return nil, err
	}
	return &flawedQP{qp, d.f}, nil
}

// unwrap gives the real device its own completion queues.
func (f *flaw) unwrap(cfg fabric.QPConfig) fabric.QPConfig {
	if cq, ok := cfg.SendCQ.(*flawedCQ); ok {
		cfg.SendCQ = cq.CQ
	}
	if cq, ok := cfg.RecvCQ.(*flawedCQ); ok {
		cfg.RecvCQ = cq.CQ
	}
	if f.config != nil {
		f.config(&cfg)
	}
	return cfg
}

func (l *flawedListener) Accept(ctx context.Context) (fabric.ConnRequest, error) {
	req, err := l.Listener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	return &flawedRequest{req, l.f}, nil
}

func (r *flawedRequest) Accept(ctx context.Context, cfg fabric.QPConfig, private []byte) (fabric.QP, error) {
	qp, err := r.ConnRequest.Accept(ctx, r.f.unwrap(cfg), private)
	if err != nil {
		return nil, err
	}
	return &flawedQP{qp, r.f}, nil
}

func (q *flawedQP) Post(wrs []fabric.WR) (int, error) {
	if q.f.post != nil {
		return q.f.post(q.QP, wrs)
	}
	return q.QP.Post(wrs)
}

func (q *flawedQP) PostRecv(wrs []fabric.RecvWR) (int, error) {
	if q.f.postRecv != nil {
		return q.f.postRecv(q.QP, wrs)
	}
	return q.QP.PostRecv(wrs)
}

func (q *flawedQP) Counters() fabric.Counters {
	c := q.QP.Counters()
	if q.f.counters != nil {
		q.f.counters(&c)
	}
	return c
}

func (q *flawedQP) State() fabric.State {
	if q.f.state != nil {
		return q.f.state(q.QP)
	}
	return q.QP.State()
}

func (q *flawedQP) Err() error {
	if q.f.err != nil {
		return q.f.err(q.QP)
	}
	return q.QP.Err()
}

func (q *flawedQP) Close() error {
	if q.f.closeQP != nil {
		return q.f.closeQP(q.QP)
	}
	return q.QP.Close()
}

// View makes a Viewer of every queue pair, one that refuses if the one below is no Viewer.
func (q *flawedQP) View(from fabric.Remote, n int) ([]byte, bool) {
	v, ok := q.QP.(fabric.Viewer)
	switch {
	case !ok:
		return nil, false
	case q.f.view != nil:
		return q.f.view(v, from, n)
	}
	return v.View(from, n)
}

// Place makes a Placer of every queue pair, one that refuses if the one below is no Viewer.
func (q *flawedQP) Place(to fabric.Remote, b []byte) bool {
	p, ok := q.QP.(fabric.Placer)
	switch {
	case !ok:
		return false
	case q.f.place != nil:
		return q.f.place(p, to, b)
	}
	return p.Place(to, b)
}

func (c *flawedCQ) Poll(out []fabric.Completion) int {
	n := c.CQ.Poll(out)
	if c.f.polled != nil && n > 0 {
		n = c.f.polled(out[:n])
	}
	return n
}

func (w *flawedWaiter) Wait(poll func() bool, timeout time.Duration) bool {
	if w.f.wait != nil {
		return w.f.wait(w.Waiter, &w.cfg, poll, timeout)
	}
	return w.Waiter.Wait(poll, timeout)
}
