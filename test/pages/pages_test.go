package pages

import "testing"

// A function ends before the page, whatever page that is, and what it wrote before stays.
func TestStopsAtWrite(t *testing.T) {
	mem := New(t, 3)
	order := []int{2 * Size, Size - 1, Size}
	for i, at := range order {
		clear(mem)
		StopsAtWrite(t, mem, at, func() {
			for n, next := range order {
				mem[next] = byte(n + 1)
			}
		})
		for n, before := range order {
			if written := mem[before] == byte(n+1); written != (n < i) {
				t.Errorf("stopped at byte %d: byte %d was written: %t", at, before, written)
			}
		}
	}
	mem[0], mem[Size], mem[2*Size] = 1, 1, 1 // it can be written again
}

// Only StopsAtAccess ends a function before it reads.
func TestStopsAtAccess(t *testing.T) {
	mem := New(t, 2)
	read := 0
	f := func() {
		read += int(mem[Size]) + 1
		mem[Size] = 1
	}
	StopsAtWrite(t, mem, Size, f)
	StopsAtAccess(t, mem, Size, f)
	if read != 1 {
		t.Errorf("read %d times, want once", read)
	}
}
