package cuckoo

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/scale"
)

// Whoever reads the bucket that an entry has left finds it in the one that it moved to (C9).
func TestMovedEntryIsNeverMissing(t *testing.T) {
	r := open(t, store.Store, 1<<20)
	k := key(1)
	r.MustPut(k, 10)
	choices := r.choicesOf(r.tagOf(k.Hash))
	from, to := choices[0], choices[1]
	empty := func(bucket uint64) bool {
		return fence.Word(r.index, int(bucket)*bucketSize).Load()&store.MaxVersion == 0
	}
	var round, seen atomic.Int64
	missing := make(chan int64, 1)
	rounds := int64(scale.Times(4_000))
	go func(from, to uint64) {
		defer close(missing)
		for n := int64(1); n <= rounds; n++ {
			for i := 0; !empty(from); i++ {
				if i > 1000 {
					runtime.Gosched()
				}
			}
			if empty(to) && round.Load() < n { // the move is not over
				missing <- n
				return
			}
			from, to = to, from
			seen.Store(n)
		}
	}(from, to)
	for n := int64(1); n <= rounds; n++ {
		r.moveEntry(from, to)
		round.Store(n)
		from, to = to, from
		for seen.Load() < n {
			runtime.Gosched()
			select {
			case at, bad := <-missing:
				if bad {
					t.Fatalf("move %d: the entry is in neither bucket", at)
				}
			default:
			}
		}
	}
}
