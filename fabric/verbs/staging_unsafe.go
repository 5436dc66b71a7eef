//go:build rdma

package verbs

// #include "shim.h"
import "C"

import (
	"syscall"
	"unsafe"

	"github.com/remora-kv/remora/internal/arena"
)

// The structures of the library, as shim.h asserts them. Addresses are
// integers, because they point outside the Go heap.
type (
	// sendWR is an ibv_send_wr. a to d are its union: address, key (one-sided);
	// address, compare or add, swap, key (atomics); address handle, number and
	// Q_Key of the destination (datagrams).
	sendWR struct {
		id, next, list uint64
		segs           int32
		opcode         uint32
		flags          uint32
		imm            uint32
		a, b, c        uint64
		d              uint32
		_              [60]byte
	}
	// recvWR is an ibv_recv_wr.
	recvWR struct {
		id, next, list uint64
		segs           int32
		_              uint32
	}
	// sge is an ibv_sge.
	sge struct {
		addr      uint64
		len, lkey uint32
	}
	// workCompletion is an ibv_wc.
	workCompletion struct {
		id             uint64
		status, opcode uint32
		vendor, bytes  uint32
		imm            uint32
		qpn, srcQPN    uint32
		flags          uint32
		_              [8]byte
	}
)

// The sizes that the arrays of the library are stepped through with.
const (
	_ = -uint(unsafe.Sizeof(sendWR{}) ^ 128)
	_ = -uint(unsafe.Sizeof(recvWR{}) ^ 32)
	_ = -uint(unsafe.Sizeof(sge{}) ^ 16)
	_ = -uint(unsafe.Sizeof(workCompletion{}) ^ 48)
	_ = -uint(unsafe.Offsetof(sendWR{}.imm) ^ 36)
	_ = -uint(unsafe.Offsetof(sendWR{}.b) ^ 48)
	_ = -uint(unsafe.Offsetof(sendWR{}.d) ^ 64)
	_ = -uint(unsafe.Offsetof(recvWR{}.segs) ^ 24)
	_ = -uint(unsafe.Offsetof(workCompletion{}.bytes) ^ 20)
	_ = -uint(unsafe.Offsetof(workCompletion{}.qpn) ^ 28)
)

const (
	// chainMax is how many requests one C call posts, batchMax how many
	// completions one C call polls.
	chainMax = 32
	batchMax = 64
)

// staging is memory outside the Go heap in which requests are prepared and
// completions delivered. It belongs to the owner of a completion queue.
type staging struct {
	block *arena.Block
	send  []sendWR
	recv  []recvWR
	segs  []sge // most per request
	done  []workCompletion
	most  int
	call  *C.struct_rm_post_call

	sendAddr, recvAddr, doneAddr, callAddr uintptr
}

// newStaging makes a staging area for requests of at most most segments. Requests are
// linked to their neighbours and segments once and for all.
func newStaging(a *arena.Arena, most int) (*staging, error) {
	const (
		sendBytes = chainMax * int(unsafe.Sizeof(sendWR{}))
		recvBytes = chainMax * int(unsafe.Sizeof(recvWR{}))
		doneBytes = batchMax * int(unsafe.Sizeof(workCompletion{}))
		callBytes = C.sizeof_struct_rm_post_call
	)
	segBytes := chainMax * most * int(unsafe.Sizeof(sge{}))
	b, err := a.Alloc("verbs staging", sendBytes+recvBytes+doneBytes+segBytes+callBytes)
	if err != nil {
		return nil, err
	}
	p := unsafe.Pointer(unsafe.SliceData(b.Bytes()))
	d := &staging{block: b, most: most}
	d.send = unsafe.Slice((*sendWR)(p), chainMax)
	d.sendAddr = uintptr(p)
	p = unsafe.Add(p, sendBytes)
	d.recv = unsafe.Slice((*recvWR)(p), chainMax)
	d.recvAddr = uintptr(p)
	p = unsafe.Add(p, recvBytes)
	d.done = unsafe.Slice((*workCompletion)(p), batchMax)
	d.doneAddr = uintptr(p)
	p = unsafe.Add(p, doneBytes)
	d.segs = unsafe.Slice((*sge)(p), chainMax*most)
	p = unsafe.Add(p, segBytes)
	d.call, d.callAddr = (*C.struct_rm_post_call)(p), uintptr(p)
	d.call.first, d.call.wc, d.call.room = C.uintptr_t(d.sendAddr), C.uintptr_t(d.doneAddr), batchMax
	for i := range chainMax {
		list := uint64(uintptr(unsafe.Pointer(&d.segs[i*most])))
		d.send[i].list, d.recv[i].list = list, list
		if i+1 < chainMax {
			d.send[i].next = uint64(uintptr(unsafe.Pointer(&d.send[i+1])))
			d.recv[i].next = uint64(uintptr(unsafe.Pointer(&d.recv[i+1])))
		}
	}
	return d, nil
}

func (d *staging) free() error { return d.block.Free() }

// postAndPoll is postSend of n requests and poll of a whole batch in one call.
func (q hwQP) postAndPoll(d *staging, n int, c hwCQ) (posted, got int, err syscall.Errno) {
	x := d.call
	x.qp, x.cq, x.n = C.uintptr_t(q), C.uintptr_t(c), C.int32_t(n)
	C.rm_post_and_poll(C.uintptr_t(d.callAddr))
	return int(x.posted), int(x.got), syscall.Errno(x.err)
}
