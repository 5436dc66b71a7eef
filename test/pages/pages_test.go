//go:build !race

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

// A value is split between two pages where the test says.
func TestSplit(t *testing.T) {
	type pair struct {
		first  [5000]int64
		second [5000]int64
	}
	v, mem, cut := Split(t, func(p *pair) *[5000]int64 { return &p.second })
	StopsAtWrite(t, mem, cut, func() { v.first[4999], v.second[0] = 1, 1 })
	StopsAtWrite(t, mem, cut-1, func() { v.second[4999], v.first[4999] = 1, 2 })
	if v.first[4999] != 1 || v.second[0] != 0 || v.second[4999] != 1 {
		t.Errorf("%d, %d, %d", v.first[4999], v.second[0], v.second[4999])
	}
}
