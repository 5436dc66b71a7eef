//go:build !race

package arena

import (
	"os"
	"testing"
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
