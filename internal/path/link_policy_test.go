package path

import (
	"math/rand/v2"
	"testing"

	"github.com/remora-kv/remora/store"
)

// looker gets keys as a connection does, and counts those that go by links.
type looker struct {
	p      linkPolicy
	links  *linkCache
	byLink int
}

func newLooker() *looker { return &looker{links: newLinkCache(firstAutoLinks, maxAutoLinks)} }

func (k *looker) get(hash uint64, busy bool) {
	if !k.p.follows(busy) {
		return
	}
	var l store.Link
	known := k.links.find(hash, &l) != nil
	k.p.looked(known, k.links)
	if known {
		k.byLink++
	} else {
		k.links.add(hash, store.Link{Span: store.Span{Len: 64}, Version: 1}, 0)
	}
}

// gets returns which part of n gets went by links, of keys that next chooses.
func (k *looker) gets(n int, next func() uint64, busy func() bool) float64 {
	k.byLink = 0
	for range n {
		k.get(next(), busy())
	}
	return float64(k.byLink) / float64(n)
}

func never() bool { return false }

// Keys that are got again go by links, and there is room for them by and by.
func TestLinkPolicyGrows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	k := newLooker()
	few := func() uint64 { return rng.Uint64N(500) * 0x9e3779b97f4a7c15 }
	if part := k.gets(100_000, few, never); part < 0.98 || k.links.room() > 2*firstAutoLinks {
		t.Errorf("%.2f of few keys, with room for %d", part, k.links.room())
	}
	many := func() uint64 { return rng.Uint64N(30_000) * 0x9e3779b97f4a7c15 }
	k.gets(400_000, many, never)
	if part := k.gets(100_000, many, never); part < 0.9 || k.links.room() < 1<<15 || k.links.room() > maxAutoLinks {
		t.Errorf("%.2f of many keys, with room for %d", part, k.links.room())
	}
}

// Where hardly a key is got again links are left alone, but for a look now and then.
func TestLinkPolicyRests(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	k := newLooker()
	looks := 0
	const n = 20_000_000
	for range n {
		if k.p.alone >= aloneBefore && k.p.rest == 0 {
			looks++
		}
		k.get(rng.Uint64(), false)
	}
	if looks < 5*maxAutoLinks || looks > n/10 {
		t.Errorf("%d of %d gets were looked for", looks, n)
	}
	// When keys are got again, this is found out.
	few := func() uint64 { return rng.Uint64N(1000) * 0x9e3779b97f4a7c15 }
	if k.gets((restPeriods+1)*maxAutoLinks, few, never); k.gets(maxAutoLinks, few, never) < 0.99 {
		t.Errorf("it rests forever: %+v", k.p)
	}
}

// Operations that do not come one by one use no links, also when now and then one finds
// nothing before it.
func TestLinkPolicyOfPipelines(t *testing.T) {
	k := newLooker()
	n := 0
	one := func() uint64 { return 1 }
	burst := func() bool { n++; return n%8 != 0 }
	if part := k.gets(10_000, one, burst); part != 0 {
		t.Errorf("%.2f went by links", part)
	}
	if part := k.gets(10_000, one, never); part < 0.98 {
		t.Errorf("one at a time, and %.2f went by links", part)
	}
	if k.get(1, true); k.p.follows(false) {
		t.Error("followed after an operation that was not alone")
	}
}

// Links that lead nowhere are not worth while.
func TestLinkPolicyOfBadLinks(t *testing.T) {
	k := newLooker()
	for range 8 * maxAutoLinks {
		k.get(1, false)
		k.p.missed()
	}
	if k.p.rest == 0 {
		t.Errorf("%+v", k.p)
	}
}

// A cache that grows forgets nothing.
func TestLinkCacheGrows(t *testing.T) {
	c := newLinkCache(64, 1024)
	for i := uint64(1); i < 65; i++ {
		c.add(i, store.Link{Span: store.Span{Off: int64(i), Len: 32}, Version: i + 1}, uint16(i))
	}
	had := map[uint64]bool{}
	var l store.Link
	for i := uint64(1); i < 65; i++ {
		had[i] = c.find(i, &l) != nil
	}
	for c.grow() {
	}
	if c.room() != 1024 {
		t.Fatalf("room for %d", c.room())
	}
	for i := uint64(1); i < 65; i++ {
		age := c.find(i, &l)
		if (age != nil) != had[i] || age != nil && (l.Version != i+1 || l.Span.Off != int64(i) || *age != uint16(i)) {
			t.Errorf("link %d: %+v, known before: %v", i, l, had[i])
		}
	}
}
