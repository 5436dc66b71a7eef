package hopscotch

import (
	"math/bits"

	"github.com/zeebo/xxh3"

	"github.com/remora-kv/remora/store/internal/extent"
)

// sum returns the checksum of a record and the link beside it. The seed is that of the
// table.
func sum(r extent.Record, seed uint64, beside link) uint64 {
	const odd, other = 0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f
	mixed := (r.Word^seed)*odd ^ bits.RotateLeft64(uint64(beside)*other, 32)
	return xxh3.HashSeed(r.Body[:r.Size()], mixed)
}
