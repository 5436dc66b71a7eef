//go:build race

package fence

import (
	"sync/atomic"
	"unsafe"
)

func publish64(p *atomic.Uint64, v uint64) { announce64(p, v) }

// Publish32 is Publish64 for 32 bits that no adapter accesses.
func Publish32(p *atomic.Uint32, v uint32) { p.Store(v) }

// Count adds n to a counter that only this thread writes; others read it with
// Load. Concurrent writers lose increments, nothing worse.
func Count(p *atomic.Uint64, n uint64) { p.Store(p.Load() + n) }

// announce64 releases on the upper half first, so that a reader that sees a byte of v
// there finds the release already made.
func announce64(p *atomic.Uint64, v uint64) {
	upperHalf(p).Add(0)
	p.Store(v)
}

// observe64 acquires from the writer of either half.
func observe64(p *atomic.Uint64) uint64 {
	v := p.Load()
	upperHalf(p).Load()
	return v
}

// upperHalf is the 4-byte word at p+4, where the race detector keeps the clock
// of 4-byte and byte accesses to that half.
func upperHalf(p *atomic.Uint64) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Add(unsafe.Pointer(p), 4))
}
