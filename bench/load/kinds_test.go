package load

import (
	"errors"
	"fmt"
	"testing"
)

// However many things a server says, few are told apart, and every error is counted.
func TestKindsAreBounded(t *testing.T) {
	var m Meter
	for i := range 10 * maxKinds {
		m.Refused(fmt.Sprint("kind ", i), errors.New("no"))
		m.Refused("kind 0", nil)
	}
	var sum Kinds
	sum.merge(m.kinds)
	sum.merge(Kinds{"kind 0": 5, "never seen": 7})
	total := uint64(0)
	for _, n := range sum {
		total += n
	}
	if len(sum) > maxKinds+1 || total != m.Errors+12 || sum["kind 0"] != 10*maxKinds+1+5 || sum[OtherKind] == 0 {
		t.Errorf("%d kinds, %d errors of %d: %v", len(sum), total, m.Errors, sum)
	}
}
