package slots

import (
	"encoding/binary"
	"hash/fnv"
	"testing"

	"github.com/remora-kv/remora/store"
)

func TestHead(t *testing.T) {
	for _, version := range []uint64{1, 0x123456789abc, store.MaxVersion} {
		for _, n := range []int{0, 1, MaxKey} {
			h := newHead(version, n)
			if h.state() != occupied || h.version() != version || h.keySize() != n {
				t.Errorf("version %d, key of %d: %d, %d, %d", version, n, h.state(), h.version(), h.keySize())
			}
		}
	}
}

// TestFNV compares fnv1a with the standard library.
func TestFNV(t *testing.T) {
	for _, key := range []string{"", "a", "foobar", string(make([]byte, 111))} {
		want := fnv.New64a()
		_, _ = want.Write([]byte(key))
		if got := fnv1a([]byte(key)); got != want.Sum64() {
			t.Errorf("%q: %#x, want %#x", key, got, want.Sum64())
		}
	}
}

// TestBytes checks that the fields of a slot are where the paper has them.
func TestBytes(t *testing.T) {
	r := open(t, store.Store, 100)
	value := make([]byte, MaxValue)
	for i := range value {
		value[i] = byte(i) | 1
	}
	k := seed.Key([]byte("the long key"))
	e := store.Entry{Value: value, Flags: 0x01020304, Expires: 0x05060708}
	version, err := r.Put(k, e, store.Always(), 0)
	if err != nil {
		t.Fatal(err)
	}
	r.count(r.find(k)).Add(5)
	slot := r.slots[fnv1a(k.Bytes)%100*1024:][:1024]
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(slot[at:]) }
	if slot[0] != 1 || word(0)>>8&store.MaxVersion != version || slot[7] != 12 || word(8) != 5 {
		t.Errorf("head % x", slot[:16])
	}
	if string(slot[16:29]) != "the long key\x00" || string(slot[128:999]) != string(value) || slot[999] != 0 {
		t.Error("key and value are not at 16 and 128, with a NUL behind them")
	}
	if word(1000) != 0x01020304|MaxValue<<32 || word(1008) != 0x05060708 || word(1016) != sumOf(slot, headOf(slot), MaxValue) {
		t.Errorf("trailer % x", slot[1000:])
	}
	// A shorter key overwrites a longer one entirely.
	other := r.colliding(r.home(k.Bytes), 1)[0]
	if err := r.Delete(k, store.Always(), 0); err != nil {
		t.Fatal(err)
	}
	r.put(other)
	if n := len(other.Bytes); slot[0] != 1 || string(slot[16+n:128]) != string(make([]byte, 112-n)) || word(8) != 0 {
		t.Errorf("after another item: % x", slot[:128])
	}
}

// TestSumCovers flips every bit of a slot: the checksum covers all used bytes but access_count.
func TestSumCovers(t *testing.T) {
	r := open(t, store.Store, 100)
	k := key(1)
	r.put(k)
	slot := append([]byte(nil), r.slot(r.find(k))...)
	for bit := range 8 * slotSize {
		at := bit / 8
		slot[at] ^= 1 << (bit % 8)
		h := headOf(slot)
		proves := h.state() == occupied && r.f.proves(slot, h)
		unused := at >= atCount && at < atKey || at > atValue+len(k.Bytes) && at < atTrailer
		if proves != unused {
			t.Fatalf("bit %d of byte %d is flipped: valid %v", bit%8, at, proves)
		}
		slot[at] ^= 1 << (bit % 8)
	}
}
