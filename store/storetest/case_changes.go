package storetest

import (
	"math/rand/v2"

	"github.com/remora-kv/remora/store"
)

func changeCases() []*testCase {
	return join(
		both("E1/between-steps", ruleForged, betweenSteps),
		both("E1/between-steps-at-random", ruleForged, betweenStepsAtRandom),
		both("E2/misses", ruleMiss, missesBetweenSteps),
	)
}

// crowd is the number of keys that the cases of this file change.
const crowd = 12

// mutation is a change during a search for a key.
type mutation struct {
	name string
	do   func(x *exported, key []byte, random *rand.Rand)
}

func putOf(x *exported, key []byte, random *rand.Rand) {
	x.Helper()
	x.tryPut(key, x.entry(random), store.Always())
}

func deleteOf(x *exported, key []byte, _ *rand.Rand) {
	x.Helper()
	x.tryDel(key, store.Always())
}

func putOfOther(x *exported, _ []byte, random *rand.Rand) {
	x.Helper()
	x.tryPut(exportKey(random.IntN(crowd)), x.entry(random), store.Always())
}

func deleteOfOther(x *exported, _ []byte, random *rand.Rand) {
	x.Helper()
	x.tryDel(exportKey(random.IntN(crowd)), store.Always())
}

// refill puts and deletes other keys, so that free memory is reused.
func refill(x *exported, _ []byte, random *rand.Rand) {
	x.Helper()
	first := 1000 + random.IntN(1000)
	for i := range 8 {
		x.tryPut(exportKey(first+i), x.entry(random), store.Always())
	}
	for i := range 8 {
		x.tryDel(exportKey(first+i), store.Always())
	}
}

// sameSize replaces the value by another of its length, which takes the same memory
// in most engines.
func sameSize(x *exported, key []byte, random *rand.Rand) {
	x.Helper()
	e := x.entry(random)
	if r := x.model.items[string(key)]; r != nil {
		e.Value = pattern(x.model.last+1, len(r.value))
	}
	x.tryPut(key, e, store.Always())
}

// mutations are the kinds of changes.
var mutations = []mutation{
	{"put", putOf},
	{"put the same size", sameSize},
	{"delete", deleteOf},
	{"delete and put", func(x *exported, key []byte, random *rand.Rand) {
		x.Helper()
		deleteOf(x, key, random)
		putOf(x, key, random)
	}},
	{"put twice", func(x *exported, key []byte, random *rand.Rand) {
		x.Helper()
		sameSize(x, key, random)
		sameSize(x, key, random)
	}},
	{"touch", func(x *exported, key []byte, random *rand.Rand) {
		x.Helper()
		x.tryTouch(key, 1<<41+random.Int64N(1000))
	}},
	{"put another", putOfOther},
	{"delete another", deleteOfOther},
	{"refill", refill},
	{"delete and refill", func(x *exported, key []byte, random *rand.Rand) {
		x.Helper()
		deleteOf(x, key, random)
		refill(x, key, random)
	}},
	{"put and refill", func(x *exported, key []byte, random *rand.Rand) {
		x.Helper()
		sameSize(x, key, random)
		refill(x, key, random)
	}},
}

// mostSteps is the last span of a search before which something is changed.
const mostSteps = 6

// betweenSteps makes each change before each span of a search, and each second change
// before each later span. An item that is Found must have existed since Start.
func betweenSteps(t *trial) {
	x := t.openExport()
	random := t.random(0)
	for range t.times(2) {
		for i := range crowd {
			putOf(x, exportKey(i), random)
		}
		for _, first := range mutations {
			for _, second := range mutations {
				for at := range mostSteps {
					for later := at; later < mostSteps; later++ {
						x.during(random, at, first, later, second)
					}
				}
			}
		}
	}
}

// during searches for a key, with one change before span at and one before span later.
func (x *exported) during(random *rand.Rand, at int, first mutation, later int, second mutation) {
	x.Helper()
	key := exportKey(random.IntN(crowd))
	s := x.start(key)
	for step := 0; ; step++ {
		if step == at {
			first.do(x, key, random)
			s.note()
		}
		if step == later {
			second.do(x, key, random)
			s.note()
		}
		if s.look(s.read()) != store.More {
			return
		}
	}
}

// betweenStepsAtRandom makes changes at random between steps, until the search
// ends.
func betweenStepsAtRandom(t *trial) {
	x := t.openExport()
	random := t.random(0)
	for range t.times(1000) {
		key := exportKey(random.IntN(crowd))
		s := x.start(key)
		for often := random.IntN(4); ; {
			for range random.IntN(often + 1) {
				mutations[random.IntN(len(mutations))].do(x, key, random)
				s.note()
			}
			if s.look(s.read()) != store.More {
				break
			}
		}
	}
}

// missesBetweenSteps looks for a key that stays while everything else changes. In a store it
// is never Missing, and it is Found when the changes stop.
func missesBetweenSteps(t *trial) {
	x := t.openExport()
	random := t.random(0)
	stays := []byte("the key that stays")
	x.tryPut(stays, store.Entry{Value: pattern(1, 30)}, store.Always())
	for range t.times(500) {
		s := x.start(stays)
		for step := 0; ; step++ {
			for i := 0; i < 3 && step < 4; i++ {
				x.change(random, exportKey(random.IntN(60)))
				s.note()
			}
			if s.look(s.read()) != store.More {
				break
			}
		}
	}
	if t.mode == store.Store && x.get(stays) == nil {
		t.Fatalf("the key that stays is gone")
	}
	x.find(stays)
}
