package cuckoo

import (
	"encoding/binary"
	"errors"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

// DefaultItem is the length of key and value that New expects: 16 and 32 bytes, the
// papers' workload.
const DefaultItem = 48

// The index has bucketsPer buckets for itemsPer items of the expected length: Pilaf's
// fill of 75 %.
const (
	itemsPer   = 3
	bucketsPer = 4
)

// overhead is reserved for the Table itself, which is on the Go heap (C1).
const overhead = 4 << 10

// maxMemory is the memory that the offset in an entry can address.
const maxMemory = extent.Unit << offsetBits

// maxItem is the length of the longest block that an entry can name and a Finder reads.
const maxItem = (atKey + store.MaxKey + store.MaxValueLimit + extent.Unit - 1) &^ (extent.Unit - 1)

var _ [1<<lengthBits - maxItem/extent.Unit]struct{} // it fits into an entry

// split divides the memory of a partition into buckets and item memory.
func split(memory int64, itemBytes int) (buckets, itemMemory uint64) {
	usable := uint64(memory) - overhead
	group := itemsPer*blockSize(itemBytes, 0) + bucketsPer*bucketSize
	buckets = min(maxBuckets, max(choices, usable*bucketsPer/group))
	return buckets, usable - buckets*bucketSize
}

// Areas of the export.
const (
	indexArea = iota
	itemArea
)

// layout describes a table to a Finder.
type layout struct {
	hashing
	itemMemory uint64
}

// layoutMagic begins a layout; it is changed whenever the layout changes.
const layoutMagic = 0x32306f6f6b637563 // "cuckoo02"

// layoutSize is the length of an encoded layout.
const layoutSize = 32

func (l *layout) encode() []byte {
	b := make([]byte, 0, layoutSize)
	for _, word := range []uint64{layoutMagic, l.buckets, l.salt, l.itemMemory} {
		b = binary.LittleEndian.AppendUint64(b, word)
	}
	return b
}

// errLayout reports that the bytes from the server are not a layout of this version.
var errLayout = errors.New("cuckoo: the layout is not that of a cuckoo table: client and server may be of different versions")

// parseLayout reads a layout from a server, which may be any bytes.
func parseLayout(b []byte) (l layout, err error) {
	if len(b) != layoutSize || binary.LittleEndian.Uint64(b) != layoutMagic {
		return l, errLayout
	}
	l.buckets = binary.LittleEndian.Uint64(b[8:])
	l.salt = binary.LittleEndian.Uint64(b[16:])
	l.itemMemory = binary.LittleEndian.Uint64(b[24:])
	if l.buckets < choices || l.buckets > maxBuckets || l.itemMemory > maxMemory {
		return l, errLayout
	}
	return l, nil
}
