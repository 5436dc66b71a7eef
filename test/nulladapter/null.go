//go:build rdma

package nulladapter

// #include "null.h"
import "C"

import "errors"

// Adapter is a queue pair and a completion queue.
type Adapter struct{ queues C.struct_null_queues }

// New makes an adapter.
func New() (*Adapter, error) {
	a := &Adapter{queues: C.null_open()}
	if a.queues.qp == 0 {
		return nil, errors.New("nulladapter: out of memory")
	}
	return a, nil
}

// QP returns the handle of the queue pair.
func (a *Adapter) QP() uintptr { return uintptr(a.queues.qp) }

// CQ returns the handle of the completion queue.
func (a *Adapter) CQ() uintptr { return uintptr(a.queues.cq) }

// Close frees both.
func (a *Adapter) Close() { C.null_close(a.queues.cq) }

// Complete makes the next polls find n completions from the given wr_id on, or, if n is negative, one
// for every request that is posted.
func (a *Adapter) Complete(id uint64, n int) {
	C.null_complete(a.queues.cq, C.uint64_t(id), C.int32_t(n))
}

// CallNothing costs what a call through cgo costs.
func CallNothing(x, y uintptr, n int) {
	C.null_nothing(C.uintptr_t(x), C.uintptr_t(y), C.int32_t(n))
}

// RepeatPost posts n requests at first times over in one call: what a program in C pays.
func RepeatPost(qp, first uintptr, n, times int) {
	C.null_repeat_post(C.uintptr_t(qp), C.uintptr_t(first), C.int32_t(n), C.int32_t(times))
}

// RepeatPoll polls for n completions times over in one call and returns how many there were.
func RepeatPoll(cq uintptr, n int, done uintptr, times int) int {
	return int(C.null_repeat_poll(C.uintptr_t(cq), C.int32_t(n), C.uintptr_t(done), C.int32_t(times)))
}
