package onesided_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/onesided"
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/scale"
)

// Items are found in the table that they are in, and nowhere else.
func TestSearch(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(3, onesided.ServerConfig{})
		r.toys[1].put(7, 1, value(7, 1))
		r.toys[2].put(7+toySlots, 2, value(7+toySlots, 2))
		for table, want := range []store.Outcome{store.Missing, store.Found, store.Missing} {
			c := r.dial(onesided.ConnConfig{Table: table})
			if c.Tables() != 3 || c.Instance() != 42 {
				t.Errorf("%d tables of instance %d", c.Tables(), c.Instance())
			}
			item, o := r.search(c, 7)
			if o != want || o == store.Found && (item.Version != 1 || [toyValue]byte(item.Value) != value(7, 1)) {
				t.Errorf("table %d: %v, %+v", table, o, item)
			}
			if k := c.Key(); k.Hash != 7 || string(k.Bytes) != string(key(7).Bytes) {
				t.Errorf("the search was for %v", k)
			}
			if n := c.Counters(); n.Out[fabric.OpRead] != 2 { // one for the directory
				t.Errorf("%d READs", n.Out[fabric.OpRead])
			}
		}
		c := r.dial(onesided.ConnConfig{Table: 1})
		r.toys[1].put(7, 5, value(7, 5))
		if item, o := r.search(c, 7); o != store.Found || item.Version != 5 {
			t.Errorf("after a change: %v, %+v", o, item)
		}
	})
}

// As many searches as the window has are on their way; outcomes come in their order (O5).
func TestWindow(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		const window = 16
		r.serve(1, onesided.ServerConfig{})
		for h := uint64(0); h < toySlots; h += 2 {
			r.toys[0].put(h, h+1, value(h, h+1))
		}
		c := r.dial(onesided.ConnConfig{Window: window})
		next, taken := uint64(0), uint64(0)
		for taken < 4*toySlots {
			err := c.Start(key(next % toySlots))
			if err == nil {
				next++
				continue
			}
			if !errors.Is(err, rpc.ErrWindowFull) || c.Outstanding() != window {
				t.Fatalf("%d searches on their way: %v", c.Outstanding(), err)
			}
			for range 1 + rand.N(window) {
				h := taken % toySlots
				item, o := r.next(c)
				if h%2 == 0 && (o != store.Found || [toyValue]byte(item.Value) != value(h, h+1)) || h%2 == 1 && o != store.Missing {
					t.Fatalf("search %d: %v, %v", taken, o, item)
				}
				taken++
			}
		}
		if s := c.Stats(); s.Searches != next || s.Found+s.Missing < taken || s.Asked != 0 || s.Touches != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// What was found is counted as used before its search is over.
func TestTouch(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(1, onesided.ServerConfig{})
		r.toys[0].put(3, 1, value(3, 1))
		c := r.dial(onesided.ConnConfig{TouchEvery: 1})
		for i := range uint64(5) {
			if _, o := r.search(c, 3); o != store.Found || r.toys[0].used(3) != i+1 {
				t.Fatalf("%v, used %d times after search %d", o, r.toys[0].used(3), i)
			}
		}
		if _, o := r.search(c, 4); o != store.Missing || r.toys[0].used(4) != 0 {
			t.Errorf("%v, and used %d times", o, r.toys[0].used(4))
		}
		if s := c.Stats(); s.Touches != 5 || s.Reads != 6 {
			t.Errorf("%+v", s)
		}
	})
}

// One in so many items is counted, and bytes of a word are counted apart.
func TestTouchSome(t *testing.T) {
	r := newRig(t, fabrics[0])
	r.serve(1, onesided.ServerConfig{})
	r.toys[0].put(3, 1, value(3, 1))
	c := r.dial(onesided.ConnConfig{TouchEvery: 4, NewFinder: func([]byte) (store.Finder, error) { return &toyFinder{counted: 2}, nil }})
	for range 20 {
		r.search(c, 3)
	}
	if n := r.toys[0].used(3); n != 5<<16 {
		t.Errorf("%#x after 20 searches", n)
	}
}

// Spans that are not inside their area are not read: the server is asked (O4).
func TestSpansOutside(t *testing.T) {
	r := newRig(t, fabrics[0])
	r.serve(1, onesided.ServerConfig{})
	const end = toySlots * toySize
	for _, s := range []store.Span{
		{Area: -1, Len: 8},
		{Area: 2, Len: 8},
		{Off: -8, Len: 8},
		{Off: end, Len: 8},
		{Off: end - 8, Len: 16},
		{Off: 1 << 62, Len: 1 << 30},
		{Len: 0},
		{Len: -1},
		{Len: 5000},
	} {
		c := r.dial(onesided.ConnConfig{NewFinder: func([]byte) (store.Finder, error) { return &toyFinder{wild: &s}, nil }})
		if _, o := r.search(c, 1); o != store.Ask || c.Stats().Reads != 0 {
			t.Errorf("%+v: %v after %d READs", s, o, c.Stats().Reads)
		}
	}
}

// A writer changes values that say what they are, under readers who never see another's
// or a part of one, nor one that was over before they began.
func TestHammer(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		const readers, hot = 3, 4
		rounds := scale.Times(10_000)
		if r.Fabric == provider.TCP {
			rounds /= 5 // both ends are in one process, and spin
		}
		r.serve(1, onesided.ServerConfig{})
		var current [hot]atomic.Uint64
		put := func(h, version uint64) {
			r.toys[0].put(h, version, value(h, version))
			current[h].Store(version)
		}
		for h := range uint64(hot) {
			put(h, 1)
		}
		var wg sync.WaitGroup
		var stop atomic.Bool
		wg.Go(func() {
			for version := uint64(2); !stop.Load(); version++ {
				put(rand.Uint64N(hot), version)
			}
		})
		var group sync.WaitGroup
		for range readers {
			c := r.dial(onesided.ConnConfig{Window: 2, TouchEvery: 1})
			group.Go(func() {
				for range rounds {
					h := rand.Uint64N(hot)
					before := current[h].Load()
					item, o := r.search(c, h)
					if o == store.Ask {
						continue
					}
					if o != store.Found || item.Version < before || [toyValue]byte(item.Value) != value(h, item.Version) {
						t.Errorf("%d after version %d: %v, %+v", h, before, o, item)
						return
					}
				}
			})
		}
		group.Wait()
		stop.Store(true)
		wg.Wait()
	})
}
