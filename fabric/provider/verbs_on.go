//go:build rdma

package provider

import (
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/verbs"
)

// openVerbs opens the adapter that the options of the address choose.
func openVerbs(addr fabric.Addr) (fabric.Device, error) {
	cfg, err := verbs.ConfigOf(addr)
	if err != nil {
		return nil, err
	}
	return device(verbs.New(cfg))
}
