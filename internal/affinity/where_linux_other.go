//go:build linux && !amd64

package affinity

// Here returns where and when the calling thread runs.
func Here() Place { return hereByKernel() }
