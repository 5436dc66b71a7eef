//go:build !amd64 && !race

package fence

import "sync/atomic"

func publish64(p *atomic.Uint64, v uint64) { p.Store(v) }

// Publish32 is Publish64 for 32 bits that no adapter accesses.
func Publish32(p *atomic.Uint32, v uint32) { p.Store(v) }

// Count adds n to a counter that only this thread writes; others read it with
// Load. Concurrent writers lose increments, nothing worse.
func Count(p *atomic.Uint64, n uint64) { p.Store(p.Load() + n) }

func announce64(p *atomic.Uint64, v uint64) { p.Store(v) }

func observe64(p *atomic.Uint64) uint64 { return p.Load() }
