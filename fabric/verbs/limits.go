//go:build rdma

package verbs

import (
	"fmt"

	"github.com/remora-kv/remora/fabric"
)

// What is asked of an adapter. Larger queues and more inline data make each
// entry larger and fewer fit.
const (
	wantInline = 512
	wantDepth  = 4096
	wantSegs   = 8
	wantReads  = 16
	wantRegion = 1 << 40
	wantQueue  = 1 << 22
)

// limits asks the adapter what it can do. Some of it only making a queue pair
// tells: how much inline data it takes, and whether there is such a transport.
func (a *adapter) limits() (fabric.Limits, error) {
	lim := fabric.Limits{
		MaxInline: wantInline, MaxSegs: min(a.caps.segs, wantSegs), MaxDepth: min(a.caps.depth, wantDepth),
		MaxCQDepth: min(a.caps.cqDepth, wantQueue), MaxMessage: int(min(a.port.maxMessage, 1<<31-1)), MTU: a.port.mtu,
		MaxReads:   min(a.caps.readsAnswered, a.caps.readsStarted, wantReads),
		MaxPrivate: maxPrivate, MaxRegion: int(min(a.caps.maxRegion, wantRegion)), Atomics: a.caps.atomics,
	}
	pd, err := a.ctx.newPD()
	if err != nil {
		return lim, fmt.Errorf("protection domain: %w", err)
	}
	defer func() { _ = pd.close() }()
	cq, err := a.ctx.newCQ(16)
	if err != nil {
		return lim, fmt.Errorf("completion queue: %w", err)
	}
	defer func() { _ = cq.close() }()
	plan := qpPlan{pd: pd, send: cq.cq, recv: cq.cq, segs: lim.MaxSegs}
	if err := plan.probe(fabric.RC, &lim); err != nil {
		return lim, fmt.Errorf("reliable queue pair: %w", err)
	}
	// The inline data holds for every transport that the adapter has.
	lim.UC = plan.probeInline(fabric.UC, &lim) == nil
	lim.UD = plan.probeInline(fabric.UD, &lim) == nil
	return lim, nil
}

// probe lowers depth and inline data until a queue pair can be made.
func (p *qpPlan) probe(t fabric.Transport, lim *fabric.Limits) error {
	for {
		p.sendDepth, p.recvDepth = lim.MaxDepth, lim.MaxDepth
		inline, err := p.try(t, lim.MaxInline)
		if err == nil {
			lim.MaxInline = min(lim.MaxInline, inline)
			return nil
		}
		switch {
		case lim.MaxDepth > 2*fabric.DefaultDepth && lim.MaxDepth > 8*lim.MaxInline:
			lim.MaxDepth /= 2
		case lim.MaxInline > 0:
			lim.MaxInline = lim.MaxInline * 3 / 4 &^ 15
		case lim.MaxDepth > 2*fabric.DefaultDepth:
			lim.MaxDepth /= 2
		default:
			return err
		}
	}
}

// probeInline lowers the inline data until a short queue pair can be made.
func (p *qpPlan) probeInline(t fabric.Transport, lim *fabric.Limits) error {
	p.sendDepth, p.recvDepth = 1, 1
	for want := lim.MaxInline; ; want = want * 3 / 4 &^ 15 {
		inline, err := p.try(t, want)
		if err == nil {
			lim.MaxInline = min(want, inline)
			return nil
		}
		if want == 0 {
			return err
		}
	}
}

// try makes a queue pair and returns how much inline data it takes.
func (p *qpPlan) try(t fabric.Transport, inline int) (int, error) {
	p.transport, p.inline = t, inline
	qp, _, got, err := newHWQP(p)
	if err != nil {
		return 0, err
	}
	return got, qp.close()
}
