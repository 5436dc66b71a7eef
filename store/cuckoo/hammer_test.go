package cuckoo

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/remora-kv/remora/store"
)

// witness records what a writer did to a key. The values of the key are increasing numbers with
// the key. A reader must not find a number older than those done when it began.
type witness struct {
	done  atomic.Uint64 // the number of the last Put that returned
	begun atomic.Uint64 // the number of the last Put that began
}

// stamped returns a value that has its key and number, and bytes derived from them.
func stamped(buf []byte, key int, number uint64, size int) []byte {
	buf = binary.LittleEndian.AppendUint64(buf[:0], uint64(key))
	buf = binary.LittleEndian.AppendUint64(buf, number)
	for i := range size {
		buf = append(buf, byte(number+uint64(i)))
	}
	return buf
}

const hammered = 6

// TestHammer lets readers look for keys that always exist, while a writer replaces
// them, moves their entries, and reuses every freed block at once.
func TestHammer(t *testing.T) {
	r := open(t, store.Store, store.MinMemory)
	rounds := 60_000
	var seen [hammered]witness
	var stop atomic.Bool
	var outcomes [store.Ask + 1]atomic.Uint64
	random := rand.New(rand.NewPCG(8, 9))
	var buf []byte
	put := func(i int) {
		w := &seen[i]
		number := w.begun.Add(1)
		buf = stamped(buf, i, number, random.IntN(60))
		if _, err := r.Put(key(i), store.Entry{Value: buf, Flags: uint32(number)}, store.Always(), 0); err != nil {
			t.Error(err)
		}
		w.done.Store(number)
	}
	for i := range hammered {
		put(i)
	}
	var readers sync.WaitGroup
	for n := range 2 {
		rd := r.reader()
		readers.Go(func() {
			for i := n; !stop.Load() && !t.Failed(); i++ {
				outcomes[rd.witness(t, i%hammered, &seen[i%hammered])].Add(1)
			}
		})
	}
	for round := 0; (round < rounds || outcomes[store.Found].Load() < 100) && !t.Failed(); round++ {
		i := random.IntN(hammered)
		switch random.IntN(3) {
		case 0:
			put(i)
		case 1:
			p := r.find(key(i).Hash, key(i).Bytes)
			if to := r.choicesOf(r.tagOf(key(i).Hash))[random.IntN(choices)]; r.isEmpty(to) {
				r.moveEntry(p.bucket, to)
			}
		default: // an item that takes the block that a Put has freed
			k := key(100 + random.IntN(4))
			r.MustPut(k, 16+random.IntN(60))
			if err := r.Delete(k, store.Always(), 0); err != nil {
				t.Error(err)
			}
		}
	}
	stop.Store(true)
	readers.Wait()
	t.Logf("found %d, ask %d", outcomes[store.Found].Load(), outcomes[store.Ask].Load())
}

// witness looks for an existing key, and checks its number.
func (r *reader) witness(t *testing.T, i int, w *witness) store.Outcome {
	notBefore := w.done.Load()
	outcome := r.Search(key(i), nil)
	switch outcome {
	case store.Missing:
		t.Errorf("key %d is missing, but it always exists", i)
	case store.Found:
		item := r.Item()
		number := uint64(item.Flags)
		if number < notBefore || number > w.begun.Load() || string(item.Value) != string(stamped(nil, i, number, len(item.Value)-16)) {
			t.Errorf("key %d: found number %d, which is older than %d: %x", i, number, notBefore, item.Value)
		}
	case store.More, store.Ask:
	}
	return outcome
}
