//go:build !race

package fence

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/remora-kv/remora/test/pages"
)

// wideLeast is the length from which on wide accesses copy.
const wideLeast = 256

// eachCut calls f for copies of n bytes, least or more, with 1 to 8 of them beyond the end of
// a page, or before it. The lengths are those of all ways through the copies.
func eachCut(t *testing.T, least int, f func(t *testing.T, n, cut int)) {
	lengths := []int{4095, 4096, 4104, 4129, 5376, 6000}
	for n := least; n <= maxLen; n++ {
		lengths = append(lengths, n)
	}
	for cut := 1; cut <= 8; cut++ {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			for _, n := range lengths {
				if n >= cut {
					f(t, n, cut)
				}
			}
		})
	}
}

// counted returns n bytes, none of them 0.
func counted(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i%255 + 1)
	}
	return b
}

// F3: the last word, or what a copy covers of it, is stored when all before is there, whatever
// the CPU makes of wide stores.
func TestLastWordIsStoredLast(t *testing.T) {
	mem, src := pages.New(t, 3), counted(2*pages.Size)
	eachCut(t, 1, func(t *testing.T, n, cut int) {
		end := 2*pages.Size + cut
		clear(mem)
		pages.StopsAtWrite(t, mem, end-cut, func() { CopyOut(mem[end-n:end], src[:n]) })
		if before := mem[end-n : end-cut]; !bytes.Equal(before, src[:n-cut]) {
			t.Fatalf("%d bytes: before the last %d are stored, those before are not: % x", n, cut, before)
		}
	})
}

// F4: the first word, or what a copy covers of it, is loaded before anything behind it. Copies
// without wide loads are not tested: they load word after word, but store none before a few
// are loaded.
func TestFirstWordIsLoadedFirst(t *testing.T) {
	mem, dst := pages.New(t, 3), make([]byte, 2*pages.Size)
	copy(mem, counted(len(mem)))
	eachCut(t, wideLeast, func(t *testing.T, n, cut int) {
		at := pages.Size - cut
		clear(dst)
		pages.StopsAtAccess(t, mem, pages.Size, func() { CopyIn(dst, mem[at:at+n]) })
		if !bytes.Equal(dst[:cut], mem[at:at+cut]) {
			t.Fatalf("%d bytes: what is behind the first %d is loaded before they are there: % x", n, cut, dst[:cut])
		}
	})
}
