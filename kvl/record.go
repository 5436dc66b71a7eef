package kvl

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/internal/crc32c"
)

// Offsets of the parts of a record, and sizes.
const (
	offChecksum   = 0
	offLength     = 4
	offGeneration = 8
	offKind       = 16
	offFormat     = 17
	offType       = 18
	offCount      = 20
	offKeyLen     = 22
	headerSize    = 24

	entrySize    = 8
	listHead     = 8 + LinkSize // total and the link to the first chunk
	chunkHead    = headerSize + LinkSize
	recordFormat = 1
)

// recordKind distinguishes items and chunks.
type recordKind uint8

const (
	itemRecord  recordKind = 1
	chunkRecord recordKind = 2
)

// ChunkLinks is the largest number of links of a chunk.
const ChunkLinks = 100

// MaxRecord is the length of the longest record.
const MaxRecord = 1<<32 - 8

// pad8 returns n rounded up to a multiple of 8.
func pad8[T int | int64 | uint64](n T) T { return (n + 7) &^ 7 }

// putHeader writes a header without its checksum, which closeRecord adds.
func putHeader(b []byte, generation uint64, kind recordKind, typ uint16, count, keyLen int) {
	_ = b[headerSize-1]
	binary.LittleEndian.PutUint32(b[offLength:], uint32(len(b)))
	binary.LittleEndian.PutUint64(b[offGeneration:], generation)
	b[offKind], b[offFormat] = byte(kind), recordFormat
	binary.LittleEndian.PutUint16(b[offType:], typ)
	binary.LittleEndian.PutUint16(b[offCount:], uint16(count))
	binary.LittleEndian.PutUint16(b[offKeyLen:], uint16(keyLen))
}

// closeRecord writes the checksum of a record that is otherwise complete (K1).
func closeRecord(b []byte) {
	binary.LittleEndian.PutUint32(b[offChecksum:], crc32c.Checksum(b[offLength:]))
}

// checkRecord verifies the header and the checksum of a record that was read by a link
// (K1).
func checkRecord(b []byte, l Link, generation uint64, kind recordKind) error {
	switch {
	case len(b) < headerSize || len(b) != l.Len() || len(b)%8 != 0:
		return fmt.Errorf("%w: malformed record: %d bytes were read by link %v", ErrCorrupt, len(b), l)
	case binary.LittleEndian.Uint32(b[offLength:]) != uint32(len(b)):
		return fmt.Errorf("%w: the record says that it has %d bytes, unlike link %v",
			ErrCorrupt, binary.LittleEndian.Uint32(b[offLength:]), l)
	case binary.LittleEndian.Uint64(b[offGeneration:]) != generation || !l.Of(generation):
		return fmt.Errorf("%w: a record of generation %d was read by link %v in generation %d",
			ErrCorrupt, binary.LittleEndian.Uint64(b[offGeneration:]), l, generation)
	case b[offFormat] != recordFormat || recordKind(b[offKind]) != kind:
		return fmt.Errorf("%w: a record of kind %d, format %d was read by link %v, want kind %d, format %d",
			ErrCorrupt, b[offKind], b[offFormat], l, kind, recordFormat)
	case binary.LittleEndian.Uint32(b[offChecksum:]) != crc32c.Checksum(b[offLength:]):
		return fmt.Errorf("%w: the record at link %v does not match its checksum", ErrCorrupt, l)
	}
	return nil
}
