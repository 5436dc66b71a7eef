package path

import (
	"math/rand/v2"
	"testing"

	"github.com/remora-kv/remora/store"
)

func linkOf(n uint64) store.Link {
	return store.Link{Span: store.Span{Area: int(n % 3), Off: int64(8 * n), Len: int(n%100 + 1)}, Version: n + 1, Sum: uint32(3 * n)}
}

func found(c *linkCache, hash uint64, l *store.Link) bool {
	return c.find(hash, l) != nil
}

// What a cache finds is what was added last for that hash; what is used stays.
func TestLinkCache(t *testing.T) {
	c := newLinkCache(1000, 1000)
	if n := len(c.sets) * linkWays; n < 1000 || n > 2*1000 {
		t.Errorf("room for %d links", n)
	}
	model := map[uint64]store.Link{}
	const hot = 0
	for i := range uint64(50_000) {
		hash := rand.Uint64N(3000) * 0x9E3779B97F4A7C15
		var l store.Link
		switch {
		case i%7 == 0:
			c.drop(hash)
			delete(model, hash)
		case i%11 == 0:
			c.setVersion(hash, i+1)
			if l, ok := model[hash]; ok {
				l.Version = i + 1
				model[hash] = l
			}
		case i%3 == 0:
			c.add(hash, linkOf(i), 0)
			model[hash] = linkOf(i)
		case found(c, hash, &l) && l != model[hash]:
			t.Fatalf("%x: %+v instead of %+v", hash, l, model[hash])
		}
		if i == 0 {
			c.add(hot, linkOf(7), 0)
			model[hot] = linkOf(7)
		} else if i%2 == 0 && found(c, hot, &l) != (model[hot] != store.Link{}) {
			if _, ok := model[hot]; ok {
				t.Fatalf("after %d: what is used all the time was forgotten", i)
			}
		}
	}
}

// A version of 0 is not found, until it is known again.
func TestLinkCacheRenew(t *testing.T) {
	c := newLinkCache(1, 1)
	var l store.Link
	c.setVersion(5, 1)
	if found(c, 5, &l) {
		t.Errorf("%+v was never added", l)
	}
	c.add(5, linkOf(9), 0)
	c.setVersion(5, 0)
	if found(c, 5, &l) {
		t.Errorf("%+v of version 0", l)
	}
	c.setVersion(5, 33)
	if want := linkOf(9); !found(c, 5, &l) || l.Version != 33 || l.Span != want.Span {
		t.Errorf("%+v", l)
	}
}

func TestQueries(t *testing.T) {
	var q queries
	if q.pop() != (query{}) {
		t.Error("something in an empty queue")
	}
	in, out := uint64(0), uint64(0)
	for in < 10_000 {
		for range rand.N(40) {
			in++
			q.push(query{hash: in})
		}
		for range rand.N(40) {
			if out < in {
				out++
				if got := q.pop(); got.hash != out {
					t.Fatalf("%d instead of %d", got.hash, out)
				}
			}
		}
	}
}
