//go:build !race

package fence

// copyOut copies n > 0 bytes with the orderings of CopyOut.
//
//go:noescape
func copyOut(dst, src *byte, n int)

// copyIn copies n > 0 bytes with the orderings of CopyIn.
//
//go:noescape
func copyIn(dst, src *byte, n int)
