package rfp

import (
	"slices"
	"testing"
)

// I10: a client that let a core wait in vain once loses nothing by it with its next
// results; one that does so again and again is waited for less and less often.
func TestMistrustGrows(t *testing.T) {
	var s session
	var spared []int
	for range 8 {
		s.waitedInVain()
		spared = append(spared, s.hasty)
	}
	if want := []int{0, 1, 3, 7, 15, 31, 31, 31}; !slices.Equal(spared, want) {
		t.Errorf("not waited for with %v results, want %v", spared, want)
	}
}
