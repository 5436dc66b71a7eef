//go:build !rdma

package provider_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
)

func TestBinaryWithoutVerbsSaysHowToGetOne(t *testing.T) {
	for _, name := range []string{"rdma", "verbs", "rdma://host:7000?device=mlx5_0"} {
		_, err := provider.New().Open(name)
		if !errors.Is(err, fabric.ErrUnsupported) {
			t.Fatalf("Open(%q): %v, want ErrUnsupported", name, err)
		}
		for _, words := range []string{"no verbs provider", "-tags rdma", "shm", "tcp"} {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("Open(%q): %q does not say %q", name, err, words)
			}
		}
	}
}
