package herd

import (
	"fmt"

	"github.com/remora-kv/remora/fabric"
)

// outlet is the UD queue pair of a core on one device.
type outlet struct {
	registry *registry
	cq       fabric.CQ
	qp       fabric.QP
	inline   int

	depth    uint64
	posted   uint64 // SENDs so far; their numbers are their IDs
	signaled uint64 // the last of them that yields a completion
	done     uint64 // those known to be complete
	err      error  // why it broke
	closed   bool
	comps    [16]fabric.Completion
	one      [1]fabric.WR
}

// outletDepth is how many SENDs can be outstanding.
const outletDepth = 512

func newOutlet(r *registry, inline int) (*outlet, error) {
	lim := r.dev.Limits()
	o := &outlet{registry: r, depth: uint64(min(outletDepth, lim.MaxDepth)), inline: min(inline, lim.MaxInline)}
	var err error
	if o.cq, err = r.dev.NewCQ(int(o.depth) + 1); err != nil {
		return nil, err
	}
	if o.qp, err = o.newQP(); err != nil {
		_ = o.cq.Close()
		return nil, err
	}
	return o, nil
}

func (o *outlet) newQP() (fabric.QP, error) {
	return o.registry.domain.NewUD(fabric.QPConfig{
		Transport: fabric.UD, SendCQ: o.cq, RecvCQ: o.cq, SendDepth: int(o.depth), RecvDepth: 1,
	})
}

// broken reports whether nothing is sent any more.
func (o *outlet) broken() bool {
	o.reap()
	return o.err != nil || o.qp.State() != fabric.StateReady
}

// renew makes the queue pair anew. What was posted to the old one is over when that is
// closed (T4), whatever became of it. When it fails the outlet stays broken.
func (o *outlet) renew() error {
	if o.qp.State() != fabric.StateClosed {
		_ = o.qp.Close()
	}
	o.done, o.signaled = o.posted, o.posted
	qp, err := o.newQP()
	if err != nil {
		return err
	}
	o.qp, o.err = qp, nil
	return nil
}

// send sends n bytes at off of a region, and returns the number of the SEND; 0 when
// there is no room, which is like a datagram that was lost. One in a quarter of the
// queue is signaled, and those that ask for it.
func (o *outlet) send(to fabric.AddressHandle, r *fabric.Region, off, n int, signaled bool) uint64 {
	if o.posted-o.done >= o.depth {
		if o.reap(); o.posted-o.done >= o.depth {
			return 0
		}
	}
	w := &o.one[0] // field by field: a literal would be made elsewhere and copied
	w.ID, w.Op, w.Flags = o.posted+1, fabric.OpSend, 0
	w.Local, w.To = r.Seg(off, n), to
	if n <= o.inline {
		w.Flags = fabric.FlagInline
	}
	if signaled || o.posted-o.signaled >= o.depth/4 {
		w.Flags |= fabric.FlagSignaled
	}
	if _, err := o.qp.Post(o.one[:]); err != nil {
		return 0
	}
	if o.posted++; w.Flags&fabric.FlagSignaled != 0 {
		o.signaled = o.posted
	}
	return o.posted
}

// reap takes completions.
func (o *outlet) reap() {
	for {
		n := o.cq.Poll(o.comps[:])
		for i := range n {
			if o.comps[i].QPN != o.qp.Num() {
				continue // of one that was broken
			}
			if o.done = max(o.done, o.comps[i].ID); o.comps[i].Status != fabric.StatusOK && o.err == nil {
				o.err = fmt.Errorf("herd: outlet on device %s: %w", o.registry.dev.Name(), o.comps[i].Err())
			}
		}
		if n < len(o.comps) {
			return
		}
	}
}

// complete reports whether SEND number n is known to be complete.
func (o *outlet) complete(n uint64) bool {
	if n > o.done {
		o.reap()
	}
	return n <= o.done
}

func (o *outlet) close() {
	if !o.closed {
		_ = o.qp.Close()
		_ = o.cq.Close()
		o.closed, o.done = true, o.posted
	}
}
