package onesided

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/store"
)

const (
	directoryMagic = 0x52494431 // "1DIR"
	directoryHead  = 16
	tableHead      = 8
	areaSize       = 24

	// maxTables bounds the partitions of a server, maxDirectory the bytes that describe them.
	maxTables    = 1024
	maxDirectory = directoryHead + maxTables*(tableHead+store.MaxLayout+store.MaxAreas*areaSize)
)

// area is memory of a server as its clients know it.
type area struct {
	remote fabric.Remote
	size   int64
	adds   bool // FETCH_ADD is allowed
}

// table describes a partition to a client.
type table struct {
	layout []byte
	areas  []area
}

// directory describes the memory that a server exports.
type directory struct {
	instance uint64
	tables   []table
}

func (d *directory) bytes() []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, directoryMagic)
	b = le.AppendUint32(b, uint32(len(d.tables)))
	b = le.AppendUint64(b, d.instance)
	for i := range d.tables {
		t := &d.tables[i]
		b = le.AppendUint16(b, uint16(len(t.layout)))
		b = le.AppendUint16(b, uint16(len(t.areas)))
		b = le.AppendUint32(b, 0)
		b = append(b, t.layout...)
		b = append(b, make([]byte, padded(len(t.layout))-len(t.layout))...)
		for _, a := range t.areas {
			b = le.AppendUint64(b, a.remote.Addr)
			b = le.AppendUint64(b, uint64(a.size))
			b = le.AppendUint32(b, a.remote.Key)
			adds := uint32(0)
			if a.adds {
				adds = 1
			}
			b = le.AppendUint32(b, adds)
		}
	}
	return b
}

// padded rounds up to words.
func padded(n int) int { return (n + 7) &^ 7 }

// parseDirectory decodes a directory (O4).
func parseDirectory(b []byte) (*directory, error) {
	le := binary.LittleEndian
	if len(b) < directoryHead || le.Uint32(b) != directoryMagic {
		return nil, fmt.Errorf("onesided: malformed directory: %w", rpc.ErrProtocol)
	}
	n := le.Uint32(b[4:])
	if n > maxTables {
		return nil, fmt.Errorf("onesided: a directory of %d tables: %w", n, rpc.ErrProtocol)
	}
	d := &directory{instance: le.Uint64(b[8:])}
	b = b[directoryHead:]
	for i := range n {
		var t table
		if t, b = parseTable(b); b == nil {
			return nil, fmt.Errorf("onesided: table %d of %d in the directory is wrong: %w", i, n, rpc.ErrProtocol)
		}
		d.tables = append(d.tables, t)
	}
	return d, nil
}

// parseTable reads a table and returns what is behind it, nil if there is none.
func parseTable(b []byte) (t table, rest []byte) {
	le := binary.LittleEndian
	if len(b) < tableHead {
		return t, nil
	}
	layout, areas := int(le.Uint16(b)), int(le.Uint16(b[2:]))
	b = b[tableHead:]
	if layout > store.MaxLayout || areas > store.MaxAreas || len(b) < padded(layout)+areas*areaSize {
		return t, nil
	}
	t.layout = append([]byte{}, b[:layout]...)
	b = b[padded(layout):]
	for range areas {
		a := area{
			remote: fabric.Remote{Addr: le.Uint64(b), Key: le.Uint32(b[16:])},
			size:   int64(le.Uint64(b[8:])), adds: le.Uint32(b[20:]) == 1,
		}
		if a.size < 0 || a.remote.Addr+uint64(a.size) < a.remote.Addr {
			return t, nil
		}
		t.areas = append(t.areas, a)
		b = b[areaSize:]
	}
	return t, b
}

// has reports whether a span is wholly inside the area.
func (a *area) has(off int64, n int) bool {
	return off >= 0 && n > 0 && off <= a.size && int64(n) <= a.size-off
}

// counts reports whether a span is a word that can be added to.
func (t *table) counts(s store.Span) bool {
	if s.Area < 0 || s.Area >= len(t.areas) || s.Off&7 != 0 || s.Len != wordSize {
		return false
	}
	a := &t.areas[s.Area]
	return a.adds && a.has(s.Off, s.Len)
}
