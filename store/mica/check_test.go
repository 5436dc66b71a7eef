package mica

import (
	"errors"
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/scale"
)

// checkRig has a few items of all kinds, a bucket with overflow lines, dead items,
// and a wrapped log.
func checkRig(t *testing.T, with func(*store.Config)) *rig {
	r := newRig(t, with, memory(store.MinMemory))
	r.collide(func(plain uint64) uint64 { return plain &^ 0xf })
	for i := range 2000 {
		e := store.Entry{Value: pattern(uint64(i), i%50)}
		if i%3 == 0 {
			e.Flags = uint32(i)
		}
		if i%5 == 0 {
			e.Expires = 1 << 40
		}
		_, _ = r.Put(r.key(numbered(i%300, 16)), e, store.Always(), 1)
		if i%7 == 0 {
			_ = r.Delete(r.key(numbered(i%300/2, 16)), store.Always(), 1)
		}
		_, _ = r.Get(r.key(numbered(i%11, 16)), 1)
	}
	if r.spill == 0 || r.stats.Items == 0 {
		t.Fatalf("%d overflow lines, %d items", r.spill, r.stats.Items)
	}
	return r
}

// Check notices any flipped bit in what the table uses, except the bit that marks
// an item as used.
func TestCheckNoticesFlips(t *testing.T) {
	eachMode(t, func(t *testing.T, with func(*store.Config)) {
		r := checkRig(t, with)
		r.check()
		flip := func(at, bit int) {
			r.mem[at] ^= 1 << bit
			if err := r.Check(); !errors.Is(err, store.ErrCorrupt) {
				t.Fatalf("Check does not notice bit %d at %d: %v", bit, at, err)
			}
			r.mem[at] ^= 1 << bit
		}
		step := 61
		if scale.Race {
			step = 997
		}
		for _, span := range r.ring.spans() {
			r.eachByteOf(span, func(at, inItem int) {
				for bit := range 8 {
					if inItem == stateAt && 1<<bit == stateUsed || (at*8+bit)%step != 0 {
						continue
					}
					flip(at, bit)
				}
			})
		}
		for at := r.bottom(); at < len(r.mem); at++ {
			for bit := range 8 {
				if (at*8+bit)%step == 0 {
					flip(at, bit)
				}
			}
		}
		r.check()
	})
}

// eachByteOf visits the bytes of all items of a span, with their offsets in
// the item.
func (r *rig) eachByteOf(span [2]int, visit func(at, inItem int)) {
	for at := span[0]; at < span[1]; {
		size := r.sizeOf(r.metaOf(at))
		for i := range size {
			visit(at+i, i)
		}
		at += size
	}
}

// Check notices an entry too many, too few, and two of the same key.
func TestCheckNoticesEntries(t *testing.T) {
	changes := map[string]func(r *rig, s slot){
		"lost":       func(r *rig, s slot) { r.Table.remove(s) },
		"moved":      func(r *rig, s slot) { r.lineAt(s.line).setPosition(s.i, r.position(s.at)+1) },
		"other tag":  func(r *rig, s slot) { r.lineAt(s.line)[s.i]++ },
		"nothing":    func(r *rig, s slot) { r.lineAt(s.line).set(s.i, 0, 0) },
		"reserved":   func(r *rig, s slot) { r.lineAt(s.line).setPosition(s.i, reserved) },
		"dead item":  func(r *rig, s slot) { r.mem[s.at+stateAt] &^= stateLive },
		"no line":    func(r *rig, _ slot) { r.spill-- },
		"more lines": func(r *rig, _ slot) { *r.line(r.lines()) = line{}; r.spill++ },
		"counts":     func(r *rig, _ slot) { r.stats.KeyBytes++ },
		"dead bytes": func(r *rig, _ slot) { r.ring.dead += 8 },
		"versions":   func(r *rig, _ slot) { r.version = 5 },
		"twice": func(r *rig, s slot) {
			c := r.chainOf(r.lineNumber(s.line), 0)
			r.push(&c, r.lineAt(s.line)[s.i], r.position(s.at))
		},
		"head":     func(r *rig, _ slot) { r.ring.head += 8 },
		"tail":     func(r *rig, _ slot) { r.ring.tail = logStart + 8 },
		"overlaps": func(r *rig, _ slot) { r.spill = uint64(len(r.mem) / lineSize) },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			table, err := New(store.Config{Memory: store.MinMemory, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = table.Close() }()
			r := &rig{TB: t, Table: table, now: 1}
			for i := range 30 {
				r.put(numbered(i, 16), pattern(uint64(i), 20))
			}
			r.check()
			change(r, r.find(r.hash(numbered(7, 16)), numbered(7, 16)))
			if err := r.Check(); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("Check does not notice: %v", err)
			}
		})
	}
}

// Check ends and does not panic, whatever is in memory.
func FuzzCheck(f *testing.F) {
	f.Add([]byte{1, 2, 3}, uint16(64))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, uint16(72))
	f.Fuzz(func(t *testing.T, garbage []byte, at uint16) {
		table, err := New(store.Config{Memory: store.MinMemory, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = table.Close() }()
		r := &rig{TB: t, Table: table, now: 1}
		for i := range 200 {
			r.put(numbered(i, 16), pattern(uint64(i), i))
		}
		// The index is near the end.
		copy(r.mem[int(at)%len(r.mem):], garbage)
		copy(r.mem[len(r.mem)-min(len(garbage), int(r.lines())*lineSize):], garbage)
		_ = r.Check()
	})
}
