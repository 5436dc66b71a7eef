package rfp

import (
	"slices"
	"testing"
)

// I10: a client that let a core wait in vain once loses nothing by it with its next
// results; for one that does so again and again the core waits less and less often.
func TestWaitsBackOff(t *testing.T) {
	var s session
	var skips []int
	for range 8 {
		s.waitTimedOut()
		skips = append(skips, s.skips)
	}
	if want := []int{0, 1, 3, 7, 15, 31, 31, 31}; !slices.Equal(skips, want) {
		t.Errorf("skipped %v, want %v", skips, want)
	}
}
