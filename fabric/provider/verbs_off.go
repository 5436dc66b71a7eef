//go:build !rdma

package provider

import (
	"fmt"
	"log/slog"

	"github.com/remora-kv/remora/fabric"
)

// openVerbs is what a binary without the verbs provider answers.
func openVerbs(addr fabric.Addr, _ *slog.Logger) (fabric.Device, error) {
	return nil, fmt.Errorf("provider: this binary has no verbs provider, so it cannot open %q: "+
		"build one that has it with `go build -tags rdma ./cmd/remora`, "+
		"or use shm between processes of one host and tcp between hosts: %w", addr.Fabric, fabric.ErrUnsupported)
}
