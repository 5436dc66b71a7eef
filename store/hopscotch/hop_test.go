package hopscotch

import (
	"testing"

	"github.com/remora-kv/remora/store"
)

// slotsOf returns the slot of each key.
func (r *rig) slotsOf(keys []store.Key) []uint64 {
	var all []uint64
	for _, k := range keys {
		all = append(all, r.find(k.Hash, k.Bytes).slot)
	}
	return all
}

// TestHop fills slots 40 to 46, so that an item must hop before one of home 40 has room.
func TestHop(t *testing.T) {
	r := openRig(t, New, store.Store, store.MinMemory)
	var keys []store.Key
	for i := range 7 {
		k := r.homed(i, 40+uint64(i))
		r.MustPut(k, 10)
		keys = append(keys, k)
	}
	last := r.homed(100, 40)
	r.MustPut(last, 10)
	if p := r.find(last.Hash, last.Bytes); p.slot < 40 || p.slot >= 46 {
		t.Errorf("the item of home 40 is in slot %d", p.slot)
	}
	for i, slot := range r.slotsOf(keys) {
		if h := 40 + uint64(i); slot < h || slot >= h+reach {
			t.Errorf("the item of home %d is in slot %d", h, slot)
		}
		if o, n := r.search(keys[i]); o != store.Found || n != 1 {
			t.Errorf("the item of home %d: outcome %d after %d spans", 40+i, o, n)
		}
	}
}

// TestNoHop puts seven items of one home: the last goes into the chain.
func TestNoHop(t *testing.T) {
	r := openRig(t, New, store.Store, store.MinMemory)
	for i := range 7 {
		r.MustPut(r.homed(i, 40), 10)
	}
	last := r.homed(6, 40)
	if p := r.find(last.Hash, last.Bytes); !p.inChain() {
		t.Fatalf("the seventh item is in slot %d", p.slot)
	}
	if o, n := r.search(last); o != store.Found || n != 2 {
		t.Errorf("outcome %d after %d spans", o, n)
	}
}

// TestDraw checks that items that a crowd has displaced return to their homes when it is deleted.
func TestDraw(t *testing.T) {
	r := openRig(t, New, store.Store, store.MinMemory)
	var crowd, others []store.Key
	for i := range 4 {
		crowd = append(crowd, r.homed(i, 40))
		r.MustPut(crowd[i], 10)
	}
	for i := range 3 {
		others = append(others, r.homed(100+i, 41+uint64(i)))
		r.MustPut(others[i], 10)
	}
	for _, k := range crowd {
		if err := r.Delete(k, store.Always(), 0); err != nil {
			t.Fatal(err)
		}
		r.MustCheck()
	}
	for i, slot := range r.slotsOf(others) {
		if slot != 41+uint64(i) {
			t.Errorf("the item of home %d is in slot %d", 41+i, slot)
		}
	}
}

// TestLastHomes puts items at the end of the slots, which are not homes.
func TestLastHomes(t *testing.T) {
	for name, shape := range shapes {
		r := openRig(t, shape, store.Store, store.MinMemory)
		for i := range 12 {
			k := r.homed(i, r.homes-1-uint64(i%2))
			r.MustPut(k, 10)
			if o, _ := r.search(k); o != store.Found {
				t.Errorf("%s: item %d: outcome %d", name, i, o)
			}
		}
	}
}

// TestSlotOfExpired checks that a new item takes the slot of an expired one.
func TestSlotOfExpired(t *testing.T) {
	r := openRig(t, New, store.Store, store.MinMemory)
	for i := range 6 {
		_, err := r.Put(r.homed(i, 40), store.Entry{Expires: 100}, store.Always(), 0)
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := 40 + uint64(reach); i < 40+probes; i++ {
		r.MustPut(r.homed(int(i), i), 10)
	}
	k := r.homed(1000, 40)
	if _, err := r.Put(k, store.Entry{}, store.Always(), 100); err != nil {
		t.Fatal(err)
	}
	if r.find(k.Hash, k.Bytes).inChain() || r.heap.Stats.Expired != 1 {
		t.Errorf("in a chain: %v, expired: %d", r.find(k.Hash, k.Bytes).inChain(), r.heap.Stats.Expired)
	}
}
