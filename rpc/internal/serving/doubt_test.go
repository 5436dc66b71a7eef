package serving

import "testing"

// What never fits is looked at again and again, but seldom; what fits at last is found before
// twice as many sweeps are over, or at once after a wake-up.
func TestDoubt(t *testing.T) {
	for _, late := range []uint64{1, 2, 3, 10, 100, 1000, 1 << 20} {
		var d Doubt
		looks, last := uint64(0), uint64(0)
		for sweep := uint64(0); ; sweep++ {
			if d.Waits(sweep) {
				continue
			}
			looks, last = looks+1, sweep
			if sweep >= late {
				break
			}
			d.Failed(sweep)
		}
		if most := late/maxSkips + 13; looks > most {
			t.Errorf("%d looks in %d sweeps, want at most %d", looks, late, most)
		}
		if last > 2*late || last > late+maxSkips {
			t.Errorf("what is there in sweep %d is found in sweep %d", late, last)
		}
		d.Failed(last)
		if d.Clear(); d.Waits(last) {
			t.Error("Clear does not end the wait")
		}
	}
}
