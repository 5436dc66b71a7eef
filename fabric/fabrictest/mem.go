package fabrictest

import (
	"bytes"
	"encoding/binary"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

// everything are all rights.
const everything = fabric.RemoteRead | fabric.RemoteWrite | fabric.RemoteAtomic

// mem is a region together with what should be in it. All of it is the guard
// at first. Local writes change both, remote ones are announced by expect, and
// verify compares every byte.
type mem struct {
	*fabric.Region
	t    *trial
	want []byte
	// shared: a peer may write while verify looks (S5).
	shared bool
}

// mem makes a region in a domain.
func (t *trial) mem(dom fabric.Domain, size int, access fabric.Access) *mem {
	t.Helper()
	r, err := dom.Alloc("fabrictest", size, access)
	t.must("Alloc", err)
	t.keepRegion(r)
	if len(r.Bytes()) != size {
		t.Fatalf("Alloc of %d bytes gave %d", size, len(r.Bytes()))
	}
	m := &mem{Region: r, t: t, want: guard.bytes(0, size)}
	copy(r.Bytes(), m.want)
	return m
}

// write puts the first n bytes of a pattern at off.
func (m *mem) write(off int, p pattern, n int) { m.put(off, p.bytes(0, n)) }

// put writes b at off.
func (m *mem) put(off int, b []byte) {
	copy(m.want[off:], b)
	if m.shared {
		fence.CopyOut(m.Bytes()[off:off+len(b)], b)
	} else {
		copy(m.Bytes()[off:off+len(b)], b)
	}
}

// putWord writes a word in the byte order of the host.
func (m *mem) putWord(off int, v uint64) {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], v)
	m.put(off, b[:])
}

// word reads a word in the byte order of the host.
func (m *mem) word(off int) uint64 {
	return binary.NativeEndian.Uint64(snapshot(m.Bytes()[off : off+8]))
}

// expect announces that an operation puts the first n bytes of a pattern at
// off.
func (m *mem) expect(off int, p pattern, n int) { p.fill(m.want[off:off+n], 0) }

// expectBytes announces that an operation puts b at off.
func (m *mem) expectBytes(off int, b []byte) { copy(m.want[off:], b) }

// ignore announces that n bytes at off may be anything.
func (m *mem) ignore(off, n int) { copy(m.want[off:off+n], snapshot(m.Bytes()[off:off+n])) }

// expectWord announces a word.
func (m *mem) expectWord(off int, v uint64) { binary.NativeEndian.PutUint64(m.want[off:], v) }

// reset makes all of it the guard again.
func (m *mem) reset() { m.put(0, guard.bytes(0, m.Len())) }

// verify checks every byte. It looks at memory plainly where completions have
// ordered it, so that the race detector can see whether they have.
func (m *mem) verify(what string) {
	m.t.Helper()
	var got []byte
	if m.shared {
		got = snapshot(m.Bytes())
	} else {
		got = bytes.Clone(m.Bytes())
	}
	if i := firstDifference(got, m.want); i >= 0 {
		m.t.Fatalf("%s: %s", what, explain(got, m.want, i))
	}
}

// holds reports whether the first n bytes of a pattern are at off.
func (m *mem) holds(off int, p pattern, n int) bool {
	return p.match(snapshot(m.Bytes()[off:off+n]), 0)
}
