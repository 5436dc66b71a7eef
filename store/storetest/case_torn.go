package storetest

import (
	"math/rand/v2"

	"github.com/remora-kv/remora/store"
)

func tornCases() []*testCase {
	return join(
		both("E1/torn", ruleForged, torn),
		both("E1/flips", ruleProves, flips),
		both("E1/foreign", ruleForged, foreign),
	)
}

// snapshot copies all areas.
func (x *exported) snapshot() [][]byte {
	var all [][]byte
	for _, a := range x.ex.Areas {
		all = append(all, append([]byte(nil), a.Bytes()...))
	}
	return all
}

// torn reads one span of a search during a change: some of its words are from before, the
// others from after. An adapter reads lines in any order, so every mixture can occur. Earlier
// spans are from before the change, later ones from after it.
func torn(t *trial) {
	x := t.openExport()
	random := t.random(0)
	for range t.times(375) {
		key := exportKey(random.IntN(crowd))
		was := x.start(key).states[0]
		before := x.snapshot()
		mutations[random.IntN(len(mutations))].do(x, key, random)
		for at := range 3 {
			x.tornAt(random, key, was, before, at)
		}
	}
}

// tornAt searches for a key; span number at is torn.
func (x *exported) tornAt(random *rand.Rand, key []byte, was *record, before [][]byte, at int) {
	x.Helper()
	s := x.start(key)
	s.states = append(s.states, was)
	for step := 0; ; step++ {
		b := s.read()
		old := before[s.span.Area][s.span.Off:][:s.span.Len]
		if step < at {
			copy(b, old)
		} else if step == at {
			mix(random, b, old)
		}
		if s.look(b) != store.More {
			return
		}
	}
}

// mix replaces some words of b by those of old: a beginning, an end, any words, any lines.
func mix(random *rand.Rand, b, old []byte) {
	words := (len(b) + 7) / 8
	cut, kind := random.IntN(words+1), random.IntN(4)
	lines := random.Uint64()
	for w := range words {
		isOld := w < cut
		switch kind {
		case 1:
			isOld = w >= cut
		case 2:
			isOld = random.IntN(2) == 0
		case 3:
			isOld = lines>>(w/8%64)&1 == 0
		}
		if isOld {
			copy(b[8*w:min(8*w+8, len(b))], old[8*w:])
		}
	}
}

// flips flips one bit, or a few, in the bytes that a Finder gets: an item that is Found must
// exist.
func flips(t *trial) {
	x := t.openExport()
	random := t.random(0)
	for i := range crowd {
		x.tryPut(exportKey(i), store.Entry{Value: pattern(uint64(i), min(200, x.maxValue())), Flags: uint32(i), Expires: 1 << 40}, store.Always())
	}
	for range t.times(5000) {
		s := x.start(exportKey(random.IntN(crowd)))
		s.loose = true
		for at, step := random.IntN(3), 0; ; step++ {
			b := s.read()
			if step >= at {
				for range 1 + random.IntN(2) {
					b[random.IntN(len(b))] ^= 1 << random.IntN(8)
				}
			}
			if s.look(b) != store.More {
				break
			}
		}
	}
}

// foreign gives the Finder of one key the bytes of another: for the whole search, or from
// some span on.
func foreign(t *trial) {
	x := t.openExport()
	random := t.random(0)
	x.hash = func(key []byte) uint64 { return x.cfg.Seed.Hash(key) % 3 } // so that indexes cannot tell keys apart by the hash
	keys := make([][]byte, crowd)
	for i := range keys {
		keys[i] = numbered(i, 12) // keys of one length, like the values
		x.tryPut(keys[i], store.Entry{Value: pattern(uint64(i), min(100, x.maxValue()))}, store.Always())
	}
	others := x.newFinder()
	for range t.times(1000) {
		s, o := x.start(keys[random.IntN(crowd)]), x.startBy(others, keys[random.IntN(crowd)])
		s.loose, o.loose = true, true
		for at, step, over := random.IntN(3), 0, false; ; step++ {
			b := s.read()
			if step >= at {
				copy(b, o.read())
			}
			if !over {
				over = o.look(append([]byte(nil), o.read()...)) != store.More
			}
			if s.look(b) != store.More {
				break
			}
		}
	}
}
