package fabrictest

import (
	"errors"
	"math"

	"github.com/remora-kv/remora/fabric"
)

// mistake is a work request that is wrong in itself.
type mistake struct {
	what string
	wr   fabric.WR
}

// mistakes lists wrong requests for the transport of b.
func (p *pair) mistakes() []mistake {
	t, b := p.t, p.b
	lim := b.dev.Limits()
	foreign := t.mem(t.newDomain(b.dev), 4096, everything)
	base := func() fabric.WR { return b.sendFrom(0, 8) }
	var list []mistake
	add := func(what string, change func(w *fabric.WR)) {
		w := base()
		change(&w)
		list = append(list, mistake{what, w})
	}
	size := b.mem.Len()
	add("bytes without a region", func(w *fabric.WR) { w.Local.Region = nil })
	add("negative offset", func(w *fabric.WR) { w.Local.Off = -1 })
	add("negative length", func(w *fabric.WR) { w.Local.Len = -1 })
	add("end beyond the region", func(w *fabric.WR) { w.Local.Off = size - 7 })
	add("begin beyond the region", func(w *fabric.WR) { w.Local.Off = size })
	add("offset that wraps", func(w *fabric.WR) { w.Local.Off = math.MaxInt - 3 })
	add("length that wraps", func(w *fabric.WR) { w.Local.Off, w.Local.Len = 8, math.MaxInt-3 })
	add("region of another domain", func(w *fabric.WR) { w.Local.Region = foreign.Region })
	add("bad second segment", func(w *fabric.WR) { w.More = []fabric.Seg{b.mem.Seg(size-7, 8)} })
	add("second segment without a region", func(w *fabric.WR) { w.More = []fabric.Seg{{Len: 1}} })
	add("too many segments", func(w *fabric.WR) {
		w.Local = b.mem.Seg(0, 1)
		for i := range lim.MaxSegs {
			w.More = append(w.More, b.mem.Seg(i, 1))
		}
	})
	if lim.MaxInline < size && lim.MaxInline < t.mtu() {
		add("too much inline", func(w *fabric.WR) {
			w.Local.Len = lim.MaxInline + 1
			w.Flags |= fabric.FlagInline
		})
	}
	switch b.cfg.Transport {
	case fabric.UC:
	case fabric.UD:
		add("no destination", func(w *fabric.WR) { w.To = nil })
	case fabric.RC:
		add("inline READ", func(w *fabric.WR) {
			w.Op, w.Remote, w.Flags = fabric.OpRead, p.a.mem.Remote(), fabric.FlagSignaled|fabric.FlagInline
		})
		if lim.Atomics {
			p.atomicMistakes(add)
		}
	}
	return list
}

func (p *pair) atomicMistakes(add func(string, func(*fabric.WR))) {
	for _, op := range []fabric.Op{fabric.OpFetchAdd, fabric.OpCmpSwap} {
		atomic := func(what string, change func(w *fabric.WR)) {
			add(op.String()+" "+what, func(w *fabric.WR) {
				w.Op, w.Remote = op, p.a.mem.Remote()
				change(w)
			})
		}
		atomic("at an odd remote address", func(w *fabric.WR) { w.Remote.Addr++ })
		atomic("at a remote address of 4", func(w *fabric.WR) { w.Remote.Addr += 4 })
		atomic("into an odd local place", func(w *fabric.WR) { w.Local.Off = 4 })
		atomic("of 4 bytes", func(w *fabric.WR) { w.Local.Len = 4 })
		atomic("of 16 bytes", func(w *fabric.WR) { w.Local.Len = 16 })
		atomic("of no bytes", func(w *fabric.WR) { w.Local.Len = 0 })
		atomic("of two segments", func(w *fabric.WR) {
			w.Local.Len = 4
			w.More = []fabric.Seg{p.b.mem.Seg(4, 4)}
		})
		atomic("inline", func(w *fabric.WR) { w.Flags |= fabric.FlagInline })
	}
}

// localMistakes posts requests and receives that are wrong in themselves, one
// at a time.
func localMistakes(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: max(64<<10, t.slots(2))})
	for _, m := range p.mistakes() {
		n, err := p.b.qp.Post([]fabric.WR{m.wr})
		t.wantPostError(m.what, n, err, 0, fabric.ErrInvalid)
		if tr == fabric.RC && m.wr.Op.Atomic() {
			continue
		}
		r := fabric.RecvWR{ID: p.b.id(), Local: m.wr.Local, More: m.wr.More}
		if m.what == "no destination" || m.what == "too much inline" || m.what == "inline READ" {
			continue // nothing wrong with such a receive
		}
		n, err = p.b.qp.PostRecv([]fabric.RecvWR{r})
		var pe *fabric.PostError
		if n != 0 || !errors.As(err, &pe) || pe.Index != 0 || !errors.Is(err, fabric.ErrInvalid) {
			t.Fatalf("receive with %s: PostRecv returned %d, %v", m.what, n, err)
		}
	}
	if s := p.b.qp.State(); s != fabric.StateReady {
		t.Fatalf("a mistake broke the queue pair: %v, %v", s, p.b.qp.Err())
	}
	p.quiet()
	p.sendOne(p.b, variant{size: 8, signaled: true}, "a message after the mistakes")
	p.sendOne(p.a, variant{size: 8, signaled: true}, "an answer after the mistakes")
}
