package host

import (
	"testing"
	"time"
)

func TestParseUse(t *testing.T) {
	const stat = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 100 20 3 4000 50 6 7 80 0 0\ncpu1 1 1 1 1 1 1 1 1 0 0\ncpu10 5 5 5 5 5 5 5 5 0 0\nintr 1 2 3 4 5 6 7 8 9\n"
	u, err := parseUse(stat, []int{0, 1})
	if err != nil || u.Busy != 1260*time.Millisecond || u.Stolen != 810*time.Millisecond {
		t.Errorf("%+v, %v", u, err)
	}
	if u, err := parseUse(stat, []int{1, 2}); err == nil {
		t.Errorf("a CPU that is not there gave %+v", u)
	}
	if u, err := parseUse("cpu0 100 x 3 4000 50 6 7 80", []int{0}); err == nil {
		t.Errorf("letters gave %+v", u)
	}
}
