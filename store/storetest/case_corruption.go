package storetest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"

	"github.com/remora-kv/remora/store"
)

const (
	ruleCheck = "Check verifies all of them and reports a mismatch (ErrCorrupt)."
	ruleSum   = "Every item carries a checksum over its key, value and metadata."
)

func corruptionCases() []*testCase {
	return join(
		both("S7/item", ruleSum, corruptItem),
		both("S7/anywhere", ruleCheck, corruptAnywhere),
	)
}

// memoryOf returns the memory of a partition.
func (t *trial) memoryOf(tb *table) [][]byte {
	if t.engine.Memory == nil {
		t.skip("the engine does not show its memory")
	}
	return t.engine.Memory(tb.p)
}

// reported flips a bit and reports whether Check notices it, then flips it back if so.
func (tb *table) reported(mem []byte, i, bit int) bool {
	tb.Helper()
	mem[i] ^= 1 << bit
	err := tb.p.Check()
	if err == nil {
		return false
	}
	if !errors.Is(err, store.ErrCorrupt) {
		tb.Fatalf("Check of a partition with a flipped bit: %v does not wrap ErrCorrupt", err)
	}
	mem[i] ^= 1 << bit
	return true
}

// marked is an item whose parts can each be found in memory.
type marked struct {
	key, value []byte
	e          store.Entry
	version    uint64
}

// mark puts marked items into a new partition.
func mark(tb *table, n int) []marked {
	var all []marked
	for i := range uint64(n) {
		m := marked{key: pattern(1000+i, 21), value: pattern(2000+i, 77)}
		if most := tb.engine.OnePiece; most != 0 {
			m.value = m.value[:min(len(m.value), most-len(m.key))]
		}
		m.e = store.Entry{Value: m.value, Flags: 0xc0ffee00 + uint32(i), Expires: 0x0123456789abcd00 + int64(i)}
		m.version = tb.mustPutEntry(m.key, m.e)
		all = append(all, m)
	}
	return all
}

// corruptItem flips each bit of the parts of items.
func corruptItem(t *trial) {
	tb := t.open(memory(store.MinMemory), func(cfg *store.Config) { cfg.FirstVersion = 0x5a5b5c5d5e00 })
	for _, m := range mark(tb, max(t.times(8), 2)) {
		place := t.find(tb, "key", m.key)
		t.flipAll(tb, place, m.key, "key")
		t.flipAll(tb, t.find(tb, "value", m.value), m.value, "value")
		// The other parts are near the key, in one byte order or the other.
		for _, part := range []struct {
			name  string
			bytes []byte
		}{
			{"version", binary.LittleEndian.AppendUint64(nil, m.version)[:6]},
			{"version", binary.BigEndian.AppendUint64(nil, m.version)[2:]},
			{"expiry", binary.LittleEndian.AppendUint64(nil, uint64(m.e.Expires))},
			{"expiry", binary.BigEndian.AppendUint64(nil, uint64(m.e.Expires))},
			{"flags", binary.LittleEndian.AppendUint32(nil, m.e.Flags)},
			{"flags", binary.BigEndian.AppendUint32(nil, m.e.Flags)},
		} {
			from := max(0, place.at-128)
			near := place.mem[from:min(len(place.mem), place.at+len(m.key)+len(m.value)+128)]
			if at := bytes.Index(near, part.bytes); at >= 0 {
				t.flipAll(tb, spot{place.mem, from + at}, part.bytes, part.name)
			}
		}
	}
}

// spot is a place in memory.
type spot struct {
	mem []byte
	at  int
}

// find returns the place of a part of an item.
func (t *trial) find(tb *table, name string, part []byte) spot {
	t.Helper()
	for _, m := range t.memoryOf(tb) {
		if at := bytes.Index(m, part); at >= 0 {
			return spot{m, at}
		}
	}
	t.Fatalf("the %s of an item is not in the memory that Engine.Memory returns", name)
	return spot{}
}

// flipAll checks that Check notices each flipped bit.
func (t *trial) flipAll(tb *table, s spot, part []byte, name string) {
	t.Helper()
	for bit := range 8 * len(part) {
		if !tb.reported(s.mem, s.at+bit/8, bit%8) {
			t.Fatalf("Check does not notice that bit %d of the %s of an item was flipped", bit, name)
		}
	}
}

// anywhere returns a random place in memory; every other one is near an item.
func (t *trial) anywhere(tb *table, random *rand.Rand) spot {
	if tb.sync(); random.IntN(2) == 0 && len(tb.model.items) > 0 {
		all := tb.sorted()
		s := t.find(tb, "key", all[random.IntN(len(all))].key)
		s.at = min(max(0, s.at-80+random.IntN(400)), len(s.mem)-1)
		return s
	}
	mem := t.memoryOf(tb)
	m := mem[random.IntN(len(mem))]
	return spot{m, random.IntN(len(m))}
}

// corruptAnywhere flips bits in the whole memory of a partition in use. If Check does
// not report a bit, it must not matter: the bit stays flipped, and all results must
// stay right.
func corruptAnywhere(t *trial) {
	tb := t.open(memory(store.MinMemory))
	random := t.random(0)
	key := func() []byte { return numbered(random.IntN(60), 16) }
	noticed, unused := 0, 0
	flips := t.times(750)
	for i := range flips {
		for range 3 {
			tb.tryPut(key(), store.Entry{Value: pattern(uint64(i), random.IntN(600))}, store.Always())
			tb.get(key())
			tb.tryDel(key(), store.Always())
		}
		s := t.anywhere(tb, random)
		if tb.reported(s.mem, s.at, random.IntN(8)) {
			noticed++
			if err := tb.p.Check(); err != nil {
				t.Fatalf("Check still fails after the bit was flipped back: %v", err)
			}
		} else {
			unused++
			tb.sync()
		}
	}
	t.Logf("%d flips were noticed, %d had no effect", noticed, unused)
	if noticed < flips/10 {
		t.Fatalf("only %d of %d flips were noticed", noticed, flips)
	}
}
