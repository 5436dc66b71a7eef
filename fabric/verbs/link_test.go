//go:build rdma

package verbs

import (
	"testing"

	"github.com/remora-kv/remora/fabric"
)

// TestTellingDoesNotAllocate tells changing counts, as the device does all the
// time while there is traffic.
func TestTellingDoesNotAllocate(t *testing.T) {
	a, b := newStand(t), newStand(t)
	qa, qb := connect(t, a, b, a.listen(0))
	const tells = 32
	var audience audience
	n := testing.AllocsPerRun(200, func() {
		for range tells {
			qa.stats.out[fabric.OpRead].Add(1)
			if !audience.gather(a.dev) {
				t.Error("a device with a connection has nobody to tell")
			}
			for _, l := range audience.links {
				l.keepUp()
			}
		}
	})
	if perTell := n / tells; perTell > 0.1 {
		t.Errorf("telling allocates %v times", perTell)
	}
	if qa.State() != fabric.StateReady || qb.State() != fabric.StateReady {
		t.Error(qa.Err(), qb.Err())
	}
}
