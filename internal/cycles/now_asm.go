//go:build amd64 || arm64

package cycles

// Now reads the counter.
//
//go:noescape
func Now() uint64
