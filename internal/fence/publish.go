package fence

import "sync/atomic"

// Announce64 stores v and orders the store before every later load of this
// thread (F2). Use it for "publish, then look whether the other side sleeps".
func Announce64(p *atomic.Uint64, v uint64) { announce64(p, v) }

// Announce32 is Announce64 for 32 bits.
func Announce32(p *atomic.Uint32, v uint32) { p.Store(v) }

// Observe64 loads with acquire ordering (F1).
func Observe64(p *atomic.Uint64) uint64 { return observe64(p) }
