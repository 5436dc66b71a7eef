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
		MaxInline: a.tuning.Inline.Or(wantInline), MaxSegs: min(a.caps.segs, wantSegs), MaxDepth: min(a.caps.depth, wantDepth),
		MaxCQDepth: min(a.caps.cqDepth, wantQueue), MaxMessage: int(min(a.port.maxMessage, 1<<31-1)), MTU: a.port.mtu,
		MaxReads:   min(a.caps.readsAnswered, a.caps.readsStarted, wantReads),
		MaxPrivate: maxPrivate, MaxRegion: int(min(a.caps.maxRegion, wantRegion)), Atomics: a.caps.atomics,
	}
	pd, err := a.ctx.newPD()
	if err != nil {
		return lim, fmt.Errorf("protection domain: %w", err)
	}
	defer func() { _ = pd.close() }()
	cq, err := a.ctx.newCQ(16, 0)
	if err != nil {
		return lim, fmt.Errorf("completion queue: %w", explainPin(err))
	}
	defer func() { _ = cq.close() }()
	plan := qpPlan{pd: pd, send: cq.cq, recv: cq.cq, segs: lim.MaxSegs}
	if err := plan.probe(fabric.RC, &lim); err != nil {
		return lim, fmt.Errorf("reliable queue pair: %w", explainPin(err))
	}
	// The limits hold for every transport that the adapter has.
	lim.UC = plan.probeToo(fabric.UC, &lim)
	lim.UD = plan.probeToo(fabric.UD, &lim)
	if asked := a.tuning.Inline; asked.given && asked.value > lim.MaxInline {
		return lim, fmt.Errorf("inline=%d: the adapter takes at most %d bytes of inline data: %w",
			asked.value, lim.MaxInline, fabric.ErrInvalid)
	}
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

// probeToo does so for a transport that the adapter may not have, and reports
// whether it has.
func (p *qpPlan) probeToo(t fabric.Transport, lim *fabric.Limits) bool {
	lower := *lim
	if p.probe(t, &lower) != nil {
		return false
	}
	*lim = lower
	return true
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
