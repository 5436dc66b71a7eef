package fabrictest

import "testing"

// TestPatterns checks that a word of a pattern can be recognised.
func TestPatterns(t *testing.T) {
	for _, p := range []pattern{1, 2, 77, 65535, guard} {
		for _, i := range []int{0, 1, 1000, 1 << 20} {
			q, index, ok := recognise(p.word(i))
			if !ok || q != p || index != i {
				t.Fatalf("word %d of %v is recognised as %d of %v, %v", i, p, index, q, ok)
			}
		}
		whole := p.bytes(0, 100)
		for off := range 20 {
			if part := p.bytes(off, 50); string(part) != string(whole[off:off+50]) {
				t.Fatalf("%v from %d is not the same as a part of the whole", p, off)
			}
			if !p.match(whole[off:off+40], off) || p.match(whole[off:off+40], off+1) {
				t.Fatalf("%v does not match itself at %d", p, off)
			}
		}
	}
	if _, _, ok := recognise(0x1234567812345678); ok {
		t.Errorf("an arbitrary word is recognised")
	}
	if s := origin(append([]byte{1, 2, 3}, pattern(9).bytes(0, 32)...), 13); s != " (pattern 9 at 10)" {
		t.Errorf("origin says %q", s)
	}
}
