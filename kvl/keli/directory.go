package keli

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/crc32c"
	"github.com/remora-kv/remora/kvl"
)

const (
	directoryMagic = 0x5249444B // "KDIR"
	directoryHead  = 24
	areaSize       = 24

	// maxAreas bounds the areas of an image, and maxDirectory the length of its directory.
	maxAreas     = 1 << 20
	maxSchema    = 1 << 25
	maxDirectory = directoryHead + maxAreas*areaSize + maxSchema
)

// area is an area in the memory of a server.
type area struct {
	remote fabric.Remote
	size   int64
}

// has reports whether a record is wholly inside the area.
func (a *area) has(off int64, n int) bool {
	return off >= 0 && n > 0 && off <= a.size && int64(n) <= a.size-off
}

// directory describes a generation to clients.
type directory struct {
	generation uint64
	areas      []area
	schema     []byte
}

func (d *directory) bytes() []byte {
	le := binary.LittleEndian
	b := make([]byte, 4, directoryHead+len(d.areas)*areaSize+len(d.schema))
	b = le.AppendUint32(b, directoryMagic)
	b = le.AppendUint64(b, d.generation)
	b = le.AppendUint32(b, uint32(len(d.areas)))
	b = le.AppendUint32(b, uint32(len(d.schema)))
	for i := range d.areas {
		b = le.AppendUint64(b, d.areas[i].remote.Addr)
		b = le.AppendUint64(b, uint64(d.areas[i].size))
		b = le.AppendUint64(b, uint64(d.areas[i].remote.Key))
	}
	b = append(b, d.schema...)
	le.PutUint32(b, crc32c.Checksum(b[4:]))
	return b
}

// parseDirectory decodes and checks what was READ (E7). The schema is a part of b.
func parseDirectory(b []byte, generation uint64) (*directory, error) {
	le := binary.LittleEndian
	if len(b) < directoryHead || le.Uint32(b[4:]) != directoryMagic || le.Uint32(b) != crc32c.Checksum(b[4:]) {
		return nil, fmt.Errorf("keli: malformed directory (%d bytes): %w", len(b), kvl.ErrCorrupt)
	}
	d := &directory{generation: le.Uint64(b[8:])}
	areas, schema := int64(le.Uint32(b[16:])), int64(le.Uint32(b[20:]))
	if d.generation != generation || areas > maxAreas || directoryHead+areas*areaSize+schema != int64(len(b)) {
		return nil, fmt.Errorf("keli: directory of generation %d with %d areas and a schema of %d bytes in %d bytes, want generation %d: %w",
			d.generation, areas, schema, len(b), generation, kvl.ErrCorrupt)
	}
	b = b[directoryHead:]
	d.areas = make([]area, areas)
	for i := range d.areas {
		a := area{remote: fabric.Remote{Addr: le.Uint64(b), Key: le.Uint32(b[16:])}, size: int64(le.Uint64(b[8:]))}
		if a.size < 0 || a.remote.Addr+uint64(a.size) < a.remote.Addr {
			return nil, fmt.Errorf("keli: area %d of the directory is %d bytes at %#x: %w", i, a.size, a.remote.Addr, kvl.ErrCorrupt)
		}
		d.areas[i], b = a, b[areaSize:]
	}
	d.schema = b
	return d, nil
}
