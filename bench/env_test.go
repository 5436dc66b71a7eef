package bench

import (
	"errors"
	"testing"

	"github.com/remora-kv/remora/fabric/provider"
)

func TestLimits(t *testing.T) {
	if lim, err := FabricLimits(provider.New(), "loop"); err != nil || lim.MaxDepth == 0 {
		t.Errorf("limits of loop: %+v, %v", lim, err)
	}
	if _, err := FabricLimits(provider.New(), "ether"); !errors.Is(err, ErrUsage) {
		t.Errorf("an unknown fabric gave %v", err)
	}
}
