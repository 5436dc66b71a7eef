//go:build rdma

package verbs

import (
	"fmt"
	"math/bits"
	"syscall"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

// ready prepares a queue pair that may be broken for a post.
func (q *QP) prepare() error {
	switch q.State() {
	case fabric.StateReady:
		return nil
	case fabric.StateError:
		q.settle()
	case fabric.StateClosed:
	}
	if q.State() == fabric.StateClosed || q.hw == 0 {
		return fmt.Errorf("fabric: queue pair %d: %w", q.num, fabric.ErrClosed)
	}
	return nil
}

// Post implements fabric.QP.
func (q *QP) Post(wrs []fabric.WR) (int, error) {
	if !q.Ready() {
		if err := q.prepare(); err != nil {
			return 0, err
		}
	}
	for n := 0; ; {
		k, err := q.fill(wrs[n:], n)
		if k > 0 {
			posted, errno := q.give(k)
			n += posted
			if errno != 0 {
				return n, q.refused(errno)
			}
		}
		if err != nil || n == len(wrs) {
			return n, err
		}
	}
}

// give hands the first k requests of the staging area to the adapter and counts those
// that it has taken. Completions that are there come along for the next Poll,
// because half of what either costs is the call into C. They do not while a
// waiter is about to sleep, and not when there are some already.
func (q *QP) give(k int) (posted int, errno syscall.Errno) {
	if q.dev.quirks.SilentTarget {
		fence.Publish64(&q.stats.posted, q.sendPosted+uint64(k))
	}
	c := q.send
	if c.ahead != c.aheadEnd || c.Asleep.Load() != 0 {
		posted, errno = q.hw.postSend(c.staging, k)
	} else {
		posted, c.aheadEnd, errno = q.hw.postAndPoll(c.staging, k, c.hw.cq)
		c.ahead = 0
	}
	q.sendPosted += uint64(posted)
	if q.rnr.limit != 0 && !q.isTimed {
		q.isTimed, q.waiting = true, 0
		c.timed = append(c.timed, q)
	}
	return posted, errno
}

// fill writes requests to the staging area, as many as fit there and are right, and
// returns their number. before is how many of the chain came before.
func (q *QP) fill(wrs []fabric.WR, before int) (int, error) {
	slot := q.sendPosted
	room := q.sendDepth - (slot - q.sendRetired)
	n := min(len(wrs), chainMax, int(room))
	for i := range n {
		w := &wrs[i]
		err := fabric.ValidateWR(w, q.transport, q.domain, &q.lim)
		if err == nil {
			err = q.write(i, slot, w)
		}
		if err != nil {
			return i, &fabric.PostError{Index: before + i, Err: err}
		}
		slot++
	}
	if n == len(wrs) || n == chainMax {
		return n, nil
	}
	return n, fabric.ErrQueueFull
}

// write writes request i of the staging area, which will be in the given slot.
func (q *QP) write(i int, slot uint64, w *fabric.WR) error {
	d := q.send.staging
	x := &d.send[i]
	total := w.Local.Len
	if total != 0 && len(w.More) == 0 {
		d.segs[i*d.most].set(&w.Local)
		x.segs = 1
	} else {
		x.segs, total = d.gather(i, &w.Local, w.More)
	}
	x.id = q.sendID | slot&slotMask
	x.opcode = opcodes[w.Op]
	x.flags = sendFlags[w.Flags&7] | q.always
	switch w.Op {
	case fabric.OpSend:
		if q.transport == fabric.UD {
			h, ok := w.To.(*handle)
			if !ok || h.domain != q.domain || h.hw == 0 {
				return fmt.Errorf("datagram to a destination that is closed or of another domain: %w", fabric.ErrInvalid)
			}
			x.a, x.b = uint64(h.hw), h.dest
			fence.Count(&h.sent, 1)
		}
	case fabric.OpFetchAdd:
		x.a, x.b, x.d = w.Remote.Addr, w.Operand, w.Remote.Key
	case fabric.OpCmpSwap:
		x.a, x.b, x.c, x.d = w.Remote.Addr, w.Compare, w.Operand, w.Remote.Key
	case fabric.OpWriteImm:
		x.imm = bits.ReverseBytes32(w.Imm)
		x.a, x.b = w.Remote.Addr, uint64(w.Remote.Key)
	default:
		x.a, x.b = w.Remote.Addr, uint64(w.Remote.Key)
	}
	q.sends[slot&q.sendMask] = sendSlot{id: w.ID, bytes: uint32(total), op: w.Op, flags: w.Flags}
	return nil
}

// sendFlags are the library's flags for each combination of the contract's.
var sendFlags = [8]uint32{
	fabric.FlagSignaled:                                            sendSignaled,
	fabric.FlagInline:                                              sendInline,
	fabric.FlagSignaled | fabric.FlagInline:                        sendSignaled | sendInline,
	fabric.FlagSolicited:                                           sendSolicited,
	fabric.FlagSolicited | fabric.FlagSignaled:                     sendSolicited | sendSignaled,
	fabric.FlagSolicited | fabric.FlagInline:                       sendSolicited | sendInline,
	fabric.FlagSolicited | fabric.FlagSignaled | fabric.FlagInline: sendSolicited | sendSignaled | sendInline,
}

// gather writes the segments of request i and returns their number and length.
// Empty ones are left out: adapters take a length of 0 for 2^31.
func (d *staging) gather(i int, first *fabric.Seg, more []fabric.Seg) (n int32, total int) {
	list := d.segs[i*d.most : (i+1)*d.most]
	if first.Len != 0 {
		list[0].set(first)
		n, total = 1, first.Len
	}
	for k := range more {
		if s := &more[k]; s.Len != 0 {
			list[n].set(s)
			n++
			total += s.Len
		}
	}
	return n, total
}

func (s *sge) set(seg *fabric.Seg) {
	r := seg.Region.Provider().(*region) //lint:ignore errcheck its domain is of this package
	// A receive may be longer than any message.
	s.addr, s.len, s.lkey = r.addr+uint64(seg.Off), uint32(min(seg.Len, 1<<31-1)), r.lkey
}

// refused says that the adapter does not take a request that is right.
func (q *QP) refused(errno syscall.Errno) error {
	if errno == syscall.ENOMEM || errno == syscall.EAGAIN {
		return fmt.Errorf("fabric: queue pair %d: the adapter's queue: %w", q.num, fabric.ErrQueueFull)
	}
	return fmt.Errorf("fabric: queue pair %d: the adapter refused a request: %w: %w", q.num, errno, fabric.ErrInvalid)
}
