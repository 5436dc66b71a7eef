package knob_test

import (
	"testing"
	"time"

	"github.com/remora-kv/remora/internal/knob"
)

func TestDefault(t *testing.T) {
	n, d := 0, 3*time.Second
	knob.Default(&n, 7)
	knob.Default(&d, time.Minute)
	if n != 7 || d != 3*time.Second {
		t.Errorf("%d and %v: only what is zero has a default", n, d)
	}
}

func TestBetween(t *testing.T) {
	for v, ok := range map[int]bool{1: false, 2: true, 5: true, 6: false} {
		if err := knob.Between("Window", v, 2, 5); (err == nil) != ok {
			t.Errorf("%d: %v", v, err)
		}
	}
	if err := knob.Between("Window", 6, 2, 5); err.Error() != "Window is 6, must be 2 to 5" {
		t.Error(err)
	}
}
