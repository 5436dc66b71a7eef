//go:build rdma

package provider

import (
	"log/slog"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/verbs"
)

// openVerbs opens the adapter that the options of the address choose.
func openVerbs(addr fabric.Addr, log *slog.Logger) (fabric.Device, error) {
	cfg, err := verbs.ConfigOf(addr)
	if err != nil {
		return nil, err
	}
	cfg.Log = log
	return device(verbs.New(cfg))
}
