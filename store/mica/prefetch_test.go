package mica

import (
	"bytes"
	"testing"
)

// Hints may be given for any hash, and change nothing.
func TestPrefetch(t *testing.T) {
	r := newRig(t)
	for i := range 2000 {
		r.put(numbered(i, 16), nil)
	}
	before, stats := bytes.Clone(r.mem), r.Stats()
	random := seeded(t, 10)
	for i := range 5000 {
		hash := random.Uint64()
		if i < 2000 {
			hash = r.hash(numbered(i, 16))
		}
		r.PrefetchIndex(hash)
		r.PrefetchItems([]uint64{hash})
	}
	if r.spill == 0 || !bytes.Equal(before, r.mem) || stats != r.Stats() {
		t.Errorf("%d overflow lines; %+v before, %+v after", r.spill, stats, r.Stats())
	}
}
