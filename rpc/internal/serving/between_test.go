package serving_test

import (
	"testing"

	"github.com/remora-kv/remora/rpc/internal/serving"
)

func TestBetween(t *testing.T) {
	for v, ok := range map[int]bool{1: false, 2: true, 5: true, 6: false} {
		if err := serving.Between("Window", v, 2, 5); (err == nil) != ok {
			t.Errorf("%d: %v", v, err)
		}
	}
	if err := serving.Between("Window", 6, 2, 5); err.Error() != "Window is 6, must be 2 to 5" {
		t.Error(err)
	}
}
