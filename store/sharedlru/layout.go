package sharedlru

import "github.com/remora-kv/remora/store"

// Chunks, and the offsets of their fields (see the package doc).
const (
	chunkSize = 128

	atNext      = 0
	atKind      = 4
	atHeadSum   = 8
	atBodySum   = 12
	atVersion   = 16 // 48 bits, then 16 bits length of the key
	atExpires   = 24
	atHash      = 32
	atFlags     = 40
	atValueSize = 44
	atNewer     = 48
	atOlder     = 52
	atRowNext   = 56
	atRowBefore = 60
	atHeadBody  = 64

	atBody = 8

	headRoom = chunkSize - atHeadBody
	bodyRoom = chunkSize - atBody
)

// overhead is reserved for the Table and its handles, which are on the Go heap (H2).
const overhead = 4 << 10

// maxMemory keeps the number of chunks within 32 bits.
const maxMemory = 1 << 38

// bucketSize is the length of a bucket: the number of a chunk. There are half as many
// buckets as chunks, so a row has two items when the memory is full of the shortest.
const bucketSize = 4

// sizes is how split divides the memory of a table.
type sizes struct {
	view   int    // of each handle
	chunks uint32 // number 0 included
}

// split divides the memory. A view holds the longest possible item, but leaves half of
// the memory to items (H2).
func split(cfg *store.Config, handles int) sizes {
	view := min(int64(cfg.MaxValue)+store.MaxKey, cfg.Memory/int64(2*handles+2))
	usable := cfg.Memory - overhead - view*int64(handles)
	return sizes{view: int(view), chunks: 2 * uint32(usable/(2*chunkSize+bucketSize))}
}

// chunksFor returns how many chunks an item needs whose key and value have n bytes.
func chunksFor(n int) uint32 {
	if n <= headRoom {
		return 1
	}
	return 1 + uint32((n-headRoom+bodyRoom-1)/bodyRoom)
}
