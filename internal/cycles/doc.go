// Package cycles reads the time-stamp counter: a clock that costs a few
// nanoseconds where time.Now costs sixty, for measuring operations that are
// themselves that short.
//
// The counter is the TSC on amd64 and the virtual counter CNTVCT_EL0 on arm64;
// elsewhere it is the monotonic clock in nanoseconds. It counts at a constant
// rate and does not stop in idle states on any machine of the last decade
// (constant_tsc and nonstop_tsc in /proc/cpuinfo). Its value means nothing: only
// the difference of two readings does, and only with a Scale.
//
// Two limits. The CPU may execute Now earlier or later than the instructions
// around it, by some ten nanoseconds: it is not a serialising instruction. And
// counters of different sockets may be offset on machines without a synchronised
// TSC, so take both readings on one thread that is pinned, or accept that a
// difference can come out negative; Nanos clamps such a difference to zero.
//
// The cost of a reading is part of what it measures. Scale.Overhead says how
// much, and a report states it.
package cycles
