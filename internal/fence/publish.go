package fence

import "sync/atomic"

// Publish64 stores v so that all earlier loads and stores of this thread are
// ordered before it (F1). It is not ordered against later loads: see Announce64.
func Publish64(p *atomic.Uint64, v uint64) {
	orderStores()
	publish64(p, v)
}

// PublishByte stores one byte with release ordering (F1).
func PublishByte(p *byte, v byte) {
	orderStores()
	publishByte(p, v)
}

// Announce64 stores v and orders the store before every later load of this
// thread (F2). Use it for "publish, then look whether the other side sleeps".
func Announce64(p *atomic.Uint64, v uint64) {
	orderStores()
	announce64(p, v)
	orderAll()
}

// Announce32 is Announce64 for 32 bits that no adapter accesses.
func Announce32(p *atomic.Uint32, v uint32) { p.Store(v) }

// Observe64 loads with acquire ordering (F1).
func Observe64(p *atomic.Uint64) uint64 {
	v := observe64(p)
	orderLoads()
	return v
}

// ObserveByte loads one byte with acquire ordering (F1).
func ObserveByte(p *byte) byte {
	v := observeByte(p)
	orderLoads()
	return v
}
