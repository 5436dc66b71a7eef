//go:build race || !linux

package arena

import "testing"

// A5, seen by a user who kept the slice: in this build it is heap memory.
func TestFreePoisons(t *testing.T) {
	b := mustAlloc(t, New(), "test", 1000)
	mem := b.Bytes()
	for i := range mem {
		mem[i] = 1 // only what was touched exists
	}
	mustFree(t, b)
	for i, v := range mem {
		if v != Poison {
			t.Fatalf("byte %d is %#x after Free, want %#x", i, v, Poison)
		}
	}
}
