//go:build !race

package arena

import (
	"os"
	"reflect"
	"testing"

	"golang.org/x/sys/unix"
)

// A5: touched pages are poisoned, the others stay untouched, so that freeing a
// large and mostly empty block does not fill the memory of the machine.
func TestPoisonResident(t *testing.T) {
	page := os.Getpagesize()
	pages := 2*residentBatch + 3
	mem, err := allocPrivate(pages*page - 5)
	if err != nil {
		t.Fatal(err)
	}
	touched := map[int]bool{0: true, residentBatch - 1: true, residentBatch: true, pages - 1: true}
	for i := range touched {
		mem[i*page] = 1
	}
	if huge(mem) {
		t.Log("the kernel uses huge pages for everything; only the content is checked")
	}
	poisonResident(mem)
	for i := range touched {
		for j := i * page; j < min((i+1)*page, len(mem)); j++ {
			if mem[j] != Poison {
				t.Fatalf("byte %d of touched page %d is %#x, want %#x", j-i*page, i, mem[j], Poison)
			}
		}
	}
	if !huge(mem) && mem[2*page] != 0 {
		t.Error("a page that was never touched has been poisoned")
	}
	if err := freePrivate(mem); err != nil {
		t.Error(err)
	}
}

// huge reports whether the pages next to a touched one have become resident.
func huge(mem []byte) bool {
	var resident [residentBatch]byte
	page := os.Getpagesize()
	return mincore(mem[:residentBatch*page], &resident) && resident[2]&1 != 0
}

// Resident counts what was stored to, and neither what was only loaded from nor what is of a source.
func TestResident(t *testing.T) {
	page := os.Getpagesize()
	a := NewFrom(func(_ string, size int, _ Seal) ([]byte, any, func() error, error) {
		return make([]byte, size), nil, func() error { return nil }, nil
	})
	const pages = 100
	private, shared := mustAlloc(t, a, "private", pages*page), mustShare(t, a, pages*page, ReadWriteForOthers)
	exported, err := a.Export("exported", pages*page, ReadWriteForOthers)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Madvise(private.Bytes(), unix.MADV_NOHUGEPAGE); err != nil {
		t.Fatal(err)
	}
	for _, b := range []*Block{private, shared, exported} {
		for i := range 7 {
			b.Bytes()[2*i*page] = 1
		}
	}
	sum := byte(0)
	for i := range pages {
		sum += private.Bytes()[i*page]
	}
	if sum != 7 {
		t.Error("what was stored is not there")
	}
	want := []Usage{{"private", 1, int64(pages * page), int64(7 * page)}, {"shared", 1, int64(pages * page), int64(7 * page)}}
	if got := a.Resident(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	mustFree(t, private)
	mustFree(t, exported)
	if got := a.Resident(); !reflect.DeepEqual(got, want[1:]) {
		t.Errorf("got %v, want %v", got, want[1:])
	}
}
