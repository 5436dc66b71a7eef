//go:build rdma

package verbs

// #include "shim.h"
import "C"

// repeatPost posts the first n requests of a desk so many times in one call of
// C, for benchmarks.
func repeatPost(q hwQP, d *desk, n, times int) {
	C.rm_repeat_post(C.uintptr_t(q), C.uintptr_t(d.sendAddr), C.int32_t(n), C.int32_t(times))
}

// repeatPoll polls for n completions so many times in one call of C, and
// returns how many there were.
func repeatPoll(c hwCQ, d *desk, n, times int) int {
	return int(C.rm_repeat_poll(C.uintptr_t(c), C.int32_t(n), C.uintptr_t(d.doneAddr), C.int32_t(times)))
}
