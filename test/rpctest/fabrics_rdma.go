//go:build rdma

package rpctest

import (
	"os"

	"github.com/remora-kv/remora/fabric/provider"
)

// With the tag rdma, where an adapter is, the tests run on that alone. It belongs
// to a machine that is emulated, so there are fewer of everything.
func init() {
	if os.Getenv("ROCEVM_DEVICE") != "" {
		fabrics = []string{provider.RDMA}
	}
}
