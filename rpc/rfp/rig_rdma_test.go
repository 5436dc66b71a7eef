//go:build rdma

package rfp_test

import "github.com/remora-kv/remora/fabric/provider"

// With the tag rdma the tests run where an adapter is, on that alone.
func init() { fabrics = []string{provider.RDMA} }
