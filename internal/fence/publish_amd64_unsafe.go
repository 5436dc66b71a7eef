//go:build amd64 && !race

package fence

import (
	"sync/atomic"
	"unsafe"
)

// The plain stores below address the value inside a typed atomic.
var (
	_ [8 - unsafe.Sizeof(atomic.Uint64{})]struct{}
	_ [unsafe.Sizeof(atomic.Uint64{}) - 8]struct{}
	_ [4 - unsafe.Sizeof(atomic.Uint32{})]struct{}
	_ [unsafe.Sizeof(atomic.Uint32{}) - 4]struct{}
)

func publish64(p *atomic.Uint64, v uint64) {
	compilerBarrier()
	*(*uint64)(unsafe.Pointer(p)) = v
	compilerBarrier()
}

// Publish32 is Publish64 for 32 bits that no adapter accesses.
func Publish32(p *atomic.Uint32, v uint32) {
	compilerBarrier()
	*(*uint32)(unsafe.Pointer(p)) = v
	compilerBarrier()
}

// Count adds n to a counter that only this thread writes; others read it with
// Load. Concurrent writers lose increments, nothing worse.
func Count(p *atomic.Uint64, n uint64) {
	*(*uint64)(unsafe.Pointer(p)) += n
}

func announce64(p *atomic.Uint64, v uint64) { p.Store(v) }

func observe64(p *atomic.Uint64) uint64 { return p.Load() }
