package keli

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/crc32c"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/kvl"
)

const (
	superblockSize = 64
	superblockSum  = 48 // what the checksum covers

	minLease = time.Millisecond
	maxLease = 24 * time.Hour
)

// superblock is the content of a superblock.
type superblock struct {
	generation uint64
	directory  fabric.Remote
	length     int // of the directory
	lease      time.Duration
	instance   uint64
}

func (b *superblock) put(p *[superblockSize]byte) {
	le := binary.LittleEndian
	le.PutUint64(p[0:], b.generation)
	le.PutUint64(p[8:], b.directory.Addr)
	le.PutUint32(p[16:], b.directory.Key)
	le.PutUint32(p[20:], uint32(b.length))
	le.PutUint64(p[24:], uint64(b.lease))
	le.PutUint64(p[32:], b.instance)
	le.PutUint64(p[40:], 0)
	le.PutUint64(p[superblockSum:], uint64(crc32c.Checksum(p[:superblockSum])))
	le.PutUint64(p[56:], b.generation)
}

// publish writes the superblock where clients READ it. A READ may see its words in any order.
func (b *superblock) publish(mem []byte) {
	var p [superblockSize]byte
	b.put(&p)
	fence.CopyOut(mem[:superblockSize], p[:])
}

// errChanging: the superblock was READ while it changed, and has to be READ again.
var errChanging = errors.New("keli: superblock is being written")

// parseSuperblock decodes and checks what was READ (E7).
func parseSuperblock(p []byte) (b superblock, err error) {
	le := binary.LittleEndian
	if len(p) != superblockSize {
		return b, fmt.Errorf("keli: superblock of %d bytes: %w", len(p), kvl.ErrCorrupt)
	}
	b = superblock{
		generation: le.Uint64(p),
		directory:  fabric.Remote{Addr: le.Uint64(p[8:]), Key: le.Uint32(p[16:])},
		length:     int(le.Uint32(p[20:])),
		lease:      time.Duration(le.Uint64(p[24:])),
		instance:   le.Uint64(p[32:]),
	}
	switch {
	case b.generation != le.Uint64(p[56:]), le.Uint64(p[superblockSum:]) != uint64(crc32c.Checksum(p[:superblockSum])):
		return b, errChanging
	case b.generation == 0:
		return b, ErrEmpty
	case b.length < directoryHead || b.length > maxDirectory || b.lease < minLease || b.lease > maxLease:
		return b, fmt.Errorf("keli: superblock names a directory of %d bytes and a lease of %v: %w", b.length, b.lease, ErrProtocol)
	}
	return b, nil
}
