//go:build !rdma

package doctor

// hasVerbs says that the binary was built with the verbs provider.
const hasVerbs = false
